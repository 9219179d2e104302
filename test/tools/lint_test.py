"""The lints find what is wrong, and nothing where all is right: on trees of a few files."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).parent))
import columns  # noqa: E402
import walls  # noqa: E402

TABLE = {
    "rooms": {"compiler/graph": ["dialects/prims"], "compiler/codegen/cpu": [], "dialects/prims": []},
    "words": [{"folders": ["compiler/graph"], "except": ["compiler/graph/x86"], "pattern": "AVX|L2", "why": "not here"}],
}
# A file, its text, and what is said of it under TABLE: nothing where that is empty.
WALLS = (
    ("compiler/graph/A.cpp", '#include "dialects/prims/Prims.h"\n#include "compiler/graph/A.h"\n', ""),
    ("compiler/graph/deep/A.cpp", '#include "compiler/graph/A.h"\n#include "llvm/ADT/Twine.h"\n', ""),
    ("compiler/graph/A.cpp", '\n  # include "compiler/codegen/cpu/Target.h"\n', ":2: compiler/graph must not include"),
    ("dialects/prims/P.td", 'include "compiler/graph/A.td"\n', ":1: dialects/prims must not include"),
    ("compiler/graph/A.h", '#include "compiler/schedule/Fuse.h"\n', "in no room"),
    ("compiler/schedule/Fuse.h", "", "in no room"),
    ("test/graph/A.cpp", '#include "compiler/codegen/cpu/Target.h"\n', ""),
    ("compiler/graph/A.cpp", "int x; // as AVX has it\n", ""),
    ("compiler/graph/A.cpp", "int x;\nint sizeOfL2; // a cache\n", ":2: 'L2': not here"),
    ("compiler/graph/x86/A.cpp", "int sizeOfL2;\n", ""),
)
COLUMNS = (
    ("compiler/A.cpp", "x" * 120 + "\n", ""),
    ("compiler/A.cpp", "\n" + "x" * 121 + "\n", ":2: 121 columns"),
    ("compiler/A.cpp", "ö" * 120 + "\n", ""),
    ("tools/check", "x" * 121 + "\n", ":1: 121 columns"),
    ("test/ops/rows.py", "x" * 121 + "\n", ""),
    ("docs/A.md", "x" * 121 + "\n", ""),
)


def is_as_expected(find_faults, file, text, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.parent.mkdir(parents=True)
        path.write_text(text)
        faults = find_faults(Path(folder), [file])
    ok = len(faults) == 1 and expected in faults[0] if expected else not faults
    if not ok:
        print(f"{file}: {faults} and not '{expected}' of {text!r}")
    return ok


def main():
    results = [is_as_expected(lambda root, files: walls.find_faults(root, files, TABLE), *case) for case in WALLS]
    results += [is_as_expected(columns.find_faults, *case) for case in COLUMNS]
    rooms = walls.read_table()["rooms"]  # the project's own, which must hold what it is for
    results += [
        not any(name.startswith("compiler/codegen/cpu")
                for room in ("compiler/graph", "compiler/schedule", "compiler/tune") for name in rooms[room]),
        not any(name.startswith(("compiler/codegen/cpu", "compiler/codegen/cuda")) for name in rooms["compiler/codegen/kernel"]),
        not any(name.startswith("compiler") for room in rooms if room.startswith("runtime") for name in rooms[room]),
    ]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


main()

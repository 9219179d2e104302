"""Says what is wrong with the text of the code; the last line is `N passed, N failed`, a lint each.

    python3 tools/lint [--base COMMIT] [walls] [columns] [format] [tidy]

walls and columns look at the whole tree, format and tidy at lines of C++ that changed since COMMIT: where the branch
left main (origin/main where there is one), on main itself the commit before. docs/testing.md says what each is for.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import changes
import columns
import walls

ROOT = Path(__file__).resolve().parents[2]


def list_files():
    """The checkout's, with new ones that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [file for file in listed if (ROOT / file).is_file()]


def main():
    lints = {
        "walls": lambda: walls.find_faults(ROOT, list_files(), walls.read_table()),
        "columns": lambda: columns.find_faults(ROOT, list_files()),
        "format": lambda: changes.find_format_faults(ROOT, base),
        "tidy": lambda: changes.find_tidy_faults(ROOT, base),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit with which format and tidy compare")
    parser.add_argument("lints", nargs="*", metavar="LINT", help=f"{', '.join(lints)} (default: all)")
    options = parser.parse_args()
    if unknown := [name for name in options.lints if name not in lints]:
        parser.error(f"there is no lint {unknown[0]}")
    base = options.base or changes.find_base(ROOT)
    failed = 0
    chosen = options.lints or list(lints)
    for name in chosen:
        faults = lints[name]()
        print(*faults, f"{'FAIL' if faults else 'ok  '} {name}", sep="\n", flush=True)
        failed += bool(faults)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes docs/operators.md, the operators that ptc compiles and those that it does not, from what `ptc ops` says.

    generate_operator_docs.py --ptc PTC docs/operators.md           # writes the file
    generate_operator_docs.py --ptc PTC --check docs/operators.md   # exit status 1 when it is not what would be written
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HEAD = """# Operators

Made by `tools/python/generate_operator_docs.py` from the tables that compiling uses; do not edit. `ptc ops NAME` tells
more of one: its schema, what it becomes, and for which element types.

PyTorch, torchvision and quantized_decomposed have {total} operators with their overloads. {supported} of them compile:
{rows} by a row of the decomposition table, the others (`add_`, `out=`) as the operator that answers what they write.
Operators that take graphs compile too: `cond`, `while_loop`, `map` and `scan`.
"""


def base(name: str) -> str:
    return name.rpartition(".")[0]


def listing(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def document(operators: list[dict]) -> str:
    supported = [o for o in operators if o["supported"]]
    rows = [o for o in supported if "through" not in o]
    text = [HEAD.format(total=len(operators), supported=len(supported), rows=len(rows))]
    core, others = {base(o["name"]) for o in rows if o["core"]}, {base(o["name"]) for o in rows}
    text.append(f"## Compiled, of PyTorch's core set ({len(core)})\n\n{listing(core)}\n")
    text.append(f"## Compiled, others ({len(others - core)})\n\n{listing(others - core)}\n")

    compiled = {base(o["name"]) for o in supported}
    reasons: dict[str, set[str]] = defaultdict(set)
    for operator in operators:
        if not operator["supported"]:
            # Of an operator that compiles otherwise, the overload.
            name = operator["name"]
            reasons[operator["reason"]].add(name if base(name) in compiled else base(name))
    text.append("## Not compiled\n\nThe error says the same, with the line of the model.\n")
    for reason, names in sorted(reasons.items(), key=lambda item: (len(item[1]), item[0])):
        text.append(f"* {reason}: {listing(names)}")
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    listed = subprocess.run([options.ptc, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    text = document(json.loads(listed))
    if not options.check:
        options.file.write_text(text)
    elif not options.file.exists() or options.file.read_text() != text:
        sys.exit(f"{options.file} is out of date: tools/python/generate_operator_docs.py --ptc PTC {options.file}")


if __name__ == "__main__":
    main()

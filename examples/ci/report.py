#!/usr/bin/env python3
"""Compares a model's outputs with those that are expected, and reports what was compiled and measured, as JSON.

report.py LIBRARY OUTPUTS EXPECTED BENCH --ptc VERSION [--rtol R] [--atol A]

Fails if an output differs by more than atol + rtol * |expected|, as numpy.allclose has it. Tensors of EXPECTED whose
names are no positions (labels, say) are not compared. Needs Python alone.
"""

import argparse
import hashlib
import json
import math
import struct
import sys
from pathlib import Path

CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


def read_tensors(path):
    """(dtype, shape, elements) by name."""
    content = Path(path).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:end]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in CODES:
            sys.exit(f"report: {path}: tensor '{name}' is of type {entry['dtype']}, which this script does not read")
        data = content[end:][slice(*entry["data_offsets"])]
        code = CODES[entry["dtype"]]
        elements = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
        tensors[name] = (entry["dtype"], entry["shape"], elements)
    return tensors


def is_close(found, wanted, rtol, atol):
    if math.isfinite(found) and math.isfinite(wanted):
        return abs(found - wanted) <= atol + rtol * abs(wanted)
    return found == wanted or (math.isnan(found) and math.isnan(wanted))


def compare(found, expected, rtol, atol):
    """What is wrong, a line each, and the largest difference of finite numbers."""
    faults, largest = [], 0.0
    for name in sorted(filter(str.isdecimal, expected), key=int):
        dtype, shape, wanted = expected[name]
        if name not in found:
            faults.append(f"output {name}: the model has none")
            continue
        if found[name][:2] != (dtype, shape):
            faults.append(f"output {name}: {found[name][0]} {found[name][1]}, expected {dtype} {shape}")
            continue
        pairs = list(zip(found[name][2], wanted))
        wrong = [index for index, (one, other) in enumerate(pairs) if not is_close(one, other, rtol, atol)]
        if wrong:
            first = wrong[0]
            one, other = pairs[first]
            faults.append(f"output {name}: {len(wrong)} of {len(pairs)} differ; [{first}] is {one}, expected {other}")
        finite = [abs(one - other) for one, other in pairs if math.isfinite(one) and math.isfinite(other)]
        largest = max([largest, *finite])
    if not any(map(str.isdecimal, expected)):
        faults.append("there is nothing to compare with: no tensor's name is a position")
    return faults, largest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("outputs")
    parser.add_argument("expected")
    parser.add_argument("bench", type=Path)
    parser.add_argument("--ptc", required=True)
    parser.add_argument("--rtol", type=float, default=1e-4)
    parser.add_argument("--atol", type=float, default=1e-5)
    options = parser.parse_args()
    found, expected = read_tensors(options.outputs), read_tensors(options.expected)
    faults, largest = compare(found, expected, options.rtol, options.atol)
    for fault in faults:
        print(f"report: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    content = options.library.read_bytes()
    report = {
        "ptc": options.ptc,
        "library": {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)},
        "largest_difference": largest,
        "bench": json.loads(options.bench.read_text()),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

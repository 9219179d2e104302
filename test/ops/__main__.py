"""Operators against PyTorch: exports each row, compiles it with ptc, compares on inputs that the export has not seen.

python test/ops --ptc PATH [--jobs N] [PATTERN ...]      rows whose name contains a pattern; all without one
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

import rows_backward  # noqa: E402
import rows_complex  # noqa: E402
import rows_compute  # noqa: E402
import rows_elementwise  # noqa: E402
import rows_indexing  # noqa: E402
import rows_linalg  # noqa: E402
import rows_network  # noqa: E402
import rows_random  # noqa: E402
import rows_shape  # noqa: E402
import rows_special  # noqa: E402
from harness import Row, run_rows  # noqa: E402

ROWS: list[Row] = [
    *rows_elementwise.ROWS,
    *rows_shape.ROWS,
    *rows_indexing.ROWS,
    *rows_compute.ROWS,
    *rows_network.ROWS,
    *rows_backward.ROWS,
    *rows_special.ROWS,
    *rows_random.ROWS,
    *rows_linalg.ROWS,
    *rows_complex.ROWS,
]
GROUP = 12  # rows compiled together; taken apart when one of them fails


def call_group(start: int) -> dict[str, str]:
    torch.set_num_threads(1)
    return run_group(start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", default=os.environ.get("PTC", "ptc"), help="the compiler (default: $PTC, then ptc)")
    parser.add_argument("--jobs", type=int, default=2, help="compilations at a time")
    parser.add_argument("patterns", nargs="*", help="names, or parts of names, of rows")
    args = parser.parse_args()
    rows = [row for row in ROWS if not args.patterns or any(pattern in row.name for pattern in args.patterns)]
    # Forked, since rows are closures and torch.export is not safe in threads.
    global run_group
    run_group = lambda start: run_rows(args.ptc, rows[start : start + GROUP])  # noqa: E731
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        results = pool.map(call_group, range(0, len(rows), GROUP), chunksize=1)
    failures = {name: why for result in results for name, why in result.items()}
    for name, why in sorted(failures.items()):
        print(f"FAIL {name}: {why}")
    print(f"{len(rows) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

"""All rows, and the command line that runs them side by side."""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

import torch

import rows_backward
import rows_complex
import rows_compute
import rows_elementwise
import rows_indexing
import rows_libraries
import rows_linalg
import rows_network
import rows_random
import rows_shape
import rows_special
from harness import Row

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
    *rows_libraries.ROWS,
]
GROUP = 12  # rows compiled together; taken apart when one of them fails
LONGEST = 1200  # seconds for one group


def call_group(start: int) -> tuple[dict[str, str], Counter[str]]:
    torch.set_num_threads(1)
    # A group that hangs says where, and ends the test.
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    try:
        return run_group(start)
    finally:
        faulthandler.cancel_dump_traceback_later()


def run_all(description: str, rows: Sequence[Row], run: Callable[[str, Sequence[Row], Sequence[str]], tuple[dict[str, str], Counter[str]]]) -> int:
    """The command line: runs groups of ROWS side by side; RUN takes options of `ptc compile`, and answers failures by
    name, and counts worth a line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", default=os.environ.get("PTC", "ptc"), help="the compiler (default: $PTC, then ptc)")
    parser.add_argument("--jobs", type=int, default=2, help="compilations at a time")
    parser.add_argument("--march", default="native", help="what to compile for; it must run here")
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu", help="the device to compile for, and to run on")
    parser.add_argument("patterns", nargs="*", help="names, or parts of names, of rows")
    args = parser.parse_args()
    rows = [row for row in rows if not args.patterns or any(pattern in row.name for pattern in args.patterns)]
    # Forked, since rows are closures and torch.export is not safe in threads.
    global run_group
    options = ["--march", args.march, "--target", args.target]
    run_group = lambda start: run(args.ptc, rows[start : start + GROUP], options)  # noqa: E731
    # An executor and no multiprocessing.Pool, which waits for ever for a process that was killed.
    with ProcessPoolExecutor(args.jobs, multiprocessing.get_context("fork")) as pool:
        results = list(pool.map(call_group, range(0, len(rows), GROUP)))
    failures = {name: why for result, _ in results for name, why in result.items()}
    for name, why in sorted(failures.items()):
        print(f"FAIL {name}: {why}")
    for what, count in sorted(sum((counts for _, counts in results), Counter()).items()):
        print(f"{count} {what}")
    print(f"{len(rows) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not rows else 0

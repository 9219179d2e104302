"""Runs the functions of a Python test one by one, and prints the totals as every test here does."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def run_cases(cases: list[Callable[..., None]], *arguments: object) -> None:
    """Calls each of `cases` with `arguments` and an empty folder; ends the process with 1 when one of them raised."""
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(*arguments, Path(folder))
            except Exception as error:
                failed += 1
                print(f"FAIL {case.__name__}: {type(error).__name__}: {error}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)

"""What checks of the Python package on a real GPU share: their list, models that are compiled once, comparisons.

The program ptc is the last argument of the command line.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(tempfile.mkdtemp())
os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[-1]).resolve())
os.environ["PTC_CACHE_DIR"] = str(FOLDER / "cache")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/python"))

import ptc  # noqa: E402

try:
    import cupy
except ImportError:
    cupy = None

GPU = torch.device("cuda", 0)
CHECKS: list[tuple[str, Callable[[], None]]] = []


def check(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(function: Callable[[], None]) -> Callable[[], None]:
        CHECKS.append((name, function))
        return function

    return add


def same(got: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-4) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def refuses(kind: type, text: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), f"{error} instead of {text}"
        return
    raise AssertionError(f"nothing refused, where {text} was expected")


def compiled(name: str, module: nn.Module, *example: torch.Tensor, target: str = "cuda", dynamic: bool = True) -> Path:
    library = FOLDER / f"{name}-{target}.so"
    if not library.exists():
        shapes = [{0: torch.export.Dim("n", min=2, max=4096)} if dynamic else None for _ in example]
        program = torch.export.export(module.eval(), example, dynamic_shapes=tuple(shapes))
        torch.export.save(program, FOLDER / f"{name}.pt2")
        ptc.compile(FOLDER / f"{name}.pt2", library, target=target)
    return library


def run_checks() -> tuple[int, int]:
    """How many passed and failed."""
    passed = failed = 0
    for name, function in CHECKS:
        try:
            function()
            torch.cuda.synchronize()
        except Exception as error:
            failed += 1
            file = function.__code__.co_filename
            where = traceback.extract_tb(error.__traceback__)
            line = next((frame.lineno for frame in reversed(where) if frame.filename == file), 0)
            text = f"{Path(file).name}:{line}: {type(error).__name__}: {' '.join(str(error).split())[:600]}"
            print(f"FAIL {name}: {text}", flush=True)
        else:
            passed += 1
            print(f"ok   {name}", flush=True)
    return passed, failed

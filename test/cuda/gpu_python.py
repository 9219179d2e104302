"""The Python package on a real GPU, with torch and, where it is installed, CuPy: calls, streams, torch.compile.

python test/cuda/gpu_python.py PTC     # a line for each check, their total; exit status 1 where one fails
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import gpu_checks
import gpu_compile  # noqa: F401  adds its checks to the list
import gpu_libraries  # noqa: F401  so does it
import torch
from gpu_checks import GPU, check, compiled, cupy, ptc
from ptc.dynamo import FallbackWarning, backend
from torch import nn


def measure(call: Callable[[], object], count: int = 2000) -> float:
    """Microseconds of the host's for a call: the least of ten rounds."""
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(count // 10):
            call()
        best = min(best, (time.perf_counter() - begun) * 1e6 / (count // 10))
    return best


@check("times of calls")
def _() -> None:
    class Sum(nn.Module):
        def forward(self, x, y):
            return x + y

    model = ptc.load(compiled("static_sum", Sum(), torch.zeros(8), torch.zeros(8), dynamic=False))
    x, y = torch.randn(8, device=GPU), torch.randn(8, device=GPU)
    out = [torch.empty(8, device=GPU)]
    torch._dynamo.reset()
    ours = torch.compile(Sum(), backend=backend)
    ways = {"eager": lambda: x + y, "model(x, y)": lambda: model(x, y), "model(x, y, out=)": lambda: model(x, y, out=out),
            "torch.compile": lambda: ours(x, y)}  # fmt: skip
    if cupy is not None:
        a, b = cupy.asarray(x), cupy.asarray(y)
        ways |= {"CuPy": lambda: a + b, "model(x, y) with CuPy's": lambda: model(a, b)}
    for name, call in ways.items():
        call()
        print(f"     {name}: {measure(call):.1f} us a call")


def run() -> tuple[int, int]:
    """How many passed and failed."""
    torch.backends.cudnn.allow_tf32 = False
    warnings.simplefilter("error", FallbackWarning)
    return gpu_checks.run_checks()


if __name__ == "__main__":
    print(f"{torch.cuda.get_device_name(GPU)}, torch {torch.__version__}, CuPy {cupy and cupy.__version__}")
    totals = run()
    print(f"{totals[0]} passed, {totals[1]} failed")
    sys.exit(totals[1] > 0)

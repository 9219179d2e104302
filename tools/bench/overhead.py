"""What Python adds to a call: x + y of eight numbers each, from C and from Python, in turns.

python tools/bench/overhead.py [--json]     # microseconds a call: the least of all rounds, and their median

A round is short, so that some of them are disturbed by nothing else on the machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch._dynamo.backends.common import aot_autograd

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("PTC_EXECUTABLE", str(ROOT / "bazel-bin/tools/ptc/ptc"))
sys.path.insert(0, str(ROOT / "tools/python"))
import ptc  # noqa: E402
from ptc import _abi as abi  # noqa: E402
from ptc._tensor import borrow  # noqa: E402
from ptc.dynamo import backend  # noqa: E402

CALLS = 50

CALLER = """
#include <ptc/ptc.h>
void call(const ptc_api *ptc, ptc_context *context, const DLTensor **inputs, DLTensor **outputs, int count) {
  while (count-- > 0)
    ptc->call(context, inputs, 2, outputs, 1);
}
void call_new(const ptc_api *ptc, ptc_context *context, const DLTensor **inputs, DLTensor **outputs, int count) {
  DLManagedTensor *made;
  while (count-- > 0)
    if (ptc->call_new(context, inputs, 2, &made, 1) == PTC_OK)
      made->deleter(made);
}
"""


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def repeated(call: Callable[[], object]) -> Callable[[int], None]:
    def run(count: int) -> None:
        for _ in range(count):
            call()

    return run


def empty_backend(module: torch.fx.GraphModule, examples: list[torch.Tensor]) -> Callable[..., object]:
    """Answers its first argument: what is left is PyTorch's part of a compiled call."""

    def compile_nothing(graph: torch.fx.GraphModule, fakes: object) -> Callable[[list], list]:
        def call(arguments: list[torch.Tensor]) -> list[torch.Tensor]:
            first = arguments[0]
            arguments.clear()
            return [first]

        call._boxed_call = True
        return call

    return aot_autograd(fw_compiler=compile_nothing)(module, examples)


def ways(folder: Path) -> dict[str, Callable[[int], object]]:
    """Functions that call the model so many times, by name."""
    arrays = [np.ones(8, np.float32) for _ in range(2)]
    tensors = [torch.ones(8) for _ in range(2)]
    torch.export.save(torch.export.export(Sum(), tuple(tensors)), folder / "sum.pt2")
    ptc.compile(folder / "sum.pt2", folder / "sum.so")
    model = ptc.load(folder / "sum.so")

    (folder / "caller.c").write_text(CALLER)
    options = [f"-I{ROOT}/runtime/include", "-shared", "-fPIC", "-O2"]
    subprocess.run(["clang-22", *options, folder / "caller.c", "-o", folder / "caller.so"], check=True)
    library = ctypes.CDLL(str(folder / "caller.so"))
    out = np.empty(8, np.float32)
    lent = [borrow(array, "float32") for array in (*arrays, out)]
    pointers = [abi.pointer_array([address for address, _ in some]) for some in (lent[:2], lent[2:])]

    def from_c(function: Callable[..., None]) -> Callable[[int], object]:
        # The tuple keeps what the pointers point to.
        return lambda count: (function(ctypes.byref(model._api), model._context, *pointers, count), lent)

    compiled, empty = (torch.compile(Sum(), backend=each) for each in (backend, empty_backend))
    return {
        "C, ptc_call_new": from_c(library.call_new),
        "NumPy": repeated(lambda: model(*arrays)),
        "torch": repeated(lambda: model(*tensors)),
        "C, ptc_call": from_c(library.call),
        "NumPy, out=": repeated(lambda: model(*arrays, out=[out])),
        "torch.compile": repeated(lambda: compiled(*tensors)),
        "torch.compile, PyTorch's part": repeated(lambda: empty(*tensors)),
        "torch eager": repeated(lambda: tensors[0] + tensors[1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rounds", type=int, default=4000)
    options = parser.parse_args()
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        calls = ways(Path(folder))
        for _ in range(options.rounds):
            for name, call in calls.items():
                start = time.perf_counter_ns()
                call(CALLS)
                times.setdefault(name, []).append((time.perf_counter_ns() - start) / CALLS / 1000)
    found = {name: {"least_us": min(all), "median_us": statistics.median(all)} for name, all in times.items()}
    if options.json:
        print(json.dumps(found))
        return
    for name, us in found.items():
        print(f"{name:32} {us['least_us']:6.2f} {us['median_us']:6.2f}")


if __name__ == "__main__":
    main()

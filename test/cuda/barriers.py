"""The emulator sees each barrier that a kernel lacks: kernels run with their barriers left out one at a time.

A barrier may order nothing, as where threads read only what they wrote themselves. Then the results are the same in
every order of threads, and else the call must fail.

python test/cuda/barriers.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import emulated_cases
import nets
import parallel
import torch
from emulate import export
from emulation import Emulated
from harness import Case

CASES = {"rows of warps", "sort, one block", "sort, many blocks", "topk, long rows", "rows in shared memory",
         "softmax, rows in shared memory", "transpose", "transpose, three dimensions", "attention, causal",
         "attention, a mask for groups"}  # fmt: skip
SEEDS = [str(seed) for seed in range(4)]  # of the orders in which threads run


def are_same(results: list, expected: list) -> bool:
    return all(x.view(torch.uint8).equal(y.view(torch.uint8)) for x, y in zip(results, expected, strict=True) if x.ndim)


def try_barriers(case: Case, folder: Path, ptc: Path, libcuda: Path) -> tuple[int, int, int]:
    """Of a model's barriers that run: how many are seen where they are not there, how many order nothing, and how many
    are not seen and change results."""
    model = Emulated(ptc, libcuda, folder / "model.pt2", folder)
    inputs = folder / "inputs0.safetensors"
    expected = model.run("cuda", inputs)
    seen = idle = missed = 0
    for barrier in range(model.barriers):
        model.build(without=barrier)
        results = [model.run("cuda", inputs, FAKE_SEED=seed) for seed in SEEDS]
        if any(isinstance(result, str) for result in results):
            seen += 1
            continue
        is_idle = all(are_same(result, expected) for result in results)
        model.build(without=barrier, instead="call void @llvm.trap()")
        if isinstance(model.run("cuda", inputs), str):  # else it is in code that this call does not come to
            idle, missed = idle + is_idle, missed + (not is_idle)
    return seen, idle, missed


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])
    chosen = set(sys.argv[3:]) or CASES
    cases = (case for case in [*nets.cases(), *emulated_cases.cases()] if case.name in chosen)
    good, bad = 0, 0
    for name, (seen, idle, missed) in parallel.run(cases, partial(try_barriers, ptc=ptc, libcuda=libcuda), export):
        print(f"{name}: {seen} barriers are seen to lack, {idle} order nothing, {missed} lack unseen", flush=True)
        is_good = seen > 0 and missed == 0
        good, bad = good + is_good, bad + (not is_good)
    sys.exit(bad > 0 or not good)


if __name__ == "__main__":
    main()

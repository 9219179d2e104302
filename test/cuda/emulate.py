"""Models under the emulator (emulation.py), against the CPU's libraries: those of nets.py, control_flow.py and
emulated_cases.py, each under several orders of threads.

python test/cuda/emulate.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.utils._pytree import tree_leaves

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import control_flow
import emulated_cases
import nets
import parallel
from emulation import Emulated, Failed, difference
from harness import Case

SEEDS = ["0", "1"]  # of the orders in which threads run
TOO_LARGE = {"loop_of_large_tensors"}  # minutes of multiplications


def check(model: Emulated, inputs: Path, fault: str | None) -> None:
    """One call, whose results must be the CPU's, or whose error, which has `fault` in it."""
    expected = model.run("cpu", inputs)
    for seed in SEEDS:
        got = model.run("cuda", inputs, FAKE_SEED=seed)
        if fault or isinstance(got, str) or isinstance(expected, str):
            cuda, cpu = (one if isinstance(one, str) else "results" for one in (got, expected))
            if not fault or fault not in cuda or cuda != cpu:
                raise Failed(f"{cuda} instead of {fault or 'results'} (the CPU: {cpu})")
            continue
        for index, (one, other) in enumerate(zip(got, expected, strict=True)):
            if found := difference(one, other):
                raise Failed(f"output {index}: {found}")


def export(case: Case, folder: Path, as_exported: bool = False) -> None:
    """The model, and the inputs of each call; with `as_exported` not decomposed."""
    forms = case.exports()
    _, exported = next(forms)
    if not as_exported and case.name not in emulated_cases.AS_EXPORTED:
        for _, exported in forms:
            pass
    torch.export.save(exported, folder / "model.pt2")
    for index, args in enumerate([case.args, *case.others]):
        names, leaves = exported.graph_signature.user_inputs, tree_leaves(copy.deepcopy(args))
        tensors = {str(n): torch.as_tensor(v).contiguous() for n, v in zip(names, leaves, strict=True)}
        save_file(tensors, folder / f"inputs{index}.safetensors")


def try_case(case: Case, folder: Path, ptc: Path, libcuda: Path, arch: str = "sm_90a", options: Sequence[str] = (),
             cpu_options: Sequence[str] = ()) -> str:  # fmt: skip
    """What is wrong; nothing where all is well."""
    try:
        model = Emulated(ptc, libcuda, folder / "model.pt2", folder, arch, options)
        model.compile_for_cpu(cpu_options)
        for inputs in sorted(folder.glob("inputs*")):
            check(model, inputs, emulated_cases.FAULTS.get(case.name))
    except (Failed, subprocess.TimeoutExpired) as error:
        return " ".join(str(error).split())
    return ""


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])
    cases = [*control_flow.cases(), *nets.cases(), *emulated_cases.cases()]
    chosen = (case for case in cases if case.name not in TOO_LARGE and (not sys.argv[3:] or case.name in sys.argv[3:]))
    attempt = partial(try_case, ptc=ptc, libcuda=libcuda)
    parallel.report(parallel.run(chosen, attempt, export), ("no CUDA code for",))


if __name__ == "__main__":
    main()

"""Kernels for CUDA run without a GPU: as x86 code in emulator.cpp, under the fake driver, against the CPU's libraries.

A model's kernels are taken as LLVM IR, in which calls of the emulator replace the machine's operations, and become the
library that the fake driver loads in place of PTX (FAKE_IMAGE). The rest is as on a GPU: `ptc run` runs the library for
CUDA, with the runtime's copies and launches. FAKE_SEED decides the order of blocks and threads.

python test/cuda/emulate.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils._pytree import tree_leaves

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import emulated_cases
import nets
from harness import Case, Failed

CLANG = ["clang-22", "-O1", "-w", "-fPIC", "-shared", "-march=x86-64-v3", "-fuse-ld=lld-22", "-x", "ir"]
# Of the largest value, by which results may differ: sums have another order.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

OPERATIONS = {
    "@llvm.nvvm.ex2.approx.ftz.f32": "@fake_exp2_flushed",
    "@llvm.nvvm.ex2.approx.f32": "@fake_exp2",
    "@llvm.nvvm.rcp.approx.ftz.f": "@fake_reciprocal_flushed",
    "@llvm.nvvm.div.full.ftz": "@fake_divide_flushed",
    "@llvm.nvvm.div.full": "@fake_divide",
    "@llvm.nvvm.read.ptx.sreg.tid.x": "@fake_thread_index",
    "@llvm.nvvm.read.ptx.sreg.ctaid.x": "@fake_block_index",
    "@llvm.nvvm.barrier.cta.sync.aligned.all": "@fake_barrier",
    "@llvm.nvvm.shfl.sync.bfly.i32": "@fake_shuffle_xor",
}

# Where the linker has put the static shared memory of all kernels; null where there is none.
SHARED = """
@__start_fake_shared = extern_weak hidden global i8
@__stop_fake_shared = extern_weak hidden global i8
define ptr @fake_shared_begin() { ret ptr @__start_fake_shared }
define ptr @fake_shared_end() { ret ptr @__stop_fake_shared }
"""


def execute(*command: object, **environment: object) -> None:
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=600, env={**os.environ, **environment}
    )
    if done.returncode:
        raise Failed(done.stderr.strip()[-400:] or f"{command[0]}: exit {done.returncode}")


def to_x86(ir: str, has_barriers: bool = True) -> str:
    """LLVM IR for NVPTX as IR for the emulator."""
    ir = re.sub(r"^target .*\n", "", ir, flags=re.M).replace("ptx_kernel ", "")
    for operation, emulated in OPERATIONS.items():
        ir = ir.replace(operation, emulated)
    if unknown := re.search(r"@llvm\.nvvm\.[\w.]+", ir):
        raise Failed(f"the emulator does not know {unknown[0]}")
    if not has_barriers:
        ir = re.sub(r"^.*call void @fake_barrier.*\n", "", ir, flags=re.M)
    ir = re.sub(r"^(@\S+ = .*addrspace\(3\) global .*?), align", r'\1, section "fake_shared", align', ir, flags=re.M)
    return re.sub(r'"target-(cpu|features)"="[^"]*"', "", ir) + SHARED


class Emulated:
    """A model as a library for the CPU and as one for CUDA with its image, in one folder."""

    def __init__(self, ptc: Path, libcuda: Path, folder: Path, has_barriers: bool = True):
        self.ptc, self.folder = ptc, folder
        self.environment = {"LD_LIBRARY_PATH": str(libcuda.parent), "FAKE_IMAGE": str(folder / "image.so")}
        model, ir = folder / "model.pt2", folder / "kernels.ll"
        execute(ptc, "compile", model, "-o", folder / "cpu.so")
        execute(ptc, "compile", model, "--target", "cuda", "-o", folder / "cuda.so")
        execute(ptc, "compile", model, "--target", "cuda", "--emit", "llvm", "-o", ir)
        ir.write_text(to_x86(ir.read_text(), has_barriers))
        execute(*CLANG, ir, "-o", folder / "image.so", "-lm")

    def run(self, target: str) -> list[Tensor] | str:
        """The results for inputs.safetensors, or the error."""
        outputs = self.folder / f"{target}.safetensors"
        try:
            execute(self.ptc, "run", self.folder / f"{target}.so", "--inputs", self.folder / "inputs.safetensors",
                    "--outputs", outputs, **self.environment)  # fmt: skip
        except Failed as error:
            return str(error).replace(f"{target}.so", "library")
        values = load_file(outputs)
        return [values[str(index)] for index in range(len(values))]


def difference(got: Tensor, expected: Tensor) -> str:
    """What is wrong with a result; nothing where all is well."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
    finite = got.isfinite() & expected.isfinite()
    unequal = (got != expected) & ~(got.isnan() & expected.isnan())
    if not got.dtype.is_floating_point or (unequal & ~finite).any():
        return f"{int(unequal.sum())} of {got.numel()} differ" if unequal.any() else ""
    tolerance = TOLERANCES[got.dtype]
    got, expected = got[finite].double(), expected[finite].double()
    if not got.numel():
        return ""
    error, largest = (got - expected).abs().max().item(), expected.abs().max().item()
    return f"differs by {error:.3g}, where the largest is {largest:.3g}" if error > tolerance * largest else ""


def check(model: Emulated, exported: torch.export.ExportedProgram, args: tuple, fault: str | None) -> None:
    """One call, whose results must be the CPU's, or whose error, which has `fault` in it."""
    names, leaves = exported.graph_signature.user_inputs, tree_leaves(copy.deepcopy(args))
    tensors = {str(n): torch.as_tensor(v).contiguous() for n, v in zip(names, leaves, strict=True)}
    save_file(tensors, model.folder / "inputs.safetensors")
    expected, got = model.run("cpu"), model.run("cuda")
    if fault or isinstance(got, str) or isinstance(expected, str):
        cuda, cpu = (one if isinstance(one, str) else "results" for one in (got, expected))
        if not fault or fault not in cuda or cuda != cpu:
            raise Failed(f"{cuda} instead of {fault or 'results'} (the CPU: {cpu})")
        return
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        if found := difference(one, other):
            raise Failed(f"output {index}: {found}")


def try_case(case: Case, has_barriers: bool, ptc: Path, libcuda: Path) -> str:
    """What is wrong; nothing where all is well."""
    *_, (_, exported) = case.exports()
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(exported, Path(folder) / "model.pt2")
        try:
            model = Emulated(ptc, libcuda, Path(folder), has_barriers)
            for args in [case.args, *case.others]:
                check(model, exported, args, emulated_cases.FAULTS.get(case.name))
        except (Failed, subprocess.TimeoutExpired) as error:
            return " ".join(str(error).split())
    return ""


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])
    passed, failed, refused = 0, 0, []
    for case in [*nets.cases(), *emulated_cases.cases()]:
        if sys.argv[3:] and case.name not in sys.argv[3:]:
            continue
        found = try_case(case, True, ptc, libcuda)
        if not found and case.name in emulated_cases.BARRIERS and not try_case(case, False, ptc, libcuda):
            found = "the results are right without barriers: the emulation sees nothing"
        if "no CUDA code for" in found:
            refused.append(case.name)
        elif found:
            failed += 1
            print(f"FAIL {case.name}: {found}", flush=True)
        else:
            passed += 1
    print(f"refused: {', '.join(refused) or 'none'}\n{passed} passed, {failed} failed")
    sys.exit(1 if failed or 4 * len(refused) > passed else 0)


main()

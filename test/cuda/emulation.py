"""A model's kernels for CUDA without a GPU: as x86 code in emulator.cpp, under the fake driver.

The kernels are taken as LLVM IR, in which calls of the emulator replace the machine's operations, and become the
library that the fake driver loads in place of PTX (FAKE_IMAGE). The rest is as on a GPU: `ptc run` runs the library for
CUDA, with the runtime's copies and launches. FAKE_SEED decides the order of blocks and threads. Clang's thread sanitizer
tells the emulator of each access to memory: one that no barrier orders is an error (races.h).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from emulated_products import add_products

# The sanitizer's functions are the emulator's. What they are not told of are atomic instructions.
SANITIZE = ["-fsanitize=thread", *(f"-mllvm=-tsan-instrument-{what}=0" for what in ("func-entry-exit", "atomics"))]
CLANG = ["clang-22", "-O1", "-w", "-fPIC", "-shared", "-march=x86-64-v3", "-fuse-ld=lld-22", *SANITIZE, "-x", "ir"]
# What the sanitizer and clang's passes see of a masked access is each lane that is there, as in PTX.
LANES = ["opt-22", "-passes=scalarize-masked-mem-intrin"]
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
    "@llvm.nvvm.read.ptx.sreg.nctaid.x": "@fake_block_count",
    "@llvm.nvvm.barrier.cta.sync.aligned.all": "@fake_barrier",
    "@llvm.nvvm.bar.warp.sync": "@fake_warp_barrier",
    "@llvm.nvvm.barrier.cta.sync.aligned.count": "@fake_come_together",
    "@llvm.nvvm.barrier.cta.arrive.aligned.count": "@fake_come_by",
    "@llvm.nvvm.shfl.sync.bfly.i32": "@fake_shuffle_xor",
    "@llvm.nvvm.shfl.sync.down.i32": "@fake_shuffle_down",
    "@llvm.nvvm.shfl.sync.up.i32": "@fake_shuffle_up",
    "@llvm.nvvm.shfl.sync.idx.i32": "@fake_shuffle_index",
    "@llvm.nvvm.cp.async.cg.shared.global.16.s": "@fake_copy_async_16",
    "@llvm.nvvm.cp.async.ca.shared.global.8.s": "@fake_copy_async_8",
    "@llvm.nvvm.cp.async.ca.shared.global.4.s": "@fake_copy_async_4",
    "@llvm.nvvm.cp.async.commit.group": "@fake_commit_copies",
    "@llvm.nvvm.cp.async.wait.group": "@fake_wait_for_copies",
    "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3": "@fake_load_matrices",
    "@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3": "@fake_load_transposed",
    "@llvm.nvvm.mma.m16n8k16.row.col.f32.f32": "@fake_multiply_half",
    "@llvm.nvvm.mma.m16n8k16.row.col.bf16": "@fake_multiply_bfloat",
    "@llvm.nvvm.mma.m16n8k8.row.col.tf32": "@fake_product_tf32",
    "@llvm.nvvm.mma.m8n8k4.row.col.f64": "@fake_product_double",
    "@llvm.nvvm.mma.m16n8k32.row.col.s8.u8": "@fake_product_s8_u8",
    "@llvm.nvvm.mma.m16n8k32.row.col.u8.s8": "@fake_product_u8_s8",
    "@llvm.nvvm.mma.m16n8k32.row.col.s8": "@fake_product_s8",
    "@llvm.nvvm.mma.m16n8k32.row.col.u8": "@fake_product_u8",
    "@llvm.nvvm.f2tf32.rna": "@fake_round_to_tf32",
    "@llvm.nvvm.fence.proxy.async.shared_cta": "@fake_fence_for_products",
    "@llvm.nvvm.wgmma.fence.sync.aligned": "@fake_begin_products",
    "@llvm.nvvm.wgmma.commit_group.sync.aligned": "@fake_commit_products",
    "@llvm.nvvm.setmaxnreg.inc.sync.aligned.u32": "@fake_raise_registers",
    "@llvm.nvvm.setmaxnreg.dec.sync.aligned.u32": "@fake_lower_registers",
    "@llvm.nvvm.mbarrier.init.shared": "@fake_init_phases",
    "@llvm.nvvm.fence.mbarrier_init.release.cluster": "@fake_fence_for_phases",
    "@llvm.nvvm.mbarrier.arrive.scope.cta.space.cta": "@fake_arrive",
    "@llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta": "@fake_arrive_and_expect",
    "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta": "@fake_wait_for_phase",
    "@llvm.nvvm.prefetch.tensormap.p0": "@fake_prefetch_map",
    **{f"@llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{rank}d": f"@fake_copy_box_{rank}" for rank in range(2, 6)},
}
BARRIER = re.compile(r"^.*call void @fake_(?:warp_)?barrier\(.*\n", flags=re.M)
# Instructions with an address and a number of bits, and what is told of them.
ATOMICS = {
    r"^.*= (?:atomicrmw \w+|cmpxchg) ptr (?P<address>[^,\s]+), i(?P<bits>\d+) .*$": "fake_atomic",
    r"^.*= load atomic i(?P<bits>\d+), ptr (?P<address>[^,\s]+) .*$": "fake_atomic_load",
}

# Where the linker has put the static shared memory of all kernels; null where there is none.
SHARED = """
@__start_fake_shared = extern_weak hidden global i8
@__stop_fake_shared = extern_weak hidden global i8
define ptr @fake_shared_begin() { ret ptr @__start_fake_shared }
define ptr @fake_shared_end() { ret ptr @__stop_fake_shared }
"""

# Dynamic shared memory, which each kernel declares under a name of its own: as much as a block of sm_90 may have.
DYNAMIC = "@fake_dynamic_shared = internal global [232448 x i8] undef, section \"fake_shared\", align 1024\n"


class Failed(Exception):
    pass


def execute(*command: object, **environment: object) -> str:
    """What it prints."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=600, env={**os.environ, **environment}
    )
    if done.returncode:
        raise Failed(done.stderr.strip()[-600:] or f"{command[0]}: exit {done.returncode}")
    return done.stdout + done.stderr


def tell_of_atomics(ir: str) -> str:
    """Calls of the emulator before each atomic instruction."""
    for instruction, call in ATOMICS.items():
        def tell(found: re.Match, call: str = call) -> str:
            return f"  call void @{call}(ptr {found['address']}, i32 {int(found['bits']) // 8})\n{found[0]}"

        told = re.sub(instruction, tell, ir, flags=re.M)
        ir = ir if told == ir else f"{told}\ndeclare void @{call}(ptr, i32)\n"
    return ir


def describe_maps(ir: str) -> str:
    """For the fake driver, how many parameters a kernel has before maps of tensors, and how many of those."""
    text = ""
    for name, parameters in re.findall(r"^define .*ptx_kernel .*@(\w+)\((.*)\).*{", ir, flags=re.M):
        if maps := parameters.count("byval("):
            text += f"@{name}_parameters = constant [2 x i32] [i32 {parameters.count('%') - maps}, i32 {maps}]\n"
    return text


def to_x86(ir: str) -> str:
    """LLVM IR for NVPTX as IR for the emulator."""
    ir += describe_maps(ir)
    ir = ir.replace("byval([128 x i8])", "").replace('"nvvm.grid_constant"', "")
    ir = re.sub(r"^target .*\n", "", ir, flags=re.M).replace("ptx_kernel ", "").replace(" immarg", "")
    for operation, emulated in OPERATIONS.items():
        ir = ir.replace(operation, emulated)
    if unknown := re.search(r"@llvm\.nvvm\.[\w.]+", ir):
        raise Failed(f"the emulator does not know {unknown[0]}")
    ir, dynamic = re.subn(r"^@\w+_memory = external .*addrspace\(3\) global .*\n", "", ir, flags=re.M)
    ir = re.sub(r"@\w+_memory\b", "@fake_dynamic_shared", ir)
    ir = re.sub(r"^(@\S+ = .*addrspace\(3\) global .*?), align", r'\1, section "fake_shared", align', ir, flags=re.M)
    ir = add_products(ir) + (DYNAMIC if dynamic else "")
    # One address space: the sanitizer looks at no other than the first.
    ir = re.sub(r" addrspace\(\d\)", "", ir.replace("= addrspacecast ptr", "= bitcast ptr"))
    ir = re.sub(r"addrspacecast \(ptr (@[\w.]+|getelementptr \([^()]*\)) to ptr\)", r"\1", ir)
    ir = re.sub(r'"target-(cpu|features)"="[^"]*"', "", ir)
    return tell_of_atomics(re.sub(r"^(attributes #\d+ = \{)", r"\1 sanitize_thread", ir, flags=re.M)) + SHARED


class Emulated:
    """A model as a library for CUDA with its image, and where it is wanted as one for the CPU, in one folder."""

    def __init__(self, ptc: Path, libcuda: Path, model: Path, folder: Path, arch: str = "sm_90a",
                 options: Sequence[str] = ()):  # fmt: skip
        self.ptc, self.model, self.folder = ptc, model, folder
        self.environment = {"LD_LIBRARY_PATH": str(libcuda.parent), "FAKE_IMAGE": str(folder / "image.so")}
        ir = folder / "kernels.ll"
        command = [ptc, "compile", model, "--target", "cuda", "--gpu-arch", arch, *options]
        execute(*command, "--ptxas", "none", "-o", folder / "cuda.so")
        execute(*command, "--emit", "llvm", "-o", ir)
        self.ir = to_x86(ir.read_text())
        self.barriers = len(BARRIER.findall(self.ir))
        self.build()

    def compile_for_cpu(self, options: Sequence[str] = ()) -> None:
        execute(self.ptc, "compile", self.model, *options, "-o", self.folder / "cpu.so")

    def build(self, without: int | None = None, instead: str = "") -> None:
        """The image; of its barriers the one with this number is left out, or another instruction stands there."""
        ir = self.ir
        if without is not None:
            barrier = list(BARRIER.finditer(ir))[without]
            ir = f"{ir[: barrier.start()]}  {instead}\n{ir[barrier.end() :]}\ndeclare void @llvm.trap()\n"
        (self.folder / "kernels.ll").write_text(ir)
        execute(*LANES, self.folder / "kernels.ll", "-o", self.folder / "lanes.bc")
        execute(*CLANG, self.folder / "lanes.bc", "-o", self.folder / "image.so", "-lm")

    def run(self, target: str, inputs: Path, **environment: str) -> list[Tensor] | str:
        """The results, or the error."""
        outputs = self.folder / f"{target}.safetensors"
        try:
            execute(self.ptc, "run", self.folder / f"{target}.so", "--inputs", inputs, "--outputs", outputs,
                    **self.environment, **environment)  # fmt: skip
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

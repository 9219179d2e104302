"""Products of integers, as Loop's IR has them, under the emulator (emulation.py), against exact results: operands are
widened as their own types say, in tiles, with few columns, and by a thread for each result.

python test/cuda/emulate_bytes.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import parallel
from emulation import Emulated, Failed

TYPES = {"ui8": (torch.uint8, 0, 256), "i8": (torch.int8, -128, 128), "i1": (torch.bool, 0, 2),
         "f32": (torch.float32, -99, 100)}  # fmt: skip
SIZE, PADDING = 9, 1
ROWS, DEPTH = 20, 400


@dataclass
class Case:
    """`lhs` and `rhs` are types of elements."""

    name: str
    form: str  # what `ptc explain` says of the kernel
    lhs: str
    rhs: str
    columns: int
    is_convolution: bool = False
    is_linear: bool = True  # else each column of lhs is multiplied by two rows of rhs

    def operands(self) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(0)

        def numbers(element: str, *shape: int) -> Tensor:
            dtype, low, end = TYPES[element]
            return torch.randint(low, end, shape, generator=generator).to(dtype)

        if self.is_convolution:
            return numbers(self.lhs, 1, SIZE, SIZE, 16), numbers(self.rhs, 3, 3, 16, self.columns)
        depth = DEPTH if self.is_linear else DEPTH // 2
        return numbers(self.lhs, ROWS, depth), numbers(self.rhs, DEPTH, self.columns)

    def exact(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        lhs, rhs = lhs.double(), rhs.double()
        if self.is_convolution:
            return F.conv2d(lhs.permute(0, 3, 1, 2), rhs.permute(3, 2, 0, 1), padding=PADDING).permute(0, 2, 3, 1)
        return (lhs if self.is_linear else lhs.repeat_interleave(2, 1)) @ rhs

    def program(self, lhs: Tensor, rhs: Tensor) -> str:
        total = "f32" if self.lhs == "f32" else "i32"

        def tensor(shape: tuple[int, ...], element: str) -> str:
            return f"tensor<{'x'.join(map(str, shape))}x{element}>"

        result = tensor(tuple(self.exact(lhs, rhs).shape), total)
        x, w = tensor(tuple(lhs.shape), self.lhs), tensor(tuple(rhs.shape), self.rhs)
        if self.is_convolution:
            begin, indices = "loop.convolution %x, %w {", "%n: index, %h: index, %v: index, %o: index"
            pairs = {"dilations": 1, "high": PADDING, "kernel": 3, "low": PADDING, "strides": 1}
            end = ", ".join(f"{name} = array<i64: {value}, {value}>" for name, value in pairs.items())
            end = f" {{{end}, groups = 1 : i64}}"
        else:
            depth = "d2" if self.is_linear else "d2 floordiv 2"
            maps = f"%x[affine_map<(d0, d1, d2) -> (d0, {depth})>], %w[affine_map<(d0, d1, d2) -> (d2, d1)>]"
            begin, indices = f"loop.contract {maps} batch 0 m 1 n 1 k array<i64: {DEPTH}> {{", "%m: index, %n: index"
            end = ""
        return f"""func.func @forward(%x: {x} {{ptc.input = "x"}}, %w: {w} {{ptc.input = "w"}})
            -> ({result} {{ptc.output = "y"}}) {{
          %y = {begin}
          ^bb0({indices}, %sum: {total}):
            loop.yield %sum : {total}
          }}{end} : {x}, {w} -> {result}
          return %y : {result}
        }}
        """


CASES = [
    Case("uint8 convolution, tiles", "product by fma", "ui8", "ui8", 24, is_convolution=True),
    Case("float32 convolution by uint8, tiles", "product by fma", "f32", "ui8", 24, is_convolution=True),
    Case("uint8 by uint8, tiles", "product by fma", "ui8", "ui8", 24),
    Case("uint8 by int8, tiles", "product by fma", "ui8", "i8", 24),
    Case("uint8 by uint8, few columns", "product of few rows", "ui8", "ui8", 5),
    Case("int8 by int8, few columns", "product of few rows", "i8", "i8", 5),
    Case("uint8 by uint8, a thread a result", "a thread a result", "ui8", "ui8", 24, is_linear=False),
    Case("uint8 by int8, a thread a result", "a thread a result", "ui8", "i8", 24, is_linear=False),
    Case("int8 by int8, a thread a result", "a thread a result", "i8", "i8", 24, is_linear=False),
    Case("bool by bool, a thread a result", "a thread a result", "i1", "i1", 24),
]


def try_case(case: Case, folder: Path, ptc: Path, libcuda: Path) -> str:
    """What is wrong; nothing where all is well."""
    lhs, rhs = case.operands()
    model, inputs = folder / "model.mlir", folder / "inputs.safetensors"
    model.write_text(case.program(lhs, rhs))
    save_file({"x": lhs, "w": rhs}, inputs)
    explained = subprocess.run([ptc, "explain", model, "--target", "cuda"], capture_output=True, text=True)
    if case.form not in explained.stdout:
        return f"no kernel is '{case.form}':\n{explained.stdout}{explained.stderr}"
    try:
        results = Emulated(ptc, libcuda, model, folder).run("cuda", inputs)
    except (Failed, subprocess.TimeoutExpired) as error:
        return str(error)
    if isinstance(results, str):
        return results
    wrong = results[0].double() != case.exact(lhs, rhs)
    return f"{int(wrong.sum())} of {wrong.numel()} results are wrong" if wrong.any() else ""


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])
    cases = [case for case in CASES if not sys.argv[3:] or case.name in sys.argv[3:]]
    parallel.report(parallel.run(cases, partial(try_case, ptc=ptc, libcuda=libcuda)))


if __name__ == "__main__":
    main()

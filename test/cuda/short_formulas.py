"""Functions whose results are rounded to 16 bits, over all numbers of f16 and bf16, against exact values.

python test/cuda/short_formulas.py PTC            on this machine's GPU
python test/cuda/short_formulas.py PTC LIBCUDA    under the emulator, whose 2^x and 1/x are off by what a GPU's may be

A result must be less than a unit in the last place from the exact one; rounding alone takes a half.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))

# Of each type: exponent of the least normal number and of the first one that is too large, digits after the first.
TYPES = {torch.float16: (-14, 16, 10), torch.bfloat16: (-126, 128, 7)}


@dataclass
class Function:
    compute: Callable[[Tensor], Tensor]
    exact: Callable[[Tensor], Tensor]  # of float64
    # What floats lose, whatever the formula: digits of 1 + f(x) below the last place, or a sum that overflows. So much a
    # result may be off, absolutely and of x.
    absolute: float = 0.0
    of_input: float = 0.0


def gelu(x: Tensor) -> Tensor:
    return 0.5 * x * torch.special.erfc(-x * 0.5**0.5)


def gelu_tanh(x: Tensor) -> Tensor:
    return x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))


FUNCTIONS = {
    "exp": Function(torch.exp, torch.exp),
    "exp2": Function(torch.exp2, torch.exp2),
    "tanh": Function(torch.tanh, torch.tanh),
    "erf": Function(torch.erf, torch.erf),
    "sigmoid": Function(torch.sigmoid, torch.sigmoid, absolute=2.0**-127),
    "silu": Function(F.silu, F.silu, of_input=2.0**-127),
    "gelu": Function(F.gelu, gelu, of_input=2.0**-22),
    "gelu, tanh": Function(lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, of_input=2.0**-22),
    "1 / x": Function(lambda x: 1 / x, lambda x: 1 / x),
    "x / 3": Function(lambda x: x / 3, lambda x: x / 3),
}


class All(torch.nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(function.compute(x) for function in FUNCTIONS.values())


def measure(got: Tensor, x: Tensor, function: Function) -> tuple[float, int]:
    """The largest error, in units of the last place, and the place where it is. What is not a number must be none."""
    least, most, digits = TYPES[got.dtype]
    exact = function.exact(x.double())
    wrong = got.isnan() != exact.isnan()
    if wrong.any():
        return float("inf"), int(wrong.nonzero()[0])
    exact = exact.nan_to_num(0.0, posinf=2.0**most, neginf=-(2.0**most)).clamp(-(2.0**most), 2.0**most)
    found = got.double().nan_to_num(0.0, posinf=2.0**most, neginf=-(2.0**most))
    unit = 2.0 ** (exact.abs().clamp(min=2.0**least).log2().floor().clamp(max=most - 1) - digits)
    slack = function.absolute + (function.of_input * x.double().abs()).nan_to_num(0.0, posinf=0.0)
    error = ((found - exact).abs() - slack).clamp(min=0) / unit
    return float(error.max()), int(error.argmax())


def run(arguments: list[str], folder: Path, x: Tensor) -> list[Tensor]:
    ptc, inputs = Path(arguments[0]).resolve(), folder / "inputs.safetensors"
    save_file({"x": x}, inputs)
    torch.export.save(torch.export.export(All(), (x,)), folder / "model.pt2")
    if len(arguments) > 1:
        from emulation import Emulated

        results = Emulated(ptc, Path(arguments[1]).resolve(), folder / "model.pt2", folder).run("cuda", inputs)
        return sys.exit(results) if isinstance(results, str) else results
    library, outputs = folder / "model.so", folder / "outputs.safetensors"
    subprocess.run([ptc, "compile", folder / "model.pt2", "--target", "cuda", "-o", library], check=True)
    subprocess.run([ptc, "run", library, "--inputs", inputs, "--outputs", outputs], check=True)
    values = load_file(outputs)
    return [values[str(index)] for index in range(len(values))]


def main() -> None:
    failed = 0
    for dtype in TYPES:
        x = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
        with tempfile.TemporaryDirectory() as folder:
            results = run(sys.argv[1:], Path(folder), x)
        for (name, function), got in zip(FUNCTIONS.items(), results, strict=True):
            error, place = measure(got, x, function)
            failed += error >= 1
            verdict = "FAIL" if error >= 1 else "ok  "
            print(f"{verdict} {name}, {str(dtype)[6:]}: {error:.3f} ulp at {float(x[place])}", flush=True)
    print(f"{failed} failed")
    sys.exit(failed > 0)


main()

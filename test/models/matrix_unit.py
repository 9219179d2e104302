"""Products on a unit that multiplies tiles of bf16 (AMX), where this machine has one, beside PyTorch's: every shape of
tasks and of what is left over, static and told by the call, and what is not finite. On other machines the same holds of
f32 products.

python test/models/matrix_unit.py PTC
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from harness import Failed, ptc
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.export import Dim

# As in the check of models: no farther from float64 than PyTorch is, times this.
FARTHER = 4.0


def run(program: Path, folder: Path, module: nn.Module, x: Tensor, dimension: int | None = None) -> Tensor:
    """`dimension`: of x, whose size the call tells."""
    least = min(16, x.shape[dimension]) if dimension else 2  # a kernel of pixels has to fit
    sizes = None if dimension is None else ({dimension: Dim("size", min=least, max=8192)},)
    torch.export.save(torch.export.export(module, (x,), dynamic_shapes=sizes), folder / "m.pt2")
    ptc(program, "compile", folder / "m.pt2", "-o", folder / "m.so")
    save_file({"x": x.contiguous()}, folder / "x.safetensors")
    ptc(program, "run", folder / "m.so", "--inputs", folder / "x.safetensors", "--outputs", folder / "y.safetensors")
    return load_file(folder / "y.safetensors")["0"]


class Module(nn.Module):
    """A layer with what may follow it in one kernel."""

    def __init__(self, layer: nn.Module, after: Callable[[Tensor], Tensor] = lambda y: y) -> None:
        super().__init__()
        self.layer, self.after = layer, after

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.layer(x))


def linear(rows: int, k: int, columns: int, after: Callable[[Tensor], Tensor] = lambda y: y) -> tuple[nn.Module, Tensor]:
    return Module(nn.Linear(k, columns), after), torch.randn(rows, k)


def pointwise(size: int, inputs: int, outputs: int, stride: int = 1) -> tuple[nn.Module, Tensor]:
    layer = nn.Conv2d(inputs, outputs, 1, stride=stride)
    return Module(layer, torch.relu).to(memory_format=torch.channels_last), torch.randn(2, inputs, size, size)


def convolution(
    size: tuple[int, ...], inputs: int, outputs: int, kernel: Any, images: int = 2, **options: Any
) -> tuple[nn.Module, Tensor]:
    layer = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[len(size) - 1](inputs, outputs, kernel, **options)
    return Module(layer, lambda y: nn.functional.hardswish(y) + 1), torch.randn(images, inputs, *size)


class Gated(nn.Module):
    """Squeeze and excitation before a layer: each image's channels have gates of their own."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.gate, self.layer = nn.Conv2d(inputs, inputs, 1), nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x * torch.sigmoid(self.gate(x.mean((2, 3), keepdim=True))))


class Heads(nn.Module):
    """Heads of some tokens side by side before a layer, as attention leaves them."""

    def __init__(self, heads: int, features: int, columns: int) -> None:
        super().__init__()
        self.layer = nn.Linear(heads * features, columns)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.transpose(1, 2).flatten(2))


def heads(tokens: int) -> tuple[nn.Module, Tensor]:
    return Heads(12, 64, 256), torch.randn(2, 12, tokens, 64)


def gated(size: int, inputs: int, outputs: int) -> tuple[nn.Module, Tensor]:
    return Gated(inputs, outputs).to(memory_format=torch.channels_last), torch.randn(2, inputs, size, size)


CASES: dict[str, tuple] = {
    "whole blocks": (linear, (128, 256, 512)),
    "half a block left": (linear, (49, 2048, 512, torch.relu)),
    "more than half left": (linear, (89, 512, 768)),
    "k with a rest below a half step": (linear, (100, 1029, 256)),
    "k with a rest above one": (linear, (64, 1052, 301)),
    "columns left": (linear, (197, 384, 333, nn.functional.gelu)),
    "k in several blocks": (linear, (160, 3072, 200)),
    "rows of a long k, part by part": (linear, (100, 4100, 520, nn.functional.gelu)),
    "rows in several tasks": (linear, (3136, 128, 128)),
    "k that does not fill its last batch": (linear, (96, 420, 640, torch.tanh)),
    "batches": (linear, (77, 512, 1024, lambda y: y.reshape(7, 11, 1024).softmax(-1))),
    "bf16x3 weights": (linear, (64, 128, 512, nn.functional.gelu)),
    "bf16x3 weights, rows in two tasks": (linear, (197, 192, 576)),
    "bf16x3 weights, rows of a long k": (linear, (130, 1000, 120, torch.sigmoid)),
    "bf16x3 weights, few rows, columns left": (linear, (49, 161, 950)),
    "bf16x3 weights, one panel a task": (linear, (70, 384, 72, lambda y: y.softmax(-1))),
    "bf16x3 weights, pointwise convolution": (pointwise, (14, 112, 664)),
    "bf16x3 weights, scaled rows": (gated, (14, 200, 112)),
    "pointwise convolution": (pointwise, (14, 256, 512)),
    "every other pixel": (pointwise, (28, 256, 512, 2)),
    "3 x 3, no padding": (convolution, ((10, 12), 96, 128, 3)),
    "3 x 3, small image": (convolution, ((7, 7), 512, 512, 3), {"padding": 1}),
    "3 x 3, every other pixel": (convolution, ((28, 30), 128, 160, 3), {"padding": 1, "stride": 2}),
    "5 x 5, every third pixel, outputs left": (convolution, ((41, 50), 64, 77, 5), {"padding": 2, "stride": 3}),
    "3 x 3, dilated": (convolution, ((20, 23), 64, 128, 3), {"padding": 2, "dilation": 2}),
    "4 x 4, dilated, every other pixel": (convolution, ((30, 33), 64, 128, 4), {"dilation": 3, "stride": 2}),
    "3 x 3, one step of channels": (convolution, ((40, 40), 32, 96, 3), {"padding": 1}),
    "3 x 3, batches of five steps": (convolution, ((9, 16), 160, 128, 3)),
    "parts of an image": (convolution, ((112, 60), 64, 64, 3), {"padding": 3}),
    "along one dimension": (convolution, ((300,), 128, 256, 9), {"padding": 4}),
    "few pixels": (convolution, ((4, 4), 512, 128, 3), {"padding": 1, "images": 1}),
    "few pixels of each image": (convolution, ((4, 4), 512, 128, 3), {"padding": 1}),
    "3 x 3 x 3": (convolution, ((3, 14, 15), 64, 128, 3), {"padding": 1}),
    "3 x 3 x 3, parts of a frame": (convolution, ((2, 56, 56), 64, 64, 3), {"padding": (1, 1, 0)}),
    "2 x 3 x 3, other strides, dilated": (
        convolution,
        ((9, 18, 18), 32, 96, (2, 3, 3)),
        {"padding": (3, 1, 1), "stride": (3, 2, 2), "dilation": (3, 1, 1)},
    ),
}

# Of which the first size is one that calls tell, too; then also few rows, and tokens.
STATIC = ("batches", "few pixels")
OPEN: dict[str, tuple] = {name: (0, *case) for name, case in CASES.items() if name not in STATIC} | {
    "few rows": (0, linear, (21, 512, 768)),
    "five rows": (0, linear, (5, 256, 512)),
    "rows in tasks of different sizes": (0, linear, (185, 128, 512)),
    "heads, few tokens": (2, heads, (7,)),
    "heads": (2, heads, (133,)),
    "pixels in several tasks": (2, convolution, ((1237,), 64, 96, 3), {"padding": 1}),
    "few pixels in a last task": (2, convolution, ((517,), 32, 64, 2), {"dilation": 2}),
    "pixels from far away": (2, convolution, ((700,), 32, 64, 2), {"dilation": 128, "padding": 64}),
    "every other of many pixels": (2, convolution, ((1031,), 128, 80, 5), {"padding": 2, "stride": 2}),
    "pixels, fewer than the unit pays for": (2, convolution, ((47,), 64, 96, 3), {"padding": 1}),
    "any height": (2, convolution, ((41, 50), 64, 77, 5), {"padding": 2, "stride": 3}),
    "any width": (3, convolution, ((41, 150), 64, 77, 5), {"padding": 2}),
    "any width, parts of many channels": (3, convolution, ((20, 90), 512, 128, 5), {"padding": 1, "dilation": 2}),
}

INFINITY, NAN = float("inf"), float("nan")


def check_accuracy(
    program: Path, folder: Path, module: nn.Module, x: Tensor, dimension: int | None = None
) -> None:
    module.eval()
    with torch.no_grad():
        eager, exact = module(x), module.double()(x.double())
    got = run(program, folder, module.float(), x, dimension)
    mine, theirs = (got - exact).abs().max().item(), (eager - exact).abs().max().item()
    if not mine <= FARTHER * max(theirs, 1e-6 * exact.abs().max().item()):
        raise Failed(f"{mine:.3g} from float64, PyTorch {theirs:.3g}")


def check_not_finite_of_many(program: Path, folder: Path) -> None:
    """Pixels of a task among those that a call tells, and its neighbours'."""
    module, x = convolution((1300,), 64, 96, 3, padding=1)
    x[0, 5, 511], x[1, 7, 1299], x[1, 9, 700] = INFINITY, NAN, -3.4e38
    with torch.no_grad():
        expected = module(x)
    got = run(program, folder, module, x, 2)
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def check_not_finite_pixels(program: Path, folder: Path) -> None:
    for size, kernel, padding in (((9, 9), 3, 1), ((9, 9), 5, 2), ((3, 9, 9), (3, 5, 5), (1, 2, 2))):
        module, x = convolution(size, 256, 320, kernel, padding=padding)
        frame = (1,) * (len(size) - 2)  # one number that large: sums of several cancel
        x[(0, 5, *frame, 8, 8)], x[(1, 77, *frame, 4, 0)] = INFINITY, -3.4e38
        with torch.no_grad():
            module.layer.weight[100, 5, ..., 2, 2] = 0
            expected = module(x)
        got = run(program, folder, module, x)
        torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def check_not_finite(program: Path, folder: Path, in_weights: bool, dimension: int | None = None) -> None:
    """Infinities, NaNs and numbers that overflow are where they are in f32."""
    module, x = linear(130, 256, 512)
    with torch.no_grad():
        if in_weights:
            module.layer.weight[5, 7], module.layer.weight[300, 0] = INFINITY, NAN
        for place, value in {(0, 0): -INFINITY, (64, 7): 3.0, (65, 100): NAN, (129, 255): 3.4e38}.items():
            x[place] = value
        expected = module(x)
    got = run(program, folder, module, x, dimension)
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def check_rows_beyond_bf16x3(program: Path, folder: Path) -> None:
    """Weights are bf16x3; some rows are not finite, or so large that products of bf16 terms are not."""
    module, x = linear(98, 160, 400)
    x[3, 5], x[20, 159], x[60, 0] = INFINITY, NAN, -3e38
    x[97] *= 1e36
    with torch.no_grad():
        module.layer.weight[7] = 0
        expected = module(x)
    got = run(program, folder, module, x)
    got[97], expected[97] = got[97] / 1e36, expected[97] / 1e36
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def check_scaled_rows_beyond_bf16x3(program: Path, folder: Path) -> None:
    """Rows are scaled before they are found to be too large; the second image's are not."""
    module, x = gated(14, 200, 112)
    x[0] *= 1e25
    with torch.no_grad():
        expected = module(x)
    got = run(program, folder, module, x)
    for mine, theirs, unit in zip(got, expected, (1e25, 1)):
        torch.testing.assert_close(mine / unit, theirs / unit, rtol=2e-5, atol=2e-5)


def check_weights_beyond_bf16x3(program: Path, folder: Path) -> None:
    module, x = linear(64, 160, 400)
    with torch.no_grad():
        module.layer.weight[11, 3], module.layer.weight[12, 0] = INFINITY, 1e38
        expected = module(x)
    got = run(program, folder, module, x)
    torch.testing.assert_close(got, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


def main() -> int:
    program, failed = Path(sys.argv[1]).resolve(), []
    torch.manual_seed(0)

    attempts = 0

    def attempt(name: str, check: Callable[[Path], None]) -> None:
        nonlocal attempts
        attempts += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(Path(folder))
            except (Failed, AssertionError) as error:
                failed.append(f"{name}: {error}")

    for name, (make, arguments, *options) in CASES.items():
        module, x = make(*arguments, **(options[0] if options else {}))
        attempt(name, lambda folder, module=module, x=x: check_accuracy(program, folder, module, x))
    for name, (dimension, make, arguments, *options) in OPEN.items():
        module, x = make(*arguments, **(options[0] if options else {}))
        attempt(f"{name}, open", lambda folder, module=module, x=x, d=dimension: check_accuracy(program, folder, module, x, d))
    for dimension in (None, 0):
        for in_weights in (False, True):
            attempt(
                f"not finite, {'weights, ' if in_weights else ''}{'static' if dimension is None else 'open'}",
                lambda folder, w=in_weights, d=dimension: check_not_finite(program, folder, w, d),
            )
    attempt("pixels that are not finite", lambda folder: check_not_finite_pixels(program, folder))
    attempt("pixels that are not finite, any number", lambda folder: check_not_finite_of_many(program, folder))
    attempt("rows beyond bf16x3", lambda folder: check_rows_beyond_bf16x3(program, folder))
    attempt("scaled rows beyond bf16x3", lambda folder: check_scaled_rows_beyond_bf16x3(program, folder))
    attempt("weights beyond bf16x3", lambda folder: check_weights_beyond_bf16x3(program, folder))
    for text in failed:
        print(f"FAIL {text}")
    print(f"{attempts - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

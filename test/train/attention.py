"""Derivatives of attention (`ptc compile --train`) against PyTorch's in double precision, without the scores in memory.

On one, two and three threads they are the same bits.

attention.py PTC [NAME...]
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from gradients import compare
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models")]
from harness import Failed, check_rows, ptc  # noqa: E402

torch.manual_seed(0)
TOLERANCES = {torch.float64: 1e-10, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


class Attention(nn.Module):
    """With a mask that nobody asks for a derivative by, or one that is an input."""

    def __init__(self, causal: bool, mask: Tensor | None = None) -> None:
        super().__init__()
        self.causal = causal
        self.register_buffer("mask", mask)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
        mask = self.mask if bias is None else bias
        return F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=self.causal, enable_gqa=q.shape[-3] != k.shape[-3]
        )


@dataclass
class Row:
    name: str
    q: tuple[int, ...]
    k: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    values: int | None = None  # features of v, where they are others
    causal: bool = False
    mask: Callable[[], Tensor] | None = None
    dynamic: bool = False  # batch and positions
    wants_mask: bool = False
    fused: bool = True


def lower(queries: int, keys: int, shift: int) -> Callable[[], Tensor]:
    return lambda: torch.ones(queries, keys, dtype=torch.bool).tril(shift)


def bias(*shape: int, excluded: float = 0.0) -> Callable[[], Tensor]:
    return lambda: torch.randn(shape).masked_fill(torch.rand(shape) < excluded, -torch.inf)


def empty_rows(queries: int, keys: int) -> Tensor:
    """Adds -inf to all scores of each third row, and of the first keys of others."""
    mask = torch.zeros(1, 1, queries, keys)
    mask[..., :, : keys // 2] = -torch.inf
    mask[..., ::3, :] = -torch.inf
    return mask


ROWS = [
    Row("plain", (2, 3, 40, 16), (2, 3, 40, 16)),
    Row("odd", (1, 2, 67, 13), (1, 2, 131, 13), values=21),
    Row("one-key", (1, 2, 5, 8), (1, 2, 1, 8)),
    Row("one-query", (3, 2, 1, 32), (3, 2, 300, 32)),
    Row("long", (1, 1, 600, 64), (1, 1, 1100, 64)),
    Row("wide", (1, 2, 70, 256), (1, 2, 90, 256)),
    Row("cross", (2, 2, 150, 32), (2, 2, 37, 32), values=64),
    Row("causal", (2, 2, 200, 32), (2, 2, 200, 32), causal=True),
    Row("causal-cross", (1, 2, 70, 16), (1, 2, 300, 16), causal=True),
    Row("causal-wide", (1, 2, 70, 150), (1, 2, 300, 150), causal=True),
    Row("causal-widest", (1, 2, 70, 520), (1, 2, 150, 520), causal=True),
    Row("causal-tall", (1, 2, 300, 16), (1, 2, 70, 16), causal=True),
    Row("grouped", (2, 6, 90, 24), (2, 2, 140, 24)),
    Row("grouped-causal", (1, 8, 130, 64), (1, 1, 130, 64), causal=True),
    Row("no-batch", (3, 50, 16), (3, 50, 16)),
    Row("bool-mask", (2, 3, 65, 16), (2, 3, 129, 16), mask=lower(65, 129, 64)),
    Row("empty-rows-bool", (2, 3, 65, 16), (2, 3, 65, 16), mask=lower(65, 65, -3)),
    Row("bias", (2, 3, 65, 16), (2, 3, 70, 16), mask=bias(1, 3, 65, 70)),
    Row("bias-of-keys", (2, 3, 65, 16), (2, 3, 70, 16), mask=bias(2, 1, 1, 70, excluded=0.3)),
    Row("bias-of-queries", (2, 3, 65, 16), (2, 3, 70, 16), mask=bias(65, 1)),
    Row("empty-rows", (2, 3, 65, 16), (2, 3, 70, 16), mask=lambda: empty_rows(65, 70)),
    Row("wanted-bias", (2, 3, 65, 16), (2, 3, 70, 16), mask=bias(1, 3, 65, 70), wants_mask=True, fused=False),
    Row("double", (1, 4, 70, 20), (1, 2, 90, 20), torch.float64, causal=True),
    Row("bfloat16", (1, 4, 150, 64), (1, 2, 150, 64), torch.bfloat16, causal=True),
    Row("bfloat16-odd", (1, 2, 67, 13), (1, 2, 131, 13), torch.bfloat16, values=21),
    Row("float16", (2, 2, 90, 40), (2, 2, 140, 40), torch.float16, mask=lower(90, 140, 10)),
    Row("dynamic", (2, 3, 80, 16), (2, 3, 80, 16), dynamic=True),
    Row("dynamic-causal", (2, 4, 150, 16), (2, 2, 150, 16), causal=True, dynamic=True),
]


def export(row: Row, module: nn.Module, args: list[Tensor]) -> torch.export.ExportedProgram:
    shapes = None
    if row.dynamic:
        dims = {0: Dim("batch"), 2: Dim("positions", min=2)}
        shapes = (dims, dims, dims)
        args = [torch.randn(3, x.shape[1], 33, x.shape[3]) for x in args]
    return torch.export.export(module, tuple(args), dynamic_shapes=shapes)


def expected_gradients(module: nn.Module, args: list[Tensor], grad: Tensor) -> tuple[Tensor, ...]:
    """The result and the derivatives by the arguments, as PyTorch's formulas have them."""
    exact = [x.double().requires_grad_() for x in args]
    with sdpa_kernel(SDPBackend.MATH):
        y = copy.deepcopy(module).double()(*exact)
    return y.detach(), *torch.autograd.grad(y, exact, grad.double())


def check(program: Path, row: Row, folder: Path) -> None:
    values = (*row.k[:-1], row.values or row.k[-1])
    args = [torch.randn(shape).to(row.dtype) for shape in (row.q, row.k, values)]
    mask = row.mask() if row.mask else None
    if mask is not None and mask.is_floating_point():
        mask = mask.to(row.dtype)
    if row.wants_mask:
        args.append(mask)
    module = Attention(row.causal, None if row.wants_mask else mask)
    torch.export.save(export(row, module, args), folder / "model.pt2")
    ptc(program, "compile", folder / "model.pt2", "--train", "--emit", "loop", "-o", folder / "model.mlir")
    if ("loop.attention_gradient" in (folder / "model.mlir").read_text()) != row.fused:
        raise Failed("the derivative is " + ("by parts" if row.fused else "fused"))
    ptc(program, "compile", folder / "model.pt2", "--train", "-o", folder / "gradients.so")

    grad = torch.randn(*row.q[:-1], values[-1]).to(row.dtype)
    save_file(dict(zip(["q", "k", "v", "bias"], args, strict=False)), folder / "inputs.safetensors")
    save_file({"0": grad}, folder / "cotangents.safetensors")
    files = ["--inputs", folder / "inputs.safetensors", "--cotangents", folder / "cotangents.safetensors"]
    found = []
    for threads in (1, 2, 3):
        ptc(program, "run", folder / "gradients.so", *files, "--threads", threads, "--outputs", folder / "found")
        found.append((folder / "found").read_bytes())
    if found != found[:1] * 3:
        raise Failed("other threads find other bits")
    got = load_file(folder / "found")
    expected = expected_gradients(module, args, grad)
    for name, value in zip(["0", *(f"grad.{i}" for i in range(len(args)))], expected, strict=True):
        compare(name, got[name], value.to(row.dtype), TOLERANCES[row.dtype])


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[2:]))

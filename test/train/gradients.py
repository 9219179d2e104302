"""Gradients of small modules (`ptc compile --train`) against torch.autograd.grad: by inputs and by parameters.

gradients.py PTC [NAME...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models")]
from harness import Failed, check_rows, ptc  # noqa: E402

torch.manual_seed(0)

# Where functions have kinks, or intermediate values are no finite numbers.
EDGES = torch.tensor([-200.0, -100.0, -89.0, -20.0, -6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, 20.0, 100.0])


@dataclass
class Row:
    name: str
    module: nn.Module
    args: Sequence[Tensor]
    tolerance: float = 2e-5


class Function(nn.Module):
    def __init__(self, function: Callable[..., Tensor | tuple[Tensor, ...]]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor | tuple[Tensor, ...]:
        return self.function(*args)


class Net(nn.Module):
    """Convolutions with strides, groups and dilation, norms, pooling, and linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
            nn.SiLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1),
            nn.GroupNorm(2, 6),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(24, 5),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Transformer(nn.Module):
    """An embedding, and one layer of attention with a causal mask and grouped heads."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        self.norm = nn.LayerNorm(16)
        self.q, self.kv, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        h = self.norm(x)
        q = self.q(h).unflatten(-1, (4, 4)).transpose(1, 2)
        k, v = self.kv(h).unflatten(-1, (2, 2, 4)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return F.log_softmax(x + self.mlp(x), -1)


POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    name: getattr(F, name)
    for name in (
        "relu relu6 leaky_relu elu selu celu gelu silu mish softplus logsigmoid hardtanh hardsigmoid hardswish hardshrink "
        "softshrink tanhshrink softsign"
    ).split()
} | {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "abs": torch.abs,
    "square": torch.square,
    "clamp": lambda x: x.clamp(-3, 6),
    "clamp-low": lambda x: x.clamp(min=-0.5),
    "exp": lambda x: torch.exp(x / 4),
    "detach": lambda x: x * x.detach(),
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(0).values,
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: (x / 8).cumprod(0),
    "prod": lambda x: (x / 8).prod(),
    "sort": lambda x: x.sort().values * torch.arange(16.0),
    "std": lambda x: x.std(),
    "std-of-zeros": lambda x: (x * 0).std(),
    "norm-of-zeros": lambda x: (x * 0).norm(),
}

ROWS = [
    *(Row(name, Function(function), [EDGES]) for name, function in POINTWISE.items()),
    Row("maximum", Function(torch.maximum), [EDGES, EDGES.flip(0)]),
    Row("atan2", Function(torch.atan2), [EDGES, EDGES.flip(0)]),
    Row("pow", Function(lambda x, y: x.abs() ** y), [EDGES / 50, EDGES.flip(0) / 50]),
    Row("matmul", Function(torch.matmul), [torch.randn(2, 3, 4), torch.randn(4, 5)]),
    Row("index", Function(lambda x: x[torch.tensor([0, 3, 3, 1])][:, 1:4:2]), [torch.randn(5, 6)]),
    Row("cat", Function(lambda x, y: torch.cat([x, y.flip(1), x[:, :1]], 1)), [torch.randn(2, 3), torch.randn(2, 4)]),
    Row("unfold", Function(lambda x: F.unfold(x, 2, stride=2)), [torch.randn(1, 2, 5, 6)]),
    Row("pad", Function(lambda x: F.pad(x, (1, 2, -1, 1))), [torch.randn(2, 4, 5)]),
    Row("avg_pool", Function(lambda x: F.avg_pool2d(x, 3, 2, 1)), [torch.randn(1, 2, 7, 8)]),
    Row("max_pool", Function(lambda x: F.max_pool2d(x, 3, 2, 1)), [torch.randn(1, 2, 7, 8)]),
    Row("conv1d", Function(lambda x, w: F.conv1d(x, w, stride=3)), [torch.randn(2, 4, 11), torch.randn(6, 4, 3)]),
    Row("complex", Function(lambda x, y: (torch.complex(x, y) ** 2).abs()), [torch.randn(3, 4), torch.randn(3, 4)]),
    Row("fft", Function(lambda x: torch.fft.rfft(x).abs()), [torch.randn(3, 7)], 1e-4),
    Row("exp-of-matrix", Function(torch.linalg.matrix_exp), [torch.randn(3, 3) / 2], 1e-4),
    Row(
        "solve_triangular",
        Function(lambda a, b: torch.linalg.solve_triangular(a, b, upper=True)),
        [torch.randn(2, 3, 3) + 3 * torch.eye(3), torch.randn(2, 3, 2)],
        1e-4,
    ),
    Row("net", Net().eval(), [torch.randn(2, 3, 17, 15)], 2e-4),
    Row("transformer", Transformer(), [torch.tensor([[0, 3, 5, 0, 7, 19], [1, 2, 3, 4, 5, 6]])], 2e-4),
]


def expected_gradients(row: Row, outputs: list[Tensor], cotangents: list[Tensor], args: list[Tensor]) -> dict[str, Tensor]:
    wanted = {f"grad.{i}": x for i, x in enumerate(args) if x.requires_grad}
    wanted |= {f"gradient.{name}": p for name, p in row.module.named_parameters()}
    found = torch.autograd.grad(outputs, list(wanted.values()), cotangents, allow_unused=True)
    return {name: torch.zeros_like(x) if g is None else g for (name, x), g in zip(wanted.items(), found, strict=True)}


def check(program: Path, row: Row, folder: Path) -> None:
    exported = torch.export.export(row.module, tuple(row.args))
    torch.export.save(exported, folder / "model.pt2")
    ptc(program, "compile", folder / "model.pt2", "--train", "-o", folder / "gradients.so")
    args = [x.clone().requires_grad_(x.is_floating_point()) for x in row.args]
    outputs = tree_leaves(row.module(*args))
    cotangents = [torch.randn(y.shape, dtype=y.dtype) for y in outputs]
    names = exported.graph_signature.user_inputs
    inputs = {str(name): x.detach().contiguous() for name, x in zip(names, args, strict=True)}
    save_file(inputs, folder / "inputs.safetensors")
    save_file({str(i): c for i, c in enumerate(cotangents)}, folder / "cotangents.safetensors")
    files = ["--inputs", folder / "inputs.safetensors", "--cotangents", folder / "cotangents.safetensors"]
    ptc(program, "run", folder / "gradients.so", *files, "--outputs", folder / "gradients.safetensors")
    got = load_file(folder / "gradients.safetensors")
    for index, y in enumerate(outputs):
        compare(f"output {index}", got.pop(str(index)), y.detach(), row.tolerance)
    expected = expected_gradients(row, outputs, cotangents, args)
    if got.keys() != expected.keys():
        raise Failed(f"gradients {sorted(got)} instead of {sorted(expected)}")
    for name, gradient in expected.items():
        compare(name, got[name], gradient, row.tolerance)


def compare(what: str, got: Tensor, expected: Tensor, tolerance: float) -> None:
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise Failed(f"{what}: {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}")
    try:
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        raise Failed(f"{what}: {' '.join(str(error).split())[:200]}") from None


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[2:]))

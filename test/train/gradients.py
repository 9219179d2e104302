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
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models")]
from harness import Failed, check_rows, ptc  # noqa: E402

torch.manual_seed(0)

# Where functions have kinks, or intermediate values are no finite numbers.
EDGES = torch.tensor([-200.0, -100.0, -89.0, -20.0, -6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, 20.0, 100.0])


NORMS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"), float("-inf"))


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


class Branches(nn.Module):
    """Parameters of one branch, of the other and of both; a branch in a branch."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(0.7))

    def forward(self, x: Tensor) -> Tensor:
        def inner(x: Tensor) -> Tensor:
            return torch.cond(x.max() > 1, lambda x: x.exp(), lambda x: x * x, (x,))

        return torch.cond(
            x.sum() > 0, lambda x: self.first(x).sin() * self.scale, lambda x: inner(self.second(x)) - self.scale, (x,)
        )


class Recurrent(nn.Module):
    """Two layers; every step and the last states count."""

    def __init__(self, make: type[nn.Module]) -> None:
        super().__init__()
        self.body = make(3, 4, num_layers=2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y, state = self.body(x)
        return y, *(state if isinstance(state, tuple) else (state,))


def step(c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """What goes on, and what each step answers; a branch in a loop."""
    y = (c * x).sin()
    return torch.cond(y.sum() > 0, lambda c, x: c * 0.5 + x.tanh(), lambda c, x: c * 0.7 - x, (c, x)), y


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
    "safe_softmax": lambda x: torch.ops.aten._safe_softmax(torch.stack([x, x - float("inf")]), -1),
    "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(0).values,
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: (x / 8).cumprod(0),
    "prod": lambda x: (x / 8).prod(),
    "sort": lambda x: x.sort().values * torch.arange(16.0),
    "std": lambda x: x.std(),
    "std-of-zeros": lambda x: (x * 0).std(),
    "norm-of-zeros": lambda x: (x * 0).norm(),
    "clamp_min-at-it": lambda x: x.clamp_min(3),
    "clamp_max-at-it": lambda x: torch.clamp_max(x, 3),
    "sinc": torch.sinc,
    "entr": lambda x: torch.special.entr(x.abs() / 8),
    "frexp": lambda x: torch.frexp(x)[0],
    "adaptive_max_pool": lambda x: F.adaptive_max_pool1d(x.clamp(-1, 1)[None], 4),
}

# Equal elements, in rows.
TIES = torch.tensor([[0.0, 2.0, 2.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0, 1.0], [0.0, -3.0, 0.0, -3.0, 0.0]])

REDUCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "max.dim": lambda x: x.max(1).values,
    "min.dim": lambda x: x.min(1, keepdim=True).values,
    "max": torch.max,
    "median": torch.median,
    "median.dim": lambda x: x.median(1).values,
    "nanmedian": torch.nanmedian,
    "nanmedian.dim": lambda x: x.nanmedian(0).values,
    "kthvalue": lambda x: (x + 8 * torch.arange(5.0)).kthvalue(2, 1).values,
    "mode": lambda x: x.mode(1).values,
    "cummax": lambda x: x.cummax(1).values,
    "pdist": F.pdist,
} | {f"norm-{p}": (lambda x, p=p: torch.linalg.vector_norm(x - 1, p, 1)) for p in NORMS}

BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "clamp-tensors": lambda x, y: torch.clamp(x, y, y.flip(0)),
    "clamp_min-tensor": torch.clamp_min,
    "xlogy": lambda x, y: torch.xlogy(x, y.abs()),
    "xlog1py": lambda x, y: torch.special.xlog1py(x, y.abs()),
    "hypot": torch.hypot,
    "margin_ranking_loss": lambda x, y: F.margin_ranking_loss(x, y, torch.ones_like(x), 1.0),
    "hinge_embedding_loss": lambda x, y: F.hinge_embedding_loss(x, y.sign().detach(), 1.0),
    "bce": lambda x, y: F.binary_cross_entropy(x.clamp(0, 1), y.clamp(0, 1).detach()),
    "cosine_similarity-of-short": lambda x, y: F.cosine_similarity(x * 1e-9, y),
    "angle": lambda x, y: torch.complex(x, y).angle(),
    "lerp": lambda x, y: torch.lerp(x, y, x / 4),
} | {f"cdist-{p}": (lambda x, y, p=p: torch.cdist(x, y, p)) for p in NORMS if p >= 0}


def symmetric(x: Tensor) -> Tensor:
    return x + x.mH


# What is unique of a factorization, so that the signs of vectors do not matter.
MATRICES: dict[str, Callable[[Tensor], Tensor | tuple[Tensor, ...]]] = {
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mH),
    "cholesky-upper": lambda x: torch.linalg.cholesky(x @ x.mH, upper=True),
    "cholesky-of-triangle": lambda x: torch.linalg.cholesky(x + 2 * torch.eye(3), upper=True),
    # A factor's diagonal is real.
    "cholesky_inverse": lambda x: torch.cholesky_inverse(x @ x.mH),
    "cholesky_inverse-upper": lambda x: torch.cholesky_inverse(x @ x.mH, upper=True),
    "lu": lambda x: torch.linalg.lu(x)[1:],
    "lu-tall": lambda x: torch.linalg.lu(x[..., :2])[1:],
    "lu-wide": lambda x: torch.linalg.lu(x[..., :2, :])[1:],
    "lu_factor": lambda x: torch.linalg.lu_factor(x)[0],
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "det-singular": lambda x: torch.linalg.det(x * torch.tensor([1.0, 0.0, 1.0])),
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "qr": lambda x: (torch.linalg.qr(x)[0].abs(), torch.linalg.qr(x)[1].abs()),
    "qr-tall": lambda x: (torch.linalg.qr(x[..., :2])[0].abs(), torch.linalg.qr(x[..., :2])[1].abs()),
    "qr-wide": lambda x: (torch.linalg.qr(x[..., :2, :])[0].abs(), torch.linalg.qr(x[..., :2, :])[1].abs()),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x),
    "eigh": lambda x: torch.linalg.eigh(symmetric(x))[1].abs(),
    "eigh-upper": lambda x: torch.linalg.eigh(symmetric(x), UPLO="U")[1].abs(),
    "eigvals": lambda x: torch.linalg.eigvals(x).abs().sum(-1),
    "eig": lambda x: torch.linalg.eig(x)[1].abs().square().sum(-1),
    "svdvals": torch.linalg.svdvals,
    "svdvals-of-one": lambda x: torch.linalg.svdvals(torch.eye(3, dtype=x.dtype) + 0 * x),
    "svd": lambda x: tuple(part.abs() for part in torch.linalg.svd(x)),
    "svd-tall": lambda x: tuple(part.abs() for part in torch.linalg.svd(x[..., :2], full_matrices=False)),
    "svd-wide": lambda x: tuple(part.abs() for part in torch.linalg.svd(x[..., :2, :], full_matrices=False)),
    "pinv": torch.linalg.pinv,
    "pinv-tall": lambda x: torch.linalg.pinv(x[..., :2]),
    "pinv-hermitian": lambda x: torch.linalg.pinv(symmetric(x), hermitian=True),
    "householder_product": lambda x: torch.linalg.householder_product(x[..., :2], x[..., 2, :2]),
    "ormqr": lambda x: torch.ormqr(x[..., :2], x[..., 2, :2], x),
    "nuclear": lambda x: torch.linalg.matrix_norm(x, "nuc"),
    "spectral": lambda x: torch.linalg.matrix_norm(x, 2),
    "cond": torch.linalg.cond,
    "matrix_power": lambda x: torch.linalg.matrix_power(x, -2),
}
PAIRS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "solve": torch.linalg.solve,
    "solve-right": lambda a, x: torch.linalg.solve(a, x.mT, left=False),
    "solve-vector": lambda a, x: torch.linalg.solve(a, x[0, :, 0]),
    "cholesky_solve": lambda a, x: torch.cholesky_solve(x, a),
    "cholesky_solve-upper": lambda a, x: torch.cholesky_solve(x, a, upper=True),
    "lu_solve": lambda a, x: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), x),
}


def matrix(dtype: torch.dtype) -> Tensor:
    """Two well-conditioned matrices with different singular values."""
    return torch.randn(2, 3, 3, dtype=dtype) / 3 + torch.diag(torch.tensor([3.0, 1.0, 2.0], dtype=dtype))


ROWS = [
    *(Row(name, Function(function), [EDGES]) for name, function in POINTWISE.items()),
    *(Row(name, Function(function), [TIES]) for name, function in REDUCTIONS.items()),
    *(Row(name, Function(function), [TIES, TIES.roll(1, 1)]) for name, function in BINARY.items()),
    *(Row(name, Function(function), [matrix(torch.float64)], 1e-6) for name, function in MATRICES.items()),
    *(Row(f"{name}-complex", Function(f), [matrix(torch.complex64)], 2e-3) for name, f in MATRICES.items()),
    *(
        Row(f"{name}{suffix}", Function(function), [matrix(dtype), torch.randn(2, 3, 2, dtype=dtype)], tolerance)
        for name, function in PAIRS.items()
        for suffix, dtype, tolerance in (("", torch.float64, 1e-6), ("-complex", torch.complex64, 2e-3))
    ),
    Row("maximum", Function(torch.maximum), [EDGES, EDGES.flip(0)]),
    Row("atan2", Function(torch.atan2), [EDGES, EDGES.flip(0)]),
    Row("pow", Function(lambda x, y: x.abs() ** y), [EDGES / 50, EDGES.flip(0) / 50]),
    Row("matmul", Function(torch.matmul), [torch.randn(2, 3, 4), torch.randn(4, 5)]),
    Row("index", Function(lambda x: x[torch.tensor([0, 3, 3, 1])][:, 1:4:2]), [torch.randn(5, 6)]),
    Row("masked_select", Function(lambda x, m: torch.masked_select(x * x, m)), [TIES, TIES > 0]),
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
    Row("scan", Function(lambda x, c: scan(step, c, x, dim=0)), [torch.randn(3000, 4), torch.randn(4)]),
    Row(
        "scan-in-reverse",
        Function(lambda x: scan(step, x[:, 0] * 2, x, dim=1, reverse=True)[1]),
        [torch.randn(4, 3000)[:, :, None].repeat(1, 1, 4)],
        1e-4,
    ),
    Row(
        "map",
        Function(lambda x, y: torch_map(lambda row, y: (row * y).sin().sum(), x, y)),
        [torch.randn(2500, 3), torch.randn(3)],
        1e-4,
    ),
    Row("gru-of-many-steps", Recurrent(nn.GRU), [torch.randn(400, 2, 3)], 1e-4),
    Row("lstm-of-many-steps", Recurrent(nn.LSTM), [torch.randn(300, 2, 3)], 1e-4),
    Row("first-branch", Branches(), [torch.rand(3, 4)]),
    Row("second-branch", Branches(), [-torch.rand(3, 4)]),
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
    args = [x.clone().requires_grad_(x.is_floating_point() or x.is_complex()) for x in row.args]
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

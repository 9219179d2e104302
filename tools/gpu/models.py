"""Models that torch exports on the spot: each with a check against eager PyTorch, and a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Subject:
    """A module with inputs in the host's memory."""

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]
    dynamic: Any = None  # torch.export's dynamic_shapes
    other: tuple[torch.Tensor, ...] | None = None  # inputs of other sizes
    tolerance: float = 2e-4  # of the largest number in a result


class Residual(nn.Module):
    def __init__(self, width: int, stride: int = 1) -> None:
        super().__init__()
        out = width * stride
        self.first = nn.Sequential(nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.skip = nn.Identity() if stride == 1 else nn.Conv2d(width, out, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(self.first(x)) + self.skip(x))


class Separable(nn.Module):
    """An inverted bottleneck with squeeze and excitation, as mobile networks have it."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        wide = 4 * width
        self.expand = nn.Sequential(nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish()
        )
        self.squeeze, self.excite = nn.Conv2d(wide, wide // 4, 1), nn.Conv2d(wide // 4, wide, 1)
        self.project = nn.Sequential(nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.expand(x))
        y = y * F.hardsigmoid(self.excite(F.relu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return self.project(y)


class Block(nn.Module):
    """A layer of a transformer, with the norm before."""

    def __init__(self, width: int, heads: int, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Language(nn.Module):
    """Tokens to the next token's logits."""

    def __init__(self, words: int = 1000, width: int = 256, layers: int = 4, longest: int = 256) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.Sequential(*(Block(width, 8, is_causal=True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places(places))))


class Patches(nn.Module):
    """A vision transformer."""

    def __init__(self, width: int = 192, side: int = 16, count: int = 196) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, side, side)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, count + 1, width) / 50)
        self.blocks = nn.Sequential(*(Block(width, 3, is_causal=False) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.cut(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(patches.shape[0], -1, -1), patches], 1) + self.places
        return self.head(self.norm(self.blocks(tokens))[:, 0])


class Hourglass(nn.Module):
    """Down and up again with what was there before beside it, as networks that draw have it."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(8, 32), nn.GroupNorm(8, 64)
        self.up = nn.ConvTranspose2d(64, 32, 2, 2)
        self.last = nn.Conv2d(64, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = F.silu(self.norm1(self.down1(x)))
        second = F.silu(self.norm2(self.down2(F.max_pool2d(first, 2))))
        wide = F.interpolate(second, scale_factor=2, mode="bilinear")[:, :32]
        return self.last(torch.cat([first, self.up(second) + wide], 1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(32, 64, num_layers=2, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, (h, c) = self.cell(x)
        return self.head(y), h, c


class Recommender(nn.Module):
    """Tables of embeddings, and products of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(1000, 32, mode="sum") for _ in range(4))
        self.dense, self.top = nn.Linear(13, 32), nn.Linear(32 + 10, 1)

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.dense(dense))
        rows = torch.stack([x, *(table(one) for table, one in zip(self.tables, ids.unbind(0)))], 1)
        pairs = rows @ rows.transpose(1, 2)
        first, second = torch.tril_indices(5, 5, -1, device=pairs.device)
        return torch.sigmoid(self.top(torch.cat([x, pairs[:, first, second]], 1)))


class Choice(nn.Module):
    """The best of many, in order, with sizes that the data decide."""

    def forward(self, scores: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        best, places = scores.topk(20)
        order = scores.argsort(stable=True)
        total = torch.zeros(16, device=scores.device).index_add(0, rows, scores)
        return best, places, order, total, torch.nonzero(scores > 0.5), scores.cumsum(0)


def _image(*shape: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(shape),)


def _open_batch(module: nn.Module, *shape: int) -> Subject:
    batch = torch.export.Dim("batch", min=1, max=64)
    return Subject(module, (torch.randn(shape),), ({0: batch},), (torch.randn(3, *shape[1:]),))


def perceptron() -> Subject:
    layers = [nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10), nn.Softmax(-1)]
    return _open_batch(nn.Sequential(*layers), 32, 128)


def residual_network() -> Subject:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    body = [Residual(64), Residual(64), Residual(64, 2), Residual(128), Residual(128, 2), Residual(256)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 1000)]
    return _open_batch(nn.Sequential(*stem, *body, *head), 8, 3, 224, 224)


def mobile_network() -> Subject:
    body = [Separable(24, stride) for stride in (1, 2, 1, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 1000)]
    return Subject(nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), *body, *head), _image(8, 3, 224, 224))


def language_model() -> Subject:
    length = torch.export.Dim("length", min=2, max=256)
    one, other = (torch.randint(0, 1000, (4, size)) for size in (128, 37))
    return Subject(Language(), (one,), ({1: length},), (other,))


def language_model_half() -> Subject:
    return Subject(Language().half(), (torch.randint(0, 1000, (4, 128)),), tolerance=2e-2)


def language_model_bfloat16() -> Subject:
    return Subject(Language().bfloat16(), (torch.randint(0, 1000, (4, 128)),), tolerance=1e-1)


def vision_transformer() -> Subject:
    return Subject(Patches(), _image(4, 3, 224, 224))


def hourglass() -> Subject:
    return Subject(Hourglass(), _image(2, 3, 128, 128))


def recurrent_network() -> Subject:
    return Subject(Recurrent(), _image(8, 24, 32))


def recommender() -> Subject:
    return Subject(Recommender(), (torch.randn(64, 13), torch.randint(0, 1000, (4, 64, 5))))


def choice() -> Subject:
    return Subject(Choice(), (torch.rand(5000), torch.randint(0, 16, (5000,))))


MODELS: dict[str, Callable[[], Subject]] = {
    make.__name__: make
    for make in (
        perceptron,
        residual_network,
        mobile_network,
        language_model,
        language_model_half,
        language_model_bfloat16,
        vision_transformer,
        hourglass,
        recurrent_network,
        recommender,
        choice,
    )
}

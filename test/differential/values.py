"""Values that models rarely see and users sometimes feed: of every kind that a type has, and mixtures."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

NAMES = ("ordinary", "ties", "zeros", "sprinkled", "hostile", "huge", "tiny", "alike")


def hostile(dtype: torch.dtype) -> list[float | int | bool]:
    if dtype == torch.bool:
        return [False, True]
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return [info.min, info.max, info.min + 1, info.max - 1, 0, 1, max(info.min, -1), 2, info.max // 2]
    info = torch.finfo(dtype)
    largest, least = info.max, info.smallest_normal
    values = [float("nan"), float("inf"), 0.0, least, least / 4, least * info.eps, largest, largest / 2, 1 / info.eps, 0.5, 2.5, 1.0]
    values += [1e20, 1e10, 1e-20] if largest > 1e20 else [1e4, 1e-4]
    return values + [-value for value in values]


def fill(dtype: torch.dtype, shape: Sequence[int], kind: str, r: random.Random) -> torch.Tensor:
    """A tensor of `kind`, one of NAMES."""
    g = torch.Generator().manual_seed(r.getrandbits(60))
    wild = torch.tensor(hostile(dtype), dtype=dtype)
    chosen = wild[torch.randint(len(wild), shape, generator=g)]
    if dtype == torch.bool:
        return torch.zeros(shape, dtype=dtype) if kind in ("zeros", "alike") else chosen
    if not dtype.is_floating_point:
        ordinary = torch.randint(-9 if dtype.is_signed else 0, 10, shape, generator=g).to(dtype)
    else:
        ordinary = (torch.randn(shape, generator=g, dtype=torch.float64) * r.choice([1, 1, 3])).to(dtype)
    scale = lambda low, high: (ordinary.double() * 10 ** r.uniform(low, high)).to(dtype)  # noqa: E731
    limits = torch.finfo(dtype) if dtype.is_floating_point else None
    if kind == "hostile":
        return chosen
    if kind == "sprinkled":
        return torch.where(torch.rand(shape, generator=g) < r.choice([0.02, 0.2]), chosen, ordinary)
    if kind == "ties":
        return ordinary.round().clamp(0 if not dtype.is_signed else -2, 2)
    if kind == "zeros":
        return torch.where(torch.rand(shape, generator=g) < 0.5, torch.zeros((), dtype=dtype), -torch.zeros((), dtype=dtype))
    if kind == "alike":
        return torch.full(shape, wild[r.randrange(len(wild))].item(), dtype=dtype)
    if kind == "huge" and limits:
        return scale(4, 20 if limits.max > 1e20 else 4)
    if kind == "tiny" and limits:
        return scale(-40 if limits.max > 1e20 else -7, -4)
    return ordinary

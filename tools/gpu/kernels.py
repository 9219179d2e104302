"""Functions that do little but move memory, of which the largest tensor has some bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional as F

ROW = 4096  # elements


@dataclass
class Kernel:
    function: Callable[..., torch.Tensor]
    inputs: tuple[tuple[int, ...], ...]
    dtype: torch.dtype = torch.float32


def _rows(count: int) -> tuple[int, int]:
    return (max(count // ROW, 1), ROW)


def _square(count: int) -> tuple[int, int]:
    return (math.isqrt(count),) * 2


# Each by the bytes of its largest tensor, about.
KERNELS: dict[str, Callable[[int], Kernel]] = {
    "relu": lambda size: Kernel(torch.relu, (_rows(size // 4),)),
    "add": lambda size: Kernel(torch.add, (_rows(size // 4),) * 2),
    "cat": lambda size: Kernel(lambda a, b: torch.cat([a, b], 1), ((_rows(size // 4)[0], ROW // 2),) * 2),
    "softmax": lambda size: Kernel(lambda a: torch.softmax(a, -1), (_rows(size // 4),)),
    "layer norm": lambda size: Kernel(
        lambda a, w, b: F.layer_norm(a, (ROW,), w, b), (_rows(size // 4), (ROW,), (ROW,))
    ),
    "transpose": lambda size: Kernel(lambda a: a.t().contiguous(), (_square(size // 4),)),
    "row sums": lambda size: Kernel(lambda a: a.sum(1), (_rows(size // 4),)),
    "column sums": lambda size: Kernel(lambda a: a.sum(0), (_rows(size // 4),)),
    "gelu, float16": lambda size: Kernel(F.gelu, (_rows(size // 2),), torch.float16),
}

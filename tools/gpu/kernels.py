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


def make(name: str, size: int) -> Kernel:
    """`size`: bytes of the largest tensor, about."""
    floats, halves = size // 4, size // 2
    rows = _rows(floats)
    kernels: dict[str, Callable[[], Kernel]] = {
        "relu": lambda: Kernel(torch.relu, (rows,)),
        "add": lambda: Kernel(torch.add, (rows, rows)),
        "cat": lambda: Kernel(lambda a, b: torch.cat([a, b], 1), ((rows[0], ROW // 2),) * 2),
        "softmax": lambda: Kernel(lambda a: torch.softmax(a, -1), (rows,)),
        "layer norm": lambda: Kernel(lambda a, w, b: F.layer_norm(a, (ROW,), w, b), (rows, (ROW,), (ROW,))),
        "transpose": lambda: Kernel(lambda a: a.t().contiguous(), (_square(floats),)),
        "row sums": lambda: Kernel(lambda a: a.sum(1), (rows,)),
        "column sums": lambda: Kernel(lambda a: a.sum(0), (rows,)),
        "gelu, float16": lambda: Kernel(F.gelu, (_rows(halves),), torch.float16),
    }
    return kernels[name]()


NAMES = ["relu", "add", "cat", "softmax", "layer norm", "transpose", "row sums", "column sums", "gelu, float16"]

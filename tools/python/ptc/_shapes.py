"""What a message about a tensor of a wrong shape says beyond its first wrong dimension."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

_ABOUT = re.compile(r"input '.*' \((\d+)\): (?:has \d+ dimensions|dimension \d+ has size)", re.S)
_MOST = 6  # dimensions whose orders are tried


def wrong_input(message: str) -> int | None:
    """Which input the message finds of a wrong shape."""
    found = _ABOUT.match(message)
    return int(found[1]) if found else None


def describe_shapes(given: Sequence[int], wanted: Sequence[Any]) -> str:
    """Both shapes, and what may have happened; `wanted`: a `Dim` each."""
    text = f"its shape is {list(given)}, the model takes [{', '.join(dim.text for dim in wanted)}]"
    if _fits(given, wanted) or len(given) != len(wanted) or len(given) > _MOST:
        return text
    for order in itertools.permutations(range(len(given))):
        if _fits([given[axis] for axis in order], wanted):
            return f"{text} ({_name(order)}? transpose{order} fits)"
    return text


def _fits(given: Sequence[int], wanted: Sequence[Any]) -> bool:
    ranges = ((dim.min, size if dim.max is None else dim.max) for size, dim in zip(given, wanted))
    return len(given) == len(wanted) and all(low <= size <= high for size, (low, high) in zip(given, ranges))


def _name(order: tuple[int, ...]) -> str:
    rank = len(order)
    for batch in (0, 1):  # how many dimensions are before the channels
        before, others = tuple(range(batch)), tuple(range(batch, rank - 1))
        if len(others) > 1 and order == (*before, rank - 1, *others):
            return "channels last"
        if len(others) > 1 and order == (*before, *(axis + 1 for axis in others), batch):
            return "channels first"
    return "transposed"

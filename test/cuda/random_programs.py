"""The programs that `random_prims --save` writes: their calls, and what each call may answer.

The bounds know what a GPU's functions lose (test/random/Noise.cpp): where erf or tanh is rounded to 16 bits and the
exact value is near the middle of two of these numbers, both are right, and so is what the program makes of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
# Classes of elements, as test/random/Expect.h has them.
NAN, INFINITY, MINUS_INFINITY, FINITE, ZERO, MINUS_ZERO = (1 << bit for bit in range(6))
SLACK = 3  # of the width of a span, on both sides


def read_tensors(path: Path) -> list[Tensor]:
    """A safetensors file's tensors, which are named by position. (The package safetensors may not be there.)"""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:start]).items() if name != "__metadata__"}
    tensors = []
    for position in range(len(entries)):
        entry = entries[str(position)]
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[start + begin : start + end]) or bytearray(16), dtype=torch.uint8)
        values = values.view(DTYPES[entry["dtype"]])
        tensors.append((values if end > begin else values[:0]).reshape(entry["shape"]))
    return tensors


def programs(folder: Path) -> list[Path]:
    """The paths of all programs, without a suffix, by seed."""
    return sorted((path.with_suffix("") for path in folder.glob("*.mlir")), key=lambda path: int(path.name[5:]))


def calls(base: Path) -> Iterator[tuple[list[Tensor], list[list[Tensor]], Path]]:
    """The inputs of each call, the bounds of each of its outputs, and the inputs' file."""
    for index in range(len(list(base.parent.glob(f"{base.name}.call*.safetensors")))):
        inputs = Path(f"{base}.call{index}.safetensors")
        bounds = read_tensors(Path(f"{base}.expect{index}.safetensors"))
        yield read_tensors(inputs), [bounds[first : first + 3] for first in range(0, len(bounds), 3)], inputs


def classes_of(x: Tensor) -> Tensor:
    zero = torch.where(torch.signbit(x), MINUS_ZERO, ZERO)
    finite = FINITE + torch.where(x == 0, zero, 0)
    infinite = torch.where(x > 0, INFINITY, MINUS_INFINITY)
    return torch.where(x.isnan(), NAN, torch.where(x.isinf(), infinite, finite))


def fits(answer: Tensor, low: Tensor, high: Tensor, seen: Tensor) -> Tensor:
    """Of each element whether runs of the reference explain it: Span::compare of test/random."""
    if not answer.dtype.is_floating_point:
        answer = answer.to(torch.int64)
        return (low != high) | (answer == low)
    seen, kinds = seen.to(torch.int64), seen & (NAN | INFINITY | MINUS_INFINITY | FINITE)
    x = answer.double()
    found, slack = classes_of(x), SLACK * (high - low)
    edge = torch.where(x > 0, high + slack, low - slack).to(answer.dtype).double()
    zeros = (low == 0) & (high == 0) & (x == 0)
    inside = torch.where(zeros, seen & found & (ZERO | MINUS_ZERO) != 0, (low - slack <= x) & (x <= high + slack))
    finite = torch.where(x.isinf(), edge == x, inside)
    one = (kinds & (kinds - 1)) == 0  # else the runs disagree about what kind of number it is
    return ~one | torch.where(seen & FINITE != 0, finite, seen & found != 0)


def difference(answer: Tensor, bounds: list[Tensor]) -> str:
    """What is wrong with an output; nothing where all is well."""
    low, high, seen = bounds
    if answer.shape != low.shape:
        return f"another shape: {list(answer.shape)}, not {list(low.shape)}"
    wrong = ~fits(answer, low, high, seen)
    if not wrong.any():
        return ""
    first = int(wrong.flatten().nonzero()[0])
    value, least, most = (x.flatten()[first].item() for x in (answer, low, high))
    return f"{int(wrong.sum())} of {answer.numel()} elements, first element {first} is {value}, not {least} ... {most}"

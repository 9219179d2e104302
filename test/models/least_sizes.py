"""Functions of tensors whose sizes are open, at all sizes from 0 on: what eager PyTorch refuses, a call refuses, and nothing else
but for a condition that it names.

least_sizes.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from harness import Failed, check_rows
from harness import ptc as run_ptc
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402

EXAMPLE = {"n": 7, "a": 8, "b": 9}


class Function(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@dataclass
class Row:
    """A function of a tensor, whose sizes are numbers or open by a name, at all sizes up to `most`."""

    name: str
    function: Callable
    shape: tuple
    most: int = 3


def ones(*shape: int) -> Tensor:
    return torch.ones(shape)


def checked(x: Tensor) -> Tensor:
    torch._check((x.shape[0] % 2 == 0) | (x.shape[0] * 3 / 4 > 3))
    return x + 1


ROWS = [
    Row("check.either", checked, ("n",), 6),
    *(Row(f"convolution.{len(k)}.{p}", lambda x, k=k, p=p, s=s, f=f: f(x, ones(2, 3, *k), padding=p, stride=s), ("n", 3, "a", *rest), 3)
      for k, f, rest in (((3,), F.conv1d, ()), ((3, 2), F.conv2d, ("b",)), ((3, 1, 2), F.conv3d, (2, "b")))
      for p, s in ((0, 1), (1, 2), ("same", 1))),
    Row("convolution.dilated", lambda x: F.conv2d(x, ones(2, 3, 2, 2), padding=1, dilation=(3, 1)), ("n", 3, "a", "b")),
    Row("convolution.depthwise", lambda x: F.conv2d(x, ones(3, 1, 3, 3), padding=1, groups=3), ("n", 3, "a", "b"), 2),
    Row("convolution.of-one", lambda x: F.conv1d(x, ones(2, 3, 3), padding=1), (3, "a")),
    Row("transposed.1", lambda x: F.conv_transpose1d(x, ones(3, 2, 2), padding=1), ("n", 3, "a"), 4),
    Row("transposed.1.wide", lambda x: F.conv_transpose1d(x, ones(3, 2, 3), padding=2, stride=2, output_padding=1), ("n", 3, "a")),
    Row("transposed.2", lambda x: F.conv_transpose2d(x, ones(3, 2, 1, 2), padding=(1, 0)), ("n", 3, "a", "b")),
    Row("max_pool", lambda x: F.max_pool2d(x, 5), ("n", 2, "a", "b"), 6),
    Row("max_pool.ceil", lambda x: F.max_pool1d(x.unsqueeze(1), 4, 2, 1, ceil_mode=True), ("n", "a"), 6),
    Row("max_pool.dilated", lambda x: F.max_pool2d(x, 3, 1, 1, dilation=2), (2, 2, "a", "b"), 4),
    Row("avg_pool", lambda x: F.avg_pool2d(x, 5, padding=1), ("n", 2, "a", "b"), 6),
    Row("avg_pool.ceil", lambda x: F.avg_pool1d(x, 4, 3, ceil_mode=True), ("n", 2, "a"), 6),
    Row("adaptive.3", lambda x: F.adaptive_avg_pool3d(x, 2), (2, "n", "a", 4, 4)),
    Row("unfold", lambda x: F.unfold(x, (4, 2), padding=1), ("n", 2, "a", "b"), 4),
    Row("windows", lambda x: x.unfold(1, 3, 2), ("n", "a"), 5),
    Row("diagonal.of-one", lambda x: x[:1].diagonal(), ("n", "a")),
    Row("diagonal.of-a-part", lambda x: (x @ x).chunk(2, 0)[-1].diagonal(), (2, "a", "a")),
    Row("product-of-pairs", lambda x: torch.stack([x, x], -2) @ x, ("a", "a", "a"), 4),
    Row("rest", lambda x: x.reshape(x.shape[0], -1), ("n", "a", 3)),
    Row("rest.of-two", lambda x: x.view(x.shape[0] * x.shape[1], -1), ("n", "a", 3)),
    Row("quotient", lambda x: x * (x.shape[0] // x.shape[1]), ("n", "a")),
    Row("quotient.size", lambda x: x.new_ones(x.shape[0] // x.shape[1] + 2), ("n", "a")),
    Row("quotient.real", lambda x: x * (x.shape[0] / x.shape[1]), ("n", "a")),
    Row("remainder", lambda x: x * (x.shape[0] % x.shape[1]), ("n", "a")),
]  # fmt: skip


def export(row: Row, open_sizes: list[str]) -> torch.export.ExportedProgram:
    example = ones(*(EXAMPLE.get(size, size) for size in row.shape))
    for dims in ({name: Dim(name, min=0, max=16) for name in open_sizes}, dict.fromkeys(open_sizes, Dim.AUTO)):
        dynamic = ({i: dims[size] for i, size in enumerate(row.shape) if size in dims},)
        try:
            return torch.export.export(Function(row.function), (example,), dynamic_shapes=dynamic)
        except Exception as error:  # not for sizes down to 0
            refused = error
    raise Failed(f"export: {refused}")


def answer(function: Callable, *args: Tensor) -> list[Tensor] | Exception:
    try:
        return tree_leaves(function(*args))
    except Exception as error:  # whatever it raises, it refuses
        return error


def check(program: Path, row: Row, folder: Path) -> None:
    open_sizes = list(dict.fromkeys(size for size in row.shape if isinstance(size, str)))
    exported = export(row, open_sizes)
    torch.export.save(exported, folder / "model.pt2")
    run_ptc(program, "compile", folder / "model.pt2", "-o", folder / "model.so")
    model = ptc.load(folder / "model.so")
    for values in itertools.product(range(row.most + 1), repeat=len(open_sizes)):
        sizes = dict(zip(open_sizes, values))
        x = torch.rand([sizes.get(size, size) for size in row.shape])
        expected, got = answer(row.function, x), answer(model, x)
        if isinstance(got, Exception):
            words = ("break a condition", "allowed: ", "was compiled for")
            if not isinstance(got, ptc.Error) or not any(word in str(got) for word in words):
                raise Failed(f"{sizes}: {got}")
            continue
        if isinstance(expected, Exception):
            # The exporter may have seen what eager mode does not.
            with contextlib.redirect_stderr(io.StringIO()):
                replayed = answer(exported.module(), x)
            if isinstance(replayed, Exception):
                raise Failed(f"{sizes}: answers, where eager mode says: {str(expected).splitlines()[0]}")
            continue
        for a, b in zip([torch.from_dlpack(t) for t in got], expected, strict=True):
            torch.testing.assert_close(a, b, msg=lambda why: f"{sizes}: {why}")


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[3:]))

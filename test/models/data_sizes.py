"""Sizes that data decide, where the exported program says what they are: a call whose data say otherwise is refused.

python test/models/data_sizes.py PTC
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from harness import Failed, check_rows, compare, ptc
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves


class Function(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


@dataclass
class Row:
    """A function, arguments that it takes, and others that it must refuse with these words, at a call or (`compile`)
    when it is compiled."""

    name: str
    function: Callable
    takes: list[tuple]
    refuses: list[tuple]
    words: list[str]
    dynamic: object = None
    compile: bool = False


def exactly_three(x: Tensor) -> Tensor:
    places = x.nonzero()
    torch._check(places.shape[0] == 3)
    return places.flatten() * 2


def as_many_as_rows(x: Tensor, y: Tensor) -> Tensor:
    chosen = torch.masked_select(x, x > 0)
    torch._check(chosen.shape[0] == y.shape[0])
    return chosen + y


def known_number(x: Tensor, n: Tensor) -> Tensor:
    k = n.item()
    torch._check(k == 3)
    return x[:k] + 1


def first_rows(x: Tensor, n: Tensor) -> Tensor:
    k = n.item()
    torch._check_is_size(k)
    torch._check(k <= x.shape[0])
    return x[:k] * 2


def between(x: Tensor) -> Tensor:
    places = x.nonzero()
    torch._check(places.shape[0] >= 2)
    torch._check(places.shape[0] <= 4)
    return places + 1


def squeezed(x: Tensor) -> Tensor:
    """The exporter takes it for granted that this leaves out nothing."""
    return x[x > 0].squeeze() * 2


def endless(n: Tensor) -> Tensor:
    k = n.item()
    torch._check_is_size(k)
    return torch.ones(k) * 2


def endless_update(x: Tensor, n: Tensor) -> Tensor:
    x.add_(1)
    return endless(n)


def repeated(x: Tensor, n: Tensor) -> tuple[Tensor, ...]:
    """Sizes that follow from two counts without a bound."""
    return torch.repeat_interleave(x, n, 0) * 2, torch.bincount(n, minlength=3), torch.bincount(n, n), torch.bincount(n, x)


def unread(x: Tensor) -> Tensor:
    """Nobody reads the operation that decides a size."""
    x.add_(1)
    return torch.zeros(x.nonzero().shape[0]) + 2


def middle(x: Tensor) -> tuple[Tensor, ...]:
    """Of nothing there is none, and its place would be before the first element."""
    chosen = x[x.nonzero().squeeze(1)]
    return chosen.median(), chosen.mode()[0]


def parts(x: Tensor) -> tuple[Tensor, ...]:
    """The exporter has a symbol of its own for the size of each slice."""
    chosen = x[x > 0]
    changed = chosen.clone()
    changed[1:].mul_(2)
    return chosen[1:] * 2, chosen[:3] + 1, chosen[:-2] * 3, chosen[1::3] * 4, changed


def put_one(x: Tensor) -> Tensor:
    """The exporter does not compare the sizes of an index and of what is put there: one element goes to all places."""
    chosen = x[x > 0]
    return chosen.index_put((x.to(torch.int64) % chosen.shape[0],), chosen[:1], accumulate=True)


def put_two(x: Tensor) -> Tensor:
    return torch.zeros(2, 3).put(torch.tensor([1, 0]), x[x > 0])


def replace_two(x: Tensor) -> Tensor:
    return torch.zeros(5).slice_scatter(x[x > 0], 0, 1, -2)


def replace_rest(x: Tensor, y: Tensor) -> Tensor:
    return y.slice_scatter(x[x > 0], 0, 1)


def replace_four(x: Tensor, y: Tensor) -> Tensor:
    return y.slice_scatter(x[x > 0], 0, 0, 4)


def replace_every_second(x: Tensor, y: Tensor) -> Tensor:
    return y.slice_scatter(x[x > 0], 0, 1, -1, 2)


def replace_rows(x: Tensor) -> Tensor:
    return torch.zeros(6, 2).slice_scatter(x[x > 0].expand(3, -1), 0, 0, 6, 2)


def replace_row(x: Tensor) -> Tensor:
    return torch.zeros(3, 2).select_scatter(x[x > 0], 0, 1)


def behind_a_roll(x: Tensor) -> Tensor:
    return x.roll(1, -1).reshape(-1).nonzero()


def differences(x: Tensor) -> Tensor:
    return torch.diff(torch.cat([x, x]))


def segments(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.segment_reduce(x, "sum", lengths=lengths, axis=lengths.dim() - 1)


def some_segments(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.segment_reduce(x, "max", lengths=lengths, unsafe=True)


def segments_between(x: Tensor, offsets: Tensor) -> Tensor:
    return torch.segment_reduce(x, "sum", offsets=offsets)


def asserted(x: Tensor, y: Tensor) -> Tensor:
    torch._assert_async((x > 0).all(), "x is above 0")
    torch._assert_async(y.sum(), "y is something")
    return x + y


def asserted_in_branch(x: Tensor) -> Tensor:
    def positive(x: Tensor) -> Tensor:
        torch._assert_async((x < 9).all(), "small")
        return x + 1

    return torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))


def vector(*numbers: float) -> Tensor:
    return torch.tensor(numbers)


def integer(number: int) -> Tensor:
    return torch.tensor(number)


ROWS = [
    Row("a-constant", exactly_three, [(vector(0, 1, 2, 0, 3),), (vector(1, 1, 1, 0, 0),)],
        [(vector(1, 1, 1, 1, 0),), (vector(0, 0, 1, 0, 0),)], ["the data decide a size of "]),
    Row("an-input's-size", as_many_as_rows, [(vector(1, -1, 2), vector(5, 6)), (vector(1, 2, 3), vector(5, 6, 7))],
        [(vector(1, -1, 2), vector(5, 6, 7)), (vector(1, 1, 2), vector(5, 6))], ["the data decide a size of "],
        dynamic=(({0: Dim.AUTO}, {0: Dim.AUTO}),)),
    Row("a-number", known_number, [(torch.arange(5.0), integer(3))], [(torch.arange(5.0), integer(4))],
        ["the data decide a size of 4", "3..3"]),
    Row("a-number-below-a-size", first_rows, [(torch.arange(5.0), integer(2)), (torch.arange(8.0), integer(8))],
        [(torch.arange(5.0), integer(6)), (torch.arange(5.0), integer(-1))], ["the data decide a size of "],
        dynamic=(({0: Dim.AUTO}, {}),)),
    Row("a-range", between, [(vector(0, 1, 2, 0, 0),), (vector(1, 1, 1, 1, 0),)],
        [(vector(1, 1, 1, 1, 1),), (vector(0, 0, 1, 0, 0),)], ["the data decide a size of ", "2..4"]),
    Row("not-one", squeezed, [(vector(1, 2, 0, 3),), (vector(0, 1, 0, 1),)], [(vector(0, 1, 0, 0),)], ["!= 1"]),
    Row("without-a-bound", endless, [(integer(3),), (integer(100_000),), (integer(0),)], [(integer(-1),)],
        ["the data decide a size of -1"]),
    Row("asserted", asserted, [(vector(1, 2), vector(3, 4)), (vector(1, 2), vector(-3, 4))],
        [(vector(1, 0), vector(3, 4))], ["the assertion 'x is above 0'"]),
    Row("asserted-number", asserted, [(vector(1, 2), vector(3, 4))], [(vector(1, 2), vector(-3, 3))], ["the assertion 'y is something'"]),
    Row("asserted-in-branch", asserted_in_branch, [(vector(1, 2),)], [], ["data are asserted in a branch or a loop"],
        compile=True),
    Row("repeated", repeated, [(vector(1, 2, 3), torch.tensor([2, 0, 1])), (vector(4, 5, 6), torch.tensor([9, 3000, 7000]))],
        [], []),
    Row("parts", parts, [(torch.arange(9.0) + 1,), (vector(-1.0, 2, 3, -4, 5, 6, 7, -8, 9),), (vector(0.0, 1, 0, 2, 0, 0, 0, 0, 0),)], [], []),
    Row("put_one", put_one, [(vector(1, 1, 1, 7),), (vector(3, -1, 5, 0),)], [(vector(-1, 0, -2, 0),)], ["break a condition"]),
    *(Row(function.__name__, function, [(vector(1.0, 0, 2),), (vector(-3.0, 4, 5),)], [(vector(1.0, 2, 3),), (vector(0.0, 0, 1),)],
          ["break a condition"]) for function in (put_two, replace_two, replace_rows, replace_row)),
    *(Row(function.__name__, function, [(vector(*[1.0] * count, 0), torch.zeros(size)) for count, size in takes],
          [(vector(*[1.0] * count, 0), torch.zeros(size)) for count, size in refuses], ["break a condition"],
          dynamic=(({0: Dim.AUTO}, {0: Dim.AUTO}),))
      for function, takes, refuses in [
          (replace_rest, [(3, 4), (7, 8)], [(3, 5), (3, 3)]),
          (replace_four, [(4, 6), (3, 3), (4, 4)], [(5, 6), (4, 3)]),
          (replace_every_second, [(2, 5), (2, 6), (1, 4)], [(2, 4), (2, 7)])]),
    *(Row(name, function, *([(torch.arange(7.0), torch.tensor(one)) for one in given] for given in (takes, refuses)),
          ["index out of range in segment_reduce"])
      for name, function, takes, refuses in [
          ("segments", segments, [[2, 0, 5], [7, 0, 0]], [[2, 0, 4], [2, 0, 6], [4, -1, 4], [-1, 4, 4]]),
          ("some-segments", some_segments, [[2, 0, 5], [2, 1, 1]], [[4, -1, 4], [2, 0, 6]]),
          ("segments-between", segments_between, [[0, 3, 7], [1, 1, 5]], [[0, 5, 3], [0, 3, 8], [-1, 3, 7]])]),
    Row("rows-of-segments", segments, [(torch.arange(14.0).reshape(2, 7), torch.tensor([[2, 5], [7, 0]]))],
        [(torch.arange(14.0).reshape(2, 7), torch.tensor(one)) for one in ([[2, 5], [6, 0]], [[2, 4], [7, 0]])],
        ["index out of range in segment_reduce"]),
    # The condition of a roll is of a symbol that did not count yet when the importer asked for its type.
    Row("behind-a-roll", behind_a_roll, [(torch.arange(12).reshape(3, 4) % 5,), (torch.arange(21).reshape(3, 7) % 2,)], [], [],
        dynamic=(({1: Dim("n", min=0, max=70)},),)),
    Row("differences", differences, [(vector(1.0, 3, 7),), (vector(2.0, 5),)], [(vector(),)], ["break a condition"],
        dynamic=(({0: Dim("n", min=0, max=9)},),)),
    Row("unread", unread, [(vector(1, -1, 2),), (vector(-1, -1, 4),)], [], []),
    # An element before the first is outside of the memory that so many have.
    Row("the-middle-of-nothing", middle, [(torch.arange(140_000, dtype=torch.int16) % 7,)], [(torch.zeros(140_000, dtype=torch.int16),)],
        ["break a condition"]),
    Row("without-a-bound-and-with-an-update", endless_update, [(vector(1, 2), integer(3))], [],
        ["data_sizes.py:", "no upper bound", "torch._check"], compile=True),
]  # fmt: skip


def refused(*command: object) -> str:
    """The error; Failed where there is none."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
    if done.returncode != 1:
        raise Failed(f"exit {done.returncode} instead of 1: {done.stderr.strip()[:300]}")
    return done.stderr


def expect(words: list[str], error: str) -> None:
    if missing := [word for word in words if word not in error]:
        raise Failed(f"{missing} not in: {error.strip()[:300]}")


def check(program: Path, row: Row, folder: Path) -> None:
    module, model, library = Function(row.function), folder / "model.pt2", folder / "model.so"
    exported = torch.export.export(module, row.takes[0], dynamic_shapes=row.dynamic, strict=False)
    torch.export.save(exported, model)
    if row.compile:
        return expect(row.words, refused(program, "compile", model, "-o", library))
    ptc(program, "compile", model, "-o", library)
    files = ["--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"]
    for args in [*row.takes, *row.refuses]:
        save_file({str(i): value for i, value in enumerate(args)}, folder / "in.safetensors")
        if any(args is given for given in row.refuses):
            expect(row.words, refused(program, "run", library, *files))
        else:
            ptc(program, "run", library, *files)
            answers = load_file(folder / "out.safetensors")
            for i, expected in enumerate(tree_leaves(module(*args))):
                compare(i, answers[str(i)], expected, 0)


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[2:]))

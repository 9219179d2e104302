"""What a row is, and how rows are compiled and compared."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch.utils._pytree import tree_leaves

LONGEST = 600  # seconds for one process
Make = Callable[[torch.Generator], torch.Tensor]


@dataclass
class Row:
    """One operator with the inputs it is tried on; numbers and lists are part of FUNCTION."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Make, ...]
    dynamic: tuple[dict[int, Any] | None, ...] | None = None
    other: tuple[Make, ...] | None = None  # inputs of other sizes, for dynamic rows
    tolerance: tuple[float, float] | None = None
    of_these_sizes: bool = False  # other sizes are another matter: the row is not tried with symbolic ones


def op(name: str, function: Callable[..., Any], *inputs: Make, **options: Any) -> Row:
    return Row(name, function, inputs, **options)


# Inputs. Each call of the maker gives fresh numbers.


def x(*shape: int, dtype: torch.dtype = torch.float32, low: float = -3, high: float = 3) -> Make:
    """Uniform between low and high."""

    def make(random: torch.Generator) -> torch.Tensor:
        values = torch.rand(shape, generator=random, dtype=torch.float64) * (high - low) + low
        return (values > (low + high) / 2) if dtype == torch.bool else values.to(dtype)

    return make


def ints(*shape: int, low: int = -5, high: int = 5, dtype: torch.dtype = torch.int64) -> Make:
    return lambda random: torch.randint(low, high, shape, generator=random).to(dtype)


def bools(*shape: int) -> Make:
    return x(*shape, dtype=torch.bool)


def special(*shape: int) -> Make:
    """NaN, infinities, both zeros and ordinary numbers, in random places."""
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e30, -1e-30])
    return lambda random: values[torch.randint(0, len(values), shape, generator=random)]


def permutation(n: int) -> Make:
    return lambda random: torch.randperm(n, generator=random)


class Together(torch.nn.Module):
    """Rows as one program: the inputs and the outputs one after the other."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self.rows = list(rows)

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        outputs, at = [], 0
        for row in self.rows:
            outputs += tree_leaves(row.function(*tensors[at : at + len(row.inputs)]))
            at += len(row.inputs)
        return outputs


def run_rows(ptc: str, rows: Sequence[Row], options: Sequence[str] = ()) -> dict[str, str]:
    """Failures by name, with options of `ptc compile`. Rows that fail together are tried each alone."""
    static = [row for row in rows if row.dynamic is None]
    failures: dict[str, str] = {}
    if len(static) > 1 and run(ptc, static, options) is not None:
        failures = {row.name: why for row in static if (why := run(ptc, [row], options)) is not None}
    elif len(static) == 1 and (why := run(ptc, static, options)) is not None:
        failures = {static[0].name: why}
    for row in rows:
        if row.dynamic is not None and (why := run(ptc, [row], options)) is not None:
            failures[row.name] = why
    return failures


def run(ptc: str, rows: Sequence[Row], options: Sequence[str]) -> str | None:
    """Why the rows fail, None when they do not."""
    random = torch.Generator().manual_seed(sum(map(ord, rows[0].name)))
    program = Together(rows)
    example = [make(random) for row in rows for make in row.inputs]
    dynamic = rows[0].dynamic
    try:
        exported = torch.export.export(program, tuple(example), dynamic_shapes=(dynamic,) if dynamic else None)
    except Exception as error:  # whatever the exporter raises is the answer
        return f"export: {str(error).splitlines()[0]}"
    fresh = [make(random) for row in rows for make in row.inputs]
    other = [make(random) for row in rows for make in row.other or ()]
    with tempfile.TemporaryDirectory() as folder:
        model, library = Path(folder, "model.pt2"), Path(folder, "model.so")
        torch.export.save(exported, model)
        if (why := call([ptc, "compile", str(model), "-o", str(library), *options])) is not None:
            return why
        for tensors in (fresh, other) if other else (fresh,):
            if (why := compare(ptc, library, program, tensors, rows)) is not None:
                return why
    return None


def compare(ptc: str, library: Path, program: Together, tensors: list[torch.Tensor], rows: Sequence[Row]) -> str | None:
    inputs, results = library.with_name("in.safetensors"), library.with_name("out.safetensors")
    safetensors.torch.save_file({str(i): t.contiguous() for i, t in enumerate(tensors)}, inputs)
    if (why := call([ptc, "run", str(library), "--inputs", str(inputs), "--outputs", str(results)])) is not None:
        return why
    actual = safetensors.torch.load_file(results)
    expected = program(*tensors)
    if len(actual) != len(expected):
        return f"{len(actual)} results, not {len(expected)}"
    tolerance = rows[0].tolerance if len(rows) == 1 else max((r.tolerance for r in rows if r.tolerance), default=None)
    for i, want in enumerate(expected):
        got, want = actual[str(i)], torch.as_tensor(want, dtype=torch.float64 if isinstance(want, float) else None)
        # PyTorch's own defaults for the type, a little wider where sums are long.
        wide = {"rtol": 1e-4, "atol": 2e-5} if want.dtype == torch.float32 else {}
        wide = {"rtol": tolerance[0], "atol": tolerance[1]} if tolerance and (want.is_floating_point() or want.is_complex()) else wide
        try:
            torch.testing.assert_close(got, want.contiguous(), equal_nan=True, **wide)
        except AssertionError as error:
            return f"result {i}: " + " ".join(str(error).split())
    return None


def call(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"ptc {command[1]} was not done after {LONGEST} s"
    return None if done.returncode == 0 else f"exit {done.returncode}: {done.stderr.strip()[:300]}"

"""Makes a random program: steps of the vocabulary, kept where eager mode takes them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import torch

import values
from program import Program, Spec, Step, run

EXAMPLE = {"n": 11, "m": 13}  # sizes of the example; no other size is one of these
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 24, 32, 33)
DTYPES = [torch.float32] * 24 + [torch.float64] * 4 + [torch.int64] * 4 + [torch.int32] * 2 + [torch.bool] * 2
DTYPES += [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16]
MOST = 4000  # elements of a value of the example


class NoOperand(Exception):
    """No value that the step could take."""


class Generator:
    def __init__(self, seed: int, vocabulary: list[tuple[int, Callable[[Generator], None]]]) -> None:
        self.r = random.Random(seed)
        self.program = Program()
        self.pool: dict[str, torch.Tensor] = {}  # values of the example
        self.vocabulary = vocabulary

    def run(self) -> Program:
        r = self.r
        if r.random() < 0.6:
            for name in list(EXAMPLE)[: r.choice((1, 1, 2))]:
                self.program.symbols[name] = (r.choice((0, 0, 1, 2)), r.choice((16, 40, 70)))
        for _ in range(r.choice((1, 2, 2, 3))):
            self.input()
        weights, steps = zip(*self.vocabulary)
        wanted = r.choice((1, 2, 2, 3, 3, 4, 5, 6, 8, 12))
        for _ in range(60):
            if len(self.program.steps) >= wanted:
                break
            try:
                r.choices(steps, weights)[0](self)
            except NoOperand:
                continue
        used = {name for step in self.program.steps for name in step.operands}
        made = [step.name for step in self.program.steps]
        self.program.outputs = tuple(name for name in made if name not in used or r.random() < 0.1)
        return self.program.without_unused()

    # Values

    def input(self) -> str:
        rank, symbols = self.r.choice((1, 2, 2, 2, 3, 3, 4)), list(self.program.symbols)
        shape = tuple(self.r.choice(symbols) if symbols and self.r.random() < 0.4 else self.r.choice(SIZES) for _ in range(rank))
        if math.prod(EXAMPLE.get(n, n) for n in shape) > MOST:
            shape = shape[:2]
        return self.add_input(Spec(self.r.choice(DTYPES), shape))

    def add_input(self, spec: Spec) -> str:
        name = f"x{len(self.program.inputs)}"
        self.program.inputs[name] = spec
        self.pool[name] = values.fill(spec.dtype, [EXAMPLE.get(n, n) for n in spec.shape], "ordinary", self.r)
        return name

    def weight(self, *shape: int, dtype: torch.dtype = torch.float32) -> str:
        name = f"w{len(self.program.weights)}"
        kind = "ordinary" if self.r.random() < 0.85 else self.r.choice(values.NAMES)
        self.program.weights[name] = values.fill(dtype, shape, kind, self.r)
        self.pool[name] = self.program.weights[name]
        return name

    def pick(self, wanted: Callable[[torch.Tensor], bool]) -> str:
        """One of the values, later ones more often than others."""
        found = [name for name, value in self.pool.items() if wanted(value)]
        if not found:
            raise NoOperand
        return max(self.r.choices(found, k=2), key=found.index) if self.r.random() < 0.7 else self.r.choice(found)

    def any(self, rank: int = 0) -> str:
        return self.pick(lambda v: v.dim() >= rank)

    def floats(self, rank: int = 0, dtype: torch.dtype | None = None) -> str:
        return self.pick(lambda v: v.is_floating_point() and v.dim() >= rank and dtype in (None, v.dtype))

    def integers(self, rank: int = 0) -> str:
        return self.pick(lambda v: not v.is_floating_point() and v.dtype != torch.bool and v.dim() >= rank)

    def bools(self) -> str:
        return self.pick(lambda v: v.dtype == torch.bool)

    def beside(self, name: str, wanted: Callable[[torch.Tensor], bool] = lambda v: True) -> str:
        """A value that broadcasts with `name`'s: one that is there, or an input of some of its sizes."""
        shape = self.pool[name].shape

        def fits(v: torch.Tensor) -> bool:
            return wanted(v) and all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1]))

        symbols = {EXAMPLE[symbol]: symbol for symbol in self.program.symbols}
        if self.r.random() < 0.3 and all(n in SIZES or n in symbols for n in shape):
            kept = shape[self.r.randrange(len(shape) + 1) if self.r.random() < 0.4 else 0 :]
            sizes = tuple(1 if self.r.random() < 0.15 else symbols.get(n, n) for n in kept)
            dtypes = [dtype for dtype in DTYPES if wanted(torch.empty((), dtype=dtype))]
            dtype = self.pool[name].dtype
            return self.add_input(Spec(dtype if dtype in dtypes and self.r.random() < 0.7 else self.r.choice(dtypes), sizes))
        return self.pick(fits)

    def number(self) -> float | int:
        return self.r.choice((0, 1, -1, 2, 3, 7, 0.5, 0.1, 2.7, -1.1, 1e-3, 100.0, -0.0))

    def dim(self, name: str) -> int:
        rank = self.pool[name].dim()
        if rank == 0:
            raise NoOperand
        return self.r.randrange(-rank, rank)

    def dims(self, name: str) -> list[int]:
        rank = self.pool[name].dim()
        return sorted(self.r.sample(range(rank), self.r.randint(1, rank))) if rank else []

    # Steps

    def step(self, text: str, *operands: str, **errors: bool | str) -> str:
        """Adds a step with its kind of `errors`, if eager mode takes it and its result is no larger than it should be."""
        step = Step(f"v{len(self.program.steps)}", text, operands, **errors)
        alone = Program(
            inputs={name: Spec(self.pool[name].dtype, ()) for name in dict.fromkeys(operands)}, steps=[step], outputs=(step.name,)
        )
        try:
            (value,) = run(alone.module(), {name: self.pool[name] for name in alone.inputs})
        except Exception:  # whatever eager mode raises, this is no step
            raise NoOperand from None
        if not isinstance(value, torch.Tensor) or value.numel() > MOST or value.dim() > 6 or value.is_complex():
            raise NoOperand
        self.program.steps.append(step)
        self.pool[step.name] = value
        return step.name

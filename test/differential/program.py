"""A random program: the text of a module's forward, one value a line, and what its inputs look like."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from apart import eagerly

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Step:
    """`text` names operands as {0}, {1}; a statement, which is not only a value, names its result as {out}."""

    name: str
    text: str
    operands: tuple[str, ...]
    exact: bool = False  # no rounding: moves, comparisons, integers
    sums: bool = False  # rounding errors are as large as the operands', not as the result's
    wide: bool = False  # and eager mode may sum in float64 (docs/precision.md)
    logarithm: bool = False  # of a sum: rounding errors are as large as those of 1
    terms: str = ""  # text of a tensor as the result is: rounding errors are as large as those of its elements

    def reads(self, operand: str) -> bool:
        """Whether the operand's elements are used, and not its sizes alone."""
        places = [f"{{{i}}}" for i, name in enumerate(self.operands) if name == operand]
        return any(not rest.startswith((".shape", ".new_ones")) for place in places for rest in self.text.split(place)[1:])


@dataclass(frozen=True)
class Spec:
    """An input: a size is a number or the name of a symbol."""

    dtype: torch.dtype
    shape: tuple[int | str, ...]


@dataclass
class Program:
    inputs: dict[str, Spec] = field(default_factory=dict)
    weights: Tensors = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[str, ...] = ()
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)  # least and most

    def without_unused(self) -> Program:
        needed, steps = set(self.outputs), []
        for step in reversed(self.steps):
            if step.name in needed:
                needed.update(step.operands)
                steps.append(step)
        inputs = {name: spec for name, spec in self.inputs.items() if name in needed}
        used = {size for spec in inputs.values() for size in spec.shape}
        return replace(
            self,
            inputs=inputs,
            weights={name: weight for name, weight in self.weights.items() if name in needed},
            steps=steps[::-1],
            symbols={name: limits for name, limits in self.symbols.items() if name in used},
        )

    def read(self) -> set[str]:
        """The values whose elements reach an output."""
        found = set(self.outputs)
        for step in reversed(self.steps):
            if step.name in found:
                found.update(name for name in step.operands if step.reads(name))
        return found

    def source(self, observed: bool = False) -> str:
        """The module's text; `observed` passes results through `self.see`, and what is summed through `self.near` or `self.wide`."""
        lines = ["class Program(torch.nn.Module):", f"    def forward(self, {', '.join(self.inputs)}):"]
        lines += [f"        {name} = self.{name}" for name in self.weights]
        for step in self.steps:
            look = "self.wide" if step.wide else "self.near" if step.sums else ""
            operands = [f"{look}({name})" if observed and look else name for name in step.operands]
            text = step.text.format(*operands, out=step.name)
            lines.append(f"        {text}" if "{out}" in step.text else f"        {step.name} = {text}")
            if observed and not step.exact:
                terms = [*(step.operands if step.sums else ()), *([f"torch.ones_like({step.name})"] if step.logarithm else ())]
                terms += [step.terms.format(*step.operands)] if step.terms else []
                lines.append(f"        {step.name} = self.see({', '.join([step.name, *terms])})")
        return "\n".join([*lines, f"        return ({', '.join(self.outputs)},)", ""])

    def module(self, observed: bool = False) -> torch.nn.Module:
        names = {"torch": torch, "F": torch.nn.functional, "math": math}
        exec(self.source(observed), names)
        module = names["Program"]()
        for name, weight in self.weights.items():
            module.register_buffer(name, weight)
        return module

    def sizes(self, values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """The inputs' shapes where symbols have `values`."""
        return {name: tuple(values.get(n, n) for n in spec.shape) for name, spec in self.inputs.items()}


def run(module: torch.nn.Module, inputs: Tensors, change: Callable[..., torch.Tensor] | None = None):
    """What eager mode answers to copies of `inputs`; `change` sees the values that rounding reaches, with what they are sums of."""
    if change is not None:
        module.see = module.near = module.wide = change
    with torch.no_grad(), eagerly():
        return module(**{name: tensor.clone() for name, tensor in inputs.items()})

"""Makes a failing program small: fewer outputs, steps, symbols and elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from program import Program, Spec, Tensors, run

Failing = tuple[Program, Tensors]


def candidates(program: Program, inputs: Tensors) -> Iterator[Failing]:
    """Smaller programs that may fail as well, the smallest first."""
    if len(program.outputs) > 1:
        for name in program.outputs:
            yield replace(program, outputs=(name,)).without_unused(), inputs
    every = replace(program, outputs=tuple(step.name for step in program.steps))
    try:
        found = dict(zip(every.outputs, run(every.module(), inputs)))
    except Exception:  # eager mode refuses what ptc does not survive
        found = {}
    for step in program.steps:
        if (step.name,) != program.outputs:
            yield replace(program, outputs=(step.name,)).without_unused(), inputs
    # A step's result as an input.
    for place, step in reversed(list(enumerate(program.steps))):
        if step.name in program.outputs or step.name not in found:
            continue
        value = found[step.name].clone().contiguous()
        spec = Spec(value.dtype, tuple(value.shape))
        smaller = replace(program, inputs={**program.inputs, step.name: spec}, steps=program.steps[:place] + program.steps[place + 1 :])
        yield smaller.without_unused(), {**inputs, step.name: value}
    for symbol in program.symbols:
        sizes = {n: inputs[name].shape[i] for name, spec in program.inputs.items() for i, n in enumerate(spec.shape) if n == symbol}
        fixed = {
            name: Spec(spec.dtype, tuple(sizes.get(n, n) for n in spec.shape)) for name, spec in program.inputs.items()
        }
        yield replace(program, inputs=fixed).without_unused(), inputs
    for name, tensor in inputs.items():
        plain = torch.ones_like(tensor)
        if name in program.inputs and not torch.equal(tensor, plain):
            yield program, {**inputs, name: plain}
            flat = torch.arange(tensor.numel()).reshape(tensor.shape)
            for half in (flat < tensor.numel() // 2, flat >= tensor.numel() // 2, flat % 2 == 0, flat % 2 == 1):
                changed = torch.where(half, plain, tensor)
                if not torch.equal(changed.nan_to_num(7), tensor.nan_to_num(7)):
                    yield program, {**inputs, name: changed}


def shrink(program: Program, inputs: Tensors, fails: Callable[[Program, Tensors], bool], most: int = 150) -> Failing:
    changed = True
    while changed and most > 0:
        changed = False
        for smaller, fewer in candidates(program, inputs):
            most -= 1
            fewer = {name: fewer[name] for name in smaller.inputs}
            if fails(smaller, fewer):
                program, inputs, changed = smaller, fewer, True
                break
            if most <= 0:
                break
    return program, inputs

"""Compiles a program and compares its library with eager mode, each program in a process of its own."""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import ptc
import torch
from torch.export import Dim

import values
from apart import Child, EagerEnded, Ended, eagerly
from compare import FEW, difference, is_near, sums_beyond
from generate import EXAMPLE
from program import Program, Spec, Step, Tensors, run


@dataclass
class Verdict:
    """`why`: the failure, with the program and the inputs that show it."""

    counts: Counter[str] = field(default_factory=Counter)
    why: str | None = None
    program: Program | None = None
    inputs: Tensors | None = None


class Checker:
    def __init__(self, ptc: Path, folder: Path) -> None:
        self.ptc, self.folder = ptc, folder
        self.by_steps: tuple[Program, ptc.Model] | None = None  # the last program that answers every step
        # The first export takes seconds; it is done before processes are forked.
        self.export(Program({"x": Spec(torch.float32, ("n",))}, steps=[Step("y", "{0} + 1", ("x",))], outputs=("y",), symbols={"n": (0, 9)}))

    @staticmethod
    def export(program: Program) -> torch.export.ExportedProgram:
        shapes = program.sizes({name: EXAMPLE[name] for name in program.symbols})
        example = {name: values.fill(program.inputs[name].dtype, shape, "ordinary", random.Random(name)) for name, shape in shapes.items()}
        # A Dim has more than one size.
        named = {name: Dim(name, min=least, max=most) for name, (least, most) in program.symbols.items() if least < most}
        for dims in (named, dict.fromkeys(program.symbols, Dim.AUTO)):
            dynamic = {
                name: {i: dims[n] for i, n in enumerate(spec.shape) if n in dims} or None for name, spec in program.inputs.items()
            }
            try:
                with torch.no_grad():
                    return torch.export.export(program.module(), (), example, dynamic_shapes=dynamic)
            except Exception as error:  # whatever the exporter raises is its answer to these sizes
                refused = error
        raise refused

    def compile(self, exported: torch.export.ExportedProgram, suffix: str = "") -> Path:
        """The library; raises CalledProcessError or TimeoutExpired."""
        model, library = self.folder / f"{os.getpid()}.pt2", self.folder / f"{os.getpid()}{suffix}.so"
        torch.export.save(exported, model)
        try:
            subprocess.run([self.ptc, "compile", model, "-o", library], check=True, capture_output=True, text=True, timeout=300)
        finally:
            model.unlink()
        return library

    def is_right_by_steps(self, program: Program, inputs: Tensors, got: list[torch.Tensor]) -> bool:
        """Whether each step answers what eager mode does to ptc's own operands: then a rounding that is right has met a jump."""
        every = replace(program, outputs=tuple(step.name for step in program.steps))
        try:
            if self.by_steps is None or self.by_steps[0] is not program:
                self.by_steps = (program, ptc.Model(self.compile(self.export(every), "-steps")))
            _, model = self.by_steps
            results = [torch.from_dlpack(t) for t in model(*(inputs[name].clone() for name in every.inputs))]
        except Exception:  # then the results stand as they are
            return False
        found = {**program.weights, **inputs, **dict(zip(every.outputs, results))}
        if not all(found[name].shape == t.shape and is_near(found[name], t).all() for name, t in zip(program.outputs, got)):
            return False
        for step in program.steps:
            operands = {name: found[name] for name in dict.fromkeys(step.operands)}
            specs = {name: Spec(t.dtype, tuple(t.shape)) for name, t in operands.items()}
            alone = Program(inputs=specs, steps=[step], outputs=(step.name,))
            if difference(alone, operands, run(alone.module(), operands), [found[step.name]]) is not None:
                return False
        return True

    def check(self, program: Program, make_calls: Callable[[Program], list[Tensors]]) -> Verdict:
        """Compares the calls that are made for `program`, whose symbols have the ranges that its library says."""
        verdict = Verdict(program=program)
        try:
            exported = self.export(program)
        except Exception:
            verdict.counts["not exportable"] += 1
            return verdict
        try:
            library = self.compile(exported)
        except subprocess.TimeoutExpired:
            verdict.why = "ptc compile: no answer within five minutes"
            return verdict
        except subprocess.CalledProcessError as error:
            line = error.stderr.strip()[:300]
            if error.returncode == 1 and ("not supported" in line or "does not follow from any input" in line):
                verdict.counts["not supported"] += 1
            else:
                verdict.why = f"ptc compile: exit {error.returncode}: {line}"
            return verdict
        model = ptc.Model(library)
        library.unlink()
        program = verdict.program = narrowed(program, model)
        module = program.module()
        order = [str(name) for name in exported.graph_signature.user_inputs]
        for number, inputs in enumerate(make_calls(program)):
            try:
                expected = run(module, inputs)
            except Exception:  # eager mode refuses these sizes: ptc may, and must not crash
                expected = None
            model.threads = 1 + number % 3
            verdict.inputs = inputs
            try:
                got = [torch.from_dlpack(t) for t in model(*(inputs[name].clone() for name in order))]
            except ptc.Error as error:
                # What the exporter takes for granted and eager mode does not need; of an empty input it may be an element.
                is_empty = any(not t.numel() for t in inputs.values()) and "index out of range" in str(error)
                is_condition = "break a condition" in str(error) or not replays(exported, inputs)
                if expected is None or is_empty or is_condition:
                    verdict.counts["calls that both refuse" if expected is None else "calls that the graph's conditions exclude"] += 1
                    continue
                verdict.why = f"call: {error}"
                return verdict
            if expected is None:
                verdict.counts["calls that eager mode refuses"] += 1
                if any(t.numel() and refuses(program, name, inputs) for name, t in zip(program.outputs, got)) and not replays(exported, inputs):
                    verdict.why = "answers what eager mode refuses"
                    return verdict
                continue
            if difference(program, inputs, expected, got, FEW) is None:
                verdict.counts["passed"] += 1
                continue
            if sums_beyond(program, inputs):
                verdict.counts["calls whose sums leave the type"] += 1
                continue
            if (why := difference(program, inputs, expected, got)) is None:
                verdict.counts["passed"] += 1
                continue
            # An export for other sizes may be another program.
            try:
                with torch.no_grad(), eagerly():
                    replayed = exported.module()(**inputs)
            except AssertionError as error:  # a guard of the export
                verdict.why = f"the export refuses the call ({error}), the library differs from the program: {why}"
                return verdict
            if difference(program, inputs, replayed, got) is None:
                verdict.counts["differences that are torch.export's"] += 1
                continue
            if self.is_right_by_steps(program, inputs, got):
                verdict.counts["calls that roundings decide"] += 1
                continue
            verdict.why = why
            return verdict
        return verdict


def narrowed(program: Program, model: ptc.Model) -> Program:
    """The program with the sizes that the exported one is for: other ones may be another program."""
    symbols = dict(program.symbols)
    infos = {info.name: info.shape for info in model.inputs}
    for name, spec in program.inputs.items():
        for size, dim in zip(spec.shape, infos[name]):
            if size in symbols:
                least, most = symbols[size]
                symbols[size] = (max(least, dim.min), most if dim.max is None else min(most, dim.max))
    return replace(program, symbols=symbols)


def refuses(program: Program, output: str, inputs: Tensors) -> bool:
    """Whether eager mode refuses a step whose elements `output` is made of: ptc computes no others (docs/c-abi.md).

    A division of integers by zero does not count, which is 0 (docs/codegen-cpu.md).
    """
    program = replace(program, outputs=(output,)).without_unused()
    read, unknown = program.read(), set()
    for step in program.steps:
        alone = replace(program, outputs=(step.name,)).without_unused()
        try:
            if unknown.isdisjoint(step.operands):
                run(alone.module(), {name: inputs[name] for name in alone.inputs})
                continue
        except Exception as error:
            if step.name in read and "ZeroDivisionError" not in str(error):
                return True
        unknown.add(step.name)
    return False


def replays(exported: torch.export.ExportedProgram, inputs: Tensors) -> bool:
    try:
        with torch.no_grad(), eagerly():
            exported.module()(**inputs)
    except Exception:
        return False
    return True


def collect(child: Child, status: int | None = None) -> Verdict:
    """What a process found out."""
    try:
        return child.answer(status)
    except EagerEnded:
        return Verdict(Counter({"modules that end eager mode": 1}))
    except Ended as end:
        return Verdict(why=str(end))

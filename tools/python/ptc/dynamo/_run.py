"""Calls of a compiled graph with torch's tensors: descriptors are filled in place, no element is copied."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import make_contiguous_strides_for
from torch.utils._sympy.printers import PythonPrinter

from .. import _abi as abi
from .._arrays import arrays_of
from .._cuda import CudaModel
from .._model import Model
from .._tensor import Tensor, exchange
from ._graph import Graph, Output, Refused

_fill = exchange(torch.Tensor)


class _Frame:
    """The descriptors of one call's tensors; calls at the same time have one each."""

    def __init__(self, inputs: list[Any], output_count: int) -> None:
        count = len(inputs) + output_count
        self._tensors = (abi.DLTensor * count)()
        addresses = [ctypes.addressof(tensor) for tensor in self._tensors]
        self.input_pointers = abi.pointer_array(addresses[: len(inputs)])
        self.output_pointers = abi.pointer_array(addresses[len(inputs) :])
        # Where the descriptors of tensors are filled in, and the numbers that others describe.
        self.inputs: list[Any] = addresses[: len(inputs)]
        self.outputs = addresses[len(inputs) :]
        for index, value in enumerate(inputs):
            if not isinstance(value, torch.Tensor):
                self.inputs[index] = number = ctypes.c_int64()
                self._tensors[index] = abi.DLTensor(
                    data=ctypes.addressof(number), device=abi.Device(1, 0), dtype=abi.DataType(0, 64, 1)
                )


class Runner:
    """A compiled graph as AOTAutograd calls it: with a list of arguments, which it empties."""

    def __init__(self, graph: Graph, model: Model | None, trains: bool) -> None:
        self._boxed_call = True  # of the instance: Dynamo's wrapper of a backward graph copies no more
        self._graph = graph
        self._model = model
        self._trains = trains
        if model is None:
            return
        if len(model.inputs) != len(graph.inputs) or len(model.outputs) != len(graph.results):
            raise Refused(f"the library has other inputs and outputs than the graph: {model!r}")
        self._conjugated = [
            index
            for index, fake in zip(graph.inputs, graph.fakes)
            if isinstance(fake, torch.Tensor) and (fake.is_conj() or fake.is_neg())
        ]
        self._allocate = _allocator(graph, model)
        self._frames: list[_Frame] = [self._frame()]
        self._is_random = any(state.name == "ptc.random" for state in model.states)
        self._lock = threading.Lock()

    def __call__(self, arguments: list[Any]) -> list[Any]:
        results = self._compute(arguments) if self._model is not None else []
        for expected in self._graph.expected:
            number = self._value(expected.tensor, arguments, results, ()).item()
            if number != expected.number:
                raise RuntimeError(f"{expected.where}: the data say {number}, where the program says {expected.number}")
        views: tuple[torch.Tensor, ...] = ()
        if self._graph.make_views is not None:
            views = self._graph.make_views(*(self._value(base, arguments, results, ()) for base in self._graph.bases))
        values = [self._value(output, arguments, results, views) for output in self._graph.outputs]
        arguments.clear()
        return values

    @staticmethod
    def _value(output: Output, arguments: list[Any], results: list[Any], views: tuple[Any, ...]) -> Any:
        if output.kind == "result":
            return results[output.index].item() if output.is_number else results[output.index]
        if output.kind == "constant":
            return output.constant
        return (arguments if output.kind == "argument" else views)[output.index]

    def _frame(self) -> _Frame:
        return _Frame(self._graph.fakes, len(self._graph.results))

    def _compute(self, arguments: list[Any]) -> list[torch.Tensor]:
        for index in self._conjugated:
            arguments[index] = arguments[index].resolve_conj().resolve_neg()
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._frame()
        for index, place in zip(self._graph.inputs, frame.inputs):
            if type(place) is int:
                _fill(arguments[index], place)
            else:
                place.value = arguments[index]
        if self._is_random:
            # The draws of a call are decided by torch's generator, and so by torch.manual_seed.
            with self._lock:
                self._model.seed(self._draw_seed())
                results = self._call(frame, arguments)
        else:
            results = self._call(frame, arguments)
        self._frames.append(frame)
        # With gradients AOTAutograd counts versions itself.
        for index in () if self._trains else self._graph.written:
            if not arguments[index].is_inference():
                torch.autograd.graph.increment_version(arguments[index])
        return results

    def _draw_seed(self) -> int:
        return int(torch.randint(0, 2**63 - 1, ()))

    def _call(self, frame: _Frame, arguments: list[Any]) -> list[torch.Tensor]:
        model, count = self._model, len(frame.inputs)
        if self._allocate is not None:
            results = self._allocate(arguments)
            for result, address in zip(results, frame.outputs):
                _fill(result, address)
            status = model._api.call(model._context, frame.input_pointers, count, frame.output_pointers, len(results))
            if status:
                model._check(status)
            return results
        made = (ctypes.c_void_p * max(len(frame.outputs), 1))()
        status = model._api.call_new(model._context, frame.input_pointers, count, made, len(frame.outputs))
        model._check(status)
        return [torch.from_dlpack(Tensor(address, model)) for address in made[: len(frame.outputs)]]


class CudaRunner(Runner):
    """The same with tensors on a GPU, in torch's current stream: a call returns before its work is done. It takes and
    leaves memory in the order of that stream, as ptc._arrays says, so that nothing need be kept for longer."""

    _model: CudaModel

    def _draw_seed(self) -> int:
        """The state of a GPU's generator is two numbers on the host. A call takes the place of a draw of four."""
        generator = torch.cuda.default_generators[self._graph.device.index]
        seed, offset = generator.initial_seed(), generator.get_offset()
        generator.set_offset(offset + 4)
        return (seed + offset * 0x9E3779B97F4A7C15) % 2**64

    def _call(self, frame: _Frame, arguments: list[Any]) -> list[torch.Tensor]:
        model, count = self._model, len(frame.inputs)
        arrays, gpu = arrays_of(torch.Tensor), self._graph.device.index
        if self._allocate is None:
            with model.lock:
                model.use_stream(*arrays.stream(gpu))
                made = model.call_new(arrays, frame.input_pointers)
            fakes = [output.fake for output in self._graph.results]
            return [value if fake is None else value.to(fake.device) for value, fake in zip(made, fakes)]
        results = self._allocate(arguments)
        for result, address in zip(results, frame.outputs):
            _fill(result, address)
        with model.lock:
            model.use_stream(*arrays.stream(gpu))
            status = model._api.call(model._context, frame.input_pointers, count, frame.output_pointers, len(results))
        if status:
            model._check(status)
        return results


def _allocator(graph: Graph, model: Model) -> Callable[[list[Any]], list[torch.Tensor]] | None:
    """A function that makes the results' tensors, with eager's strides, from the arguments' sizes.

    None where data decide a size: then the library makes them.
    """
    printer = PythonPrinter()
    known: dict[Any, str] = {}
    for index, fake in zip(graph.inputs, graph.fakes):
        if isinstance(fake, torch.SymInt):
            known.setdefault(fake.node.expr, f"arguments[{index}]")
        elif isinstance(fake, torch.Tensor):
            for axis, size in enumerate(fake.shape):
                if isinstance(size, torch.SymInt):
                    known.setdefault(size.node.expr, f"arguments[{index}].shape[{axis}]")
    used: set[Any] = set()

    def write(value: Any) -> str:
        if isinstance(value, torch.SymInt):
            used.update(value.node.expr.free_symbols)
            return printer.doprint(value.node.expr)
        return str(value)

    lines, names = [], {"empty_strided": torch.empty_strided, "math": math}
    for index, output in enumerate(graph.results):
        fake = output.fake
        if fake is None:
            lines.append("    empty_strided((), (), dtype=int64),")
            names["int64"] = getattr(torch, model.outputs[index].dtype)
            continue
        strides = fake.stride()
        if _overlaps(fake):
            strides = make_contiguous_strides_for(fake.shape)
        sizes, steps = (", ".join(map(write, values)) for values in (fake.shape, strides))
        names[f"type{index}"] = fake.dtype
        where = ""
        if fake.device.type != "cpu":
            names[f"device{index}"] = fake.device
            where = f", device=device{index}"
        lines.append(
            f"    empty_strided(({sizes},), ({steps},), dtype=type{index}{where}),"
            if fake.dim()
            else f"    empty_strided((), (), dtype=type{index}{where}),"
        )
    if not used <= known.keys():
        return None
    heads = [f"  {symbol} = {known[symbol]}" for symbol in sorted(used, key=str)]
    source = "\n".join(["def allocate(arguments):", *heads, "  return [", *lines, "  ]"])
    exec(source, names)
    return names["allocate"]


def _overlaps(fake: torch.Tensor) -> bool:
    """Whether elements share memory, as far as sizes that are known tell: of an expanded or an unfolded tensor."""
    pairs = [(step, size) for step, size in zip(fake.stride(), fake.shape) if not (isinstance(size, int) and size == 1)]
    if not all(isinstance(number, int) for pair in pairs for number in pair):
        return any(isinstance(step, int) and step == 0 for step, _ in pairs)
    reached = 0
    for step, size in sorted(pairs):
        if step <= reached:
            return True
        reached += step * (size - 1)
    return False

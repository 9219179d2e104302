"""A compiled model as a Python object: its signature, calls, states and settings."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _abi as abi
from ._errors import error_for
from ._external import Functions, NumPy, Torch, find_torch_operator
from ._inputs import arrange, is_mapping
from ._library import has, open_library, require
from ._results import Results, name_results, place_of
from ._tensor import Tensor, borrow, dtype_name, view_memory


@dataclass(frozen=True)
class Dim:
    """A size: `text` is "8" or "2*s0 + 1"; `max` is None when unbounded."""

    text: str
    min: int
    max: int | None


@dataclass(frozen=True)
class Symbol:
    """A size that calls choose, with its range; `max` is None when unbounded."""

    name: str
    min: int
    max: int | None


@dataclass(frozen=True)
class TensorInfo:
    """An input, output or state as the model was compiled for it."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    is_written: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(dim.text for dim in self.shape)}]"


@dataclass(frozen=True)
class Memory:
    """Bytes, as ptc_memory has them."""

    weights: int
    states: int
    arena: int
    reserved: int
    peak: int


@dataclass(frozen=True)
class Activity:
    """What calls have used since the model was opened: `threads` is the sum over calls of those that took part."""

    calls: int
    threads: int
    wakeups: int


@dataclass(frozen=True)
class External:
    """A place where the model calls a function of its caller's (docs/fallback.md). Inputs and outputs have no names; an
    output that the model does not need is None. `call`: the operator's arguments."""

    name: str
    source: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo | None, ...]
    call: Mapping[str, Any]


_WAITING = (None, "adaptive", "passive", "active")  # as ptc_waiting counts them


def _describe(tensors: Any, count: int) -> list[TensorInfo]:
    found = []
    for tensor in tensors[:count]:
        dims = tuple(Dim(d.text.decode(), d.min, None if d.max < 0 else d.max) for d in tensor.dims[: tensor.ndim])
        found.append(TensorInfo(tensor.name.decode(), dtype_name(tensor.dtype), dims, bool(tensor.flags & 1)))
    return found


def _describe_external(place: abi.External) -> External:
    needed = [place.outputs[i] for i in range(place.output_count) if place.outputs[i].ndim >= 0]
    described = iter(_describe(needed, len(needed)))
    outputs = (next(described) if place.outputs[i].ndim >= 0 else None for i in range(place.output_count))
    return External(
        place.name.decode(),
        place.source.decode(),
        tuple(_describe(place.inputs, place.input_count)),
        tuple(outputs),
        json.loads(place.call),
    )


def _lend(values: Sequence[Any], kinds: list[tuple[str, str]], pointers: Any, required: int) -> list[Any]:
    """Points to the values, but behind the required ones not to None; what is answered keeps them valid."""
    owners = []
    for index, value in enumerate(values):
        if value is None and index >= required:
            continue
        dtype, written = kinds[index]
        pointers[index], owner = borrow(value, dtype, written)
        owners.append(owner)
    return owners


class Model:
    """A compiled model with a context of its own: states, working memory, number of threads.

    Libraries for training have several entries over the same states: `model.entry("eval")`, or `model.eval`, is a model
    that shares all with this one, which is the first entry.
    """

    def __new__(
        cls,
        path: str | os.PathLike[str],
        threads: int = 0,
        waiting: str | None = None,
        check: bool = False,
        device: Any = None,
    ) -> Model:
        """One for a GPU is a CudaModel."""
        library = open_library(os.fsdecode(path), check, device)
        kind = cls
        if library.is_for_gpu:
            from ._cuda import CudaModel as kind
        model = object.__new__(kind)
        model._api, model._context, model._signature = library.api, library.context, library.signature
        model._owner, model._number = None, 0
        return model

    def __init__(
        self,
        path: str | os.PathLike[str],
        threads: int = 0,
        waiting: str | None = None,
        check: bool = False,
        device: Any = None,
    ) -> None:
        self._functions = Functions()
        self._set_up()
        self.threads = threads
        self._waiting = None
        if waiting is not None:
            self.waiting = waiting

    def _set_up(self) -> None:
        """What is of this entry."""
        signature = self._signature
        self.name = signature.model.decode()
        self.target = signature.target.decode()
        self.device = "cpu"  # or a GPU as "cuda:0"
        # Whose code runs here, as "x86-64-v4"; libraries of earlier versions do not say.
        self.machine = self._api.machine().decode() if self._has("machine") else None
        self.inputs = _describe(signature.inputs, signature.input_count)
        # Behind the inputs, what a call may give or leave out; libraries of earlier versions have none.
        count = ctypes.c_int32()
        if self._number:
            optional = self._api.entry_optional_inputs(self._number, ctypes.byref(count))
        else:
            optional = self._api.optional_inputs(ctypes.byref(count)) if self._has("optional_inputs") else None
        self.optional_inputs = _describe(optional, count.value) if optional else []
        self.outputs = _describe(signature.outputs, signature.output_count)
        self.states = _describe(signature.states, signature.state_count)
        self.symbols = [
            Symbol(s.name.decode(), s.min, None if s.max == (-1 if s.min >= 0 else 2**63 - 1) else s.max)
            for s in signature.symbols[: signature.symbol_count]
        ]
        # What calls need: for each tensor the arguments of borrow(), and lists of addresses.
        self._takes = [
            (info.dtype, f"input '{info.name}' ({index})" if info.is_written else "")
            for index, info in enumerate(self.inputs + self.optional_inputs)
        ]
        self._required = [info.name for info in self.inputs]
        self._optional = [info.name for info in self.optional_inputs]
        self._places = {info.name: index for index, info in enumerate(self.outputs)}
        self._gives = [(info.dtype, f"output '{info.name}' ({index})") for index, info in enumerate(self.outputs)]
        self._Inputs, self._Outputs = (ctypes.c_void_p * len(tensors) for tensors in (self._takes, self.outputs))
        # The functions of the table that take tensors, each with the context as its first argument.
        self._call, self._call_new, self._output_shape = self._api.call, self._api.call_new, self._api.output_shape
        if number := self._number:
            call, call_new, shape = self._api.call_entry, self._api.call_entry_new, self._api.entry_output_shape
            self._call = lambda context, *tensors: call(context, number, *tensors)
            self._call_new = lambda context, *tensors: call_new(context, number, *tensors)
            self._output_shape = lambda context, *tensors: shape(context, number, *tensors)
        self._entries: dict[str, Model] = {}
        # Libraries of earlier versions call no functions.
        places = self._api.externals(ctypes.byref(count)) if self._has("externals") else None
        self.externals = [_describe_external(places[i]) for i in range(count.value)]

    def __repr__(self) -> str:
        inputs = ", ".join([*map(str, self.inputs), *(f"{info} = ..." for info in self.optional_inputs)])
        outputs = ", ".join(map(str, self.outputs))
        return f"ptc.Model({self.name}: ({inputs}) -> ({outputs}))"

    @property
    def info(self) -> dict[str, Any]:
        """What the library says of itself, as `ptc info` prints it; empty in libraries of earlier versions."""
        return json.loads(self._api.info()) if self._has("info") else {}

    @property
    def entries(self) -> list[str]:
        """What the library can be called for: "step" and "eval", or only "forward"."""
        if not self._has("entry_name"):
            return ["forward"]  # libraries of earlier versions
        names = []
        while name := self._api.entry_name(len(names)):
            names.append(name.decode())
        return names

    def entry(self, name: str) -> Model:
        """Another entry of the library, over the same states and settings."""
        if name not in (names := self.entries):
            raise KeyError(f"the library has no entry '{name}' (its entries: {names})")
        if self._owner is not None:
            return self._owner.entry(name)
        if (number := names.index(name)) == 0:
            return self
        if name not in self._entries:
            entry = object.__new__(type(self))
            entry._api, entry._context, entry._owner, entry._number = self._api, self._context, self, number
            entry._signature = self._api.entry_signature(number).contents
            entry._functions, entry._waiting = self._functions, self._waiting
            entry._set_up()
            self._entries[name] = entry
        return self._entries[name]

    def __getattr__(self, name: str) -> Any:
        """An entry by its name, `model.eval(image)`."""
        if not name.startswith("_") and "_api" in self.__dict__ and name in self.entries:
            return self.entry(name)
        raise AttributeError(f"a ptc.Model has no '{name}'")

    def __del__(self) -> None:
        if getattr(self, "_context", None) and self._owner is None:
            self._api.context_destroy(self._context)

    def _check(self, status: int) -> None:
        """Raises what went wrong."""
        if status:
            raised = self._functions.take_raised() if status == abi.EXTERNAL_ERROR else None
            if raised is not None and not isinstance(raised, Exception):
                raise raised  # KeyboardInterrupt
            message = self._api.last_error(self._context).decode(errors="replace")
            raise error_for(status, message) from raised

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """What the model calls for the operator `name`, as "mylib::scale.default" (see `externals`).

        It gets the operator's arguments: NumPy's arrays that must not be written and are valid until it returns,
        numbers, lists, strings; dtypes and devices as text. It answers an array or several, which are copied. What it
        raises is the cause of the call's error. Not while a call runs.
        """
        self._register(name, function, NumPy())

    def register_torch_operators(self) -> list[str]:
        """Registers the operators of torch.ops for all names that have no function yet, and answers these names."""
        names = list(dict.fromkeys(place.name for place in self.externals))
        missing = [name for name in names if name not in self._functions.registered()]
        for name in missing:
            calls = [place.call for place in self.externals if place.name == name]
            self._register(name, find_torch_operator(name, calls), Torch())
        return missing

    def _register(self, name: str, function: Callable[..., Any], kind: NumPy | Torch) -> None:
        names = list(dict.fromkeys(place.name for place in self.externals))
        if name not in names:
            raise KeyError(f"the model calls no external function '{name}' (it calls: {names})")
        callback = self._functions.callback(name, function, kind)
        self._check(self._api.set_function(self._context, name.encode(), callback, None))

    def _arrange(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The inputs in the model's order; None for what is left out."""
        return arrange(self._required, self._optional, given, named)

    def __call__(self, *inputs: Any, out: list[Any] | None = None, **named: Any) -> Results:
        """Runs the model on `inputs`, by position or by name, and those of `optional_inputs` that are given and not
        None; a dict, tuple or list of arrays stands for several inputs. `out`: tensors to write to (arrays with memory
        of their own) instead of new ones; the call answers this list then."""
        if named or len(inputs) != len(self.inputs):
            inputs = self._arrange(inputs, named)
        pointers = self._Inputs()
        try:
            lent = _lend(inputs, self._takes, pointers, len(self.inputs))
        except TypeError:
            if not any(is_mapping(type(value)) for value in inputs):
                raise
            inputs = self._arrange(inputs, {})
            lent = _lend(inputs, self._takes, pointers, len(self.inputs))
        if out is not None:
            if len(out) != len(self.outputs):
                raise TypeError(f"{len(out)} outputs were given, but the model has {len(self.outputs)}")
            targets = self._Outputs()
            lent += _lend(out, self._gives, targets, len(targets))
            self._check(self._call(self._context, pointers, len(pointers), targets, len(targets)))
            return out
        made = self._Outputs()
        if status := self._call_new(self._context, pointers, len(pointers), made, len(made)):
            self._check(status)
        # Each result keeps the library loaded: its memory is freed by code in there.
        return name_results([Tensor(address, self) for address in made[:]], self._places)

    def run(self, outputs: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """A call as ONNX Runtime's sessions have it: inputs by name, and the outputs of these names in their order, or
        all (None)."""
        chosen = None if outputs is None else [place_of(name, self._places) for name in outputs]
        results = self(*self._arrange((), inputs))
        return results if chosen is None else [results[place] for place in chosen]

    def _state(self, name: str) -> int:
        for index, info in enumerate(self.states):
            if info.name == name:
                return index
        raise KeyError(name)

    def get_state(self, name: str) -> Any:
        """A copy of a state as a NumPy array."""
        import numpy

        index = self._state(name)
        info = self.states[index]
        value = numpy.empty([dim.min for dim in info.shape], info.dtype)
        target, _ = borrow(value, info.dtype)  # `value` keeps the memory, `_` the descriptor
        self._check(self._api.state_get(self._context, index, target))
        return value

    def set_state(self, name: str, value: Any) -> None:
        index = self._state(name)
        given, _ = borrow(value, self.states[index].dtype)
        self._check(self._api.state_set(self._context, index, given))

    def state_dict(self) -> dict[str, Any]:
        """Copies of all states (the buffers that the model updates), by name, as NumPy arrays."""
        return {info.name: self.get_state(info.name) for info in self.states}

    def load_state_dict(self, states: Mapping[str, Any], strict: bool = True) -> None:
        """Sets the states; `strict`: these names must be the model's, all of them and no others."""
        known = {info.name for info in self.states}
        wrong = sorted(known.symmetric_difference(states))
        if strict and wrong:
            raise KeyError(f"states that are missing or not the model's: {wrong} (its states: {sorted(known)})")
        for name in known.intersection(states):
            self.set_state(name, states[name])

    def get(self, name: str) -> Any:
        """The same as `get_state`: model.get("optimizer.lr")."""
        return self.get_state(name)

    def set(self, name: str, value: Any) -> None:
        """The same as `set_state`, where a number fills a state without dimensions: model.set("optimizer.lr", 1e-4)."""
        self.set_state(name, value)

    def view_state(self, name: str) -> Tensor:
        """A state's own memory, on the model's device. Who reads or writes it must not do so while a call runs."""
        self._require("state_view")
        live = abi.DLTensor()
        self._check(self._api.state_view(self._context, self._state(name), ctypes.byref(live)))
        return view_memory(live, self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all states to a file (safetensors, under their names), which appears whole or not at all."""
        self._require("checkpoint_save")
        self._check(self._api.checkpoint_save(self._context, os.fsencode(path)))

    def load(self, path: str | os.PathLike[str], partial: bool = False) -> None:
        """Sets the states to those of such a file. Where it raises an error, none has changed. `partial`: states that
        the file lacks stay as they are, and tensors in it that are no states are passed over."""
        self._require("checkpoint_load")
        flags = abi.CHECKPOINT_PARTIAL if partial else 0
        self._check(self._api.checkpoint_load(self._context, os.fsencode(path), flags))

    def reset_states(self) -> None:
        self._check(self._api.state_reset(self._context))

    def seed(self, value: int) -> None:
        """Starts the model's random numbers anew: the same calls draw the same again."""
        self._check(self._api.set_seed(self._context, value))

    @property
    def threads(self) -> int:
        """How many threads a call may use; set 0 for what OpenMP or OMP_NUM_THREADS says, else one a processor."""
        return self._threading().threads

    @threads.setter
    def threads(self, count: int) -> None:
        self._check(self._api.set_threads(self._context, count))

    @property
    def waiting(self) -> str | None:
        """How threads wait for each other and for the next call: "adaptive", "passive" or "active"; None for what
        PTC_WAIT says, else adaptive. docs/c-abi.md says what each costs."""
        return self._waiting

    @waiting.setter
    def waiting(self, mode: str | None) -> None:
        if mode not in _WAITING:
            raise ValueError(f"there is no way to wait {mode!r} (only {', '.join(map(repr, _WAITING))})")
        self._require("set_waiting")
        self._check(self._api.set_waiting(self._context, _WAITING.index(mode)))
        self._waiting = mode

    @property
    def activity(self) -> Activity:
        self._require("activity")
        activity = abi.Activity()
        self._check(self._api.activity(self._context, ctypes.byref(activity)))
        return Activity(activity.calls, activity.threads, activity.wakeups)

    def _has(self, function: str) -> bool:
        return has(self._api, function)

    def _require(self, function: str) -> None:
        require(self._api, function)

    @property
    def openmp(self) -> str | None:
        """Path of the OpenMP runtime whose threads calls use (PTC_THREADS=openmp); None: the pool of all models."""
        path = self._threading().library
        return path.decode() if path else None

    def _threading(self) -> abi.Threading:
        threading = abi.Threading()
        self._check(self._api.threading(self._context, ctypes.byref(threading)))
        return threading

    @property
    def memory(self) -> Memory:
        memory = abi.Memory()
        self._check(self._api.memory(self._context, ctypes.byref(memory)))
        return Memory(memory.weights, memory.states, memory.arena, memory.reserved, memory.peak)

    def trim(self) -> None:
        """Gives working memory back to the system."""
        self._check(self._api.trim(self._context))

    def synchronize(self) -> None:
        """Waits until the work of all calls is done; what of it has failed is an error. Calls with tensors on a GPU
        return before that."""
        if self._has("synchronize"):
            self._check(self._api.synchronize(self._context))

    @contextlib.contextmanager
    def profile(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Writes a trace of the calls inside, for chrome://tracing or ui.perfetto.dev."""
        self._check(self._api.profile_start(self._context))
        try:
            yield
        finally:
            self._check(self._api.profile_stop(self._context, os.fsencode(path)))

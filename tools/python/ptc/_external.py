"""Functions that a model leaves to its caller: the calls of docs/fallback.md as calls of Python."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable
from typing import Any

from . import _abi as abi
from ._tensor import dtype_name


class NumPy:
    """Tensors as NumPy's arrays; what NumPy has no word for as text."""

    def view(self, tensor: abi.DLTensor, is_written: bool) -> Any:
        import numpy

        dtype = dtype_name(tensor.dtype)
        if dtype == "bfloat16":
            import ml_dtypes  # noqa: F401  registers the type's name
        shape, memory = _memory(tensor)
        array = numpy.frombuffer(memory, dtype).reshape(shape) if memory else numpy.empty(shape, dtype)
        array.flags.writeable = is_written
        return array

    def literal(self, kind: str, text: str) -> Any:
        return text

    def clone(self, value: Any) -> Any:
        return value.copy()

    def store(self, target: Any, value: Any) -> None:
        import numpy

        value = numpy.asarray(value)
        if (value.dtype, value.shape) != (target.dtype, target.shape):
            raise TypeError(f"answered {value.dtype}{list(value.shape)}, not {target.dtype}{list(target.shape)}")
        numpy.copyto(target, value)


class Torch:
    """Tensors, dtypes and the like as torch's."""

    def view(self, tensor: abi.DLTensor, is_written: bool) -> Any:
        import torch

        dtype = getattr(torch, dtype_name(tensor.dtype))
        shape, memory = _memory(tensor)
        return torch.frombuffer(memory, dtype=dtype).reshape(shape) if memory else torch.empty(shape, dtype=dtype)

    def literal(self, kind: str, text: str) -> Any:
        import torch

        return torch.device(text) if kind == "device" else getattr(torch, text)

    def clone(self, value: Any) -> Any:
        return value.clone()

    def store(self, target: Any, value: Any) -> None:
        if (value.dtype, value.shape) != (target.dtype, target.shape):
            raise TypeError(f"answered {value.dtype}{list(value.shape)}, not {target.dtype}{list(target.shape)}")
        target.copy_(value)


def _memory(tensor: abi.DLTensor) -> tuple[list[int], Any]:
    """The sizes and the bytes; no bytes of an empty tensor."""
    shape = tensor.shape[: tensor.ndim]
    size = tensor.dtype.bits // 8
    for extent in shape:
        size *= extent
    return shape, (ctypes.c_char * size).from_address(tensor.data) if size else None


class Arguments:
    """The arguments of one call, from its text and its tensors."""

    def __init__(self, kind: NumPy | Torch, inputs: list[Any], outputs: list[abi.DLTensor | None]) -> None:
        self._kind = kind
        self._inputs = inputs
        self._outputs = outputs
        self.updated: set[int] = set()  # results that are an argument's new value

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(element) for element in value]
        if not isinstance(value, dict):
            return value
        if "result" in value:
            return self._update(value["tensor"], value["result"])
        ((key, content),) = value.items()
        if key == "tensor":
            return self._kind.view(self._inputs[content], False)
        if key == "int":
            return int(self._kind.view(self._inputs[content], False))
        if key in ("float", "complex"):
            return float(content) if key == "float" else complex(*map(self.decode, content))
        return self._kind.literal(key, content)

    def _update(self, tensor: int, result: int) -> Any:
        """What the function writes to: the result, which begins as the input."""
        before = self._kind.view(self._inputs[tensor], False)
        self.updated.add(result)
        if self._outputs[result] is None:
            return self._kind.clone(before)
        target = self._kind.view(self._outputs[result], True)
        self._kind.store(target, before)
        return target


def _results(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _run(function: Callable[..., Any], kind: NumPy | Torch, place: abi.External, inputs: Any, outputs: Any) -> None:
    targets = [outputs[i].contents if outputs[i] else None for i in range(place.output_count)]
    arguments = Arguments(kind, [inputs[i].contents for i in range(place.input_count)], targets)
    call = json.loads(place.call)
    given = arguments.decode(call["args"])
    named = {name: arguments.decode(value) for name, value in call["kwargs"].items()}
    results = _results(function(*given, **named))
    for index, target in enumerate(targets[: min(arguments.updated, default=None)]):
        if target is None:
            continue
        if index >= len(results):
            raise TypeError(f"answered {len(results)} tensors, but the model needs the one at {index}")
        try:
            kind.store(kind.view(target, True), results[index])
        except TypeError as error:
            raise TypeError(f"result {index}: {error}") from None


class Functions:
    """What is registered for one model, and what these functions raised."""

    def __init__(self) -> None:
        self._callbacks: dict[str, Any] = {}
        self._raised = threading.local()

    def callback(self, name: str, function: Callable[..., Any], kind: NumPy | Torch) -> Any:
        """As C calls it; kept until there is another of that name."""

        def call(_: Any, place: Any, inputs: Any, outputs: Any, message: int, size: int) -> int:
            try:
                _run(function, kind, place.contents, inputs, outputs)
            except BaseException as error:  # passes through C
                self._raised.error = error
                text = f"{type(error).__name__}: {error}".encode()[: size - 1]
                ctypes.memmove(message, text + b"\0", len(text) + 1)
                return 1
            return 0

        self._callbacks[name] = abi.Function(call)
        return self._callbacks[name]

    def registered(self) -> set[str]:
        return set(self._callbacks)

    def take_raised(self) -> BaseException | None:
        error = getattr(self._raised, "error", None)
        self._raised.error = None
        return error


def find_torch_operator(name: str, calls: list[dict[str, Any]]) -> Callable[..., Any]:
    """The operator "mylib::scale.default" of torch.ops, for these calls of it; a LookupError says why there is none."""
    import torch

    library, _, rest = name.partition("::")
    try:
        operator = getattr(getattr(getattr(torch.ops, library), rest.split(".")[0]), rest.split(".")[1])
    except AttributeError:
        raise LookupError(f"torch.ops has no {name} (import what defines it, or register a function)") from None
    schema = operator._schema
    if len(schema.returns) > 1 and any(str(value.type) != "Tensor" for value in schema.returns):
        raise LookupError(f"{name} answers more than tensors or one list of them")
    written = {argument.name for argument in schema.arguments if argument.alias_info and argument.alias_info.is_write}
    for call in calls:
        positions = dict(zip((argument.name for argument in schema.arguments), call["args"]))
        given = {key: value for key, value in (positions | call["kwargs"]).items() if value is not None}
        objects = {key: value for key, value in given.items() if isinstance(value, dict)}
        results = {key: value["result"] for key, value in objects.items() if "result" in value}
        if written.intersection(given) != set(results):
            raise LookupError(f"{name} writes to its arguments, and the model takes it for one that does not "
                              "(run_decompositions() on the export before it is saved)")  # fmt: skip
        if results and min(results.values()) < max(len(schema.returns), 1):
            raise LookupError(f"{name} answers {len(schema.returns)} values, more than the model knows of")
    return torch.no_grad()(lambda *args, **kwargs: operator(*args, **kwargs))

"""Models on a GPU: calls in the streams of torch and CuPy, whose arrays they take and answer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from . import _abi as abi
from ._arrays import Arrays, CupyArrays, OtherArrays, TorchArrays, arrays_of, find_arrays
from ._inputs import is_mapping
from ._model import Model
from ._results import Results, name_results
from ._tensor import Tensor, borrow, make_tensor


class CudaModel(Model):
    """A compiled model with a context on a GPU.

    A call with tensors of torch's or CuPy's on the GPU enqueues its work in their library's current stream and returns
    at once; so results are of that library, in order with its own work. With arrays of the host alone, a call returns
    when its results are there, in the host's memory.
    """

    def _set_up(self) -> None:
        super()._set_up()
        device = abi.Device()
        self._check(self._api.device(self._context, ctypes.byref(device)))
        self.device, self._gpu = f"cuda:{device.device_id}", device.device_id
        # The context has one stream at a time: whoever calls sets it and has the context until the work is enqueued.
        # Entries share it.
        self.lock = self._owner.lock if self._owner else threading.Lock()
        self._stream: tuple[int | None, Any] = (None, None)  # that is set, None: the context's; and what keeps it
        # Under the lock there is one call, whose descriptors are these.
        self._taken = _Descriptors(len(self._takes))
        self._given = _Descriptors(len(self.outputs))
        self._made = _Descriptors(len(self.outputs))
        self._made_sizes = [(ctypes.c_int64 * len(info.shape))() for info in self.outputs]
        for tensor, info, sizes in zip(self._made.tensors, self._signature.outputs, self._made_sizes):
            tensor.device, tensor.dtype, tensor.ndim = device, info.dtype, info.ndim
            tensor.shape = sizes
        self._makers: dict[Arrays, list[Any]] = {}
        # The sizes of outputs; None where a call's inputs, or its data, decide.
        self._shapes = [
            tuple(dim.min for dim in info.shape) if all(dim.min == dim.max for dim in info.shape) else None
            for info in self.outputs
        ]
        # Whether the sizes of inputs say all that they say: a number in an input may be a size.
        self._has_numbers = any(not info.shape and "int" in info.dtype for info in self.inputs + self.optional_inputs)
        self._last: tuple[Any, list[tuple[int, ...]]] = (None, [])  # sizes of inputs, and of outputs for them

    def use_stream(self, stream: int | None, owner: Any = None) -> None:
        """Has later calls use it (None: streams of the context's own). The caller holds the lock."""
        user = self._owner or self
        if stream != user._stream[0]:
            self._check(self._api.set_stream(self._context, stream, stream is not None))
            user._stream = (stream, owner)

    def to_device(self, value: Any) -> Tensor:
        """A copy of an array in the memory of the model's GPU, there when this returns."""
        arrays, _ = find_arrays([value])
        made = ctypes.c_void_p()
        with self.lock:
            address, owner = _borrow(arrays, self._use_stream_of(arrays), value, "float32", "")
            self._check(self._api.to_device(self._context, address, ctypes.byref(made)))
            self._check(self._api.synchronize(self._context))
        del owner
        return make_tensor(made.value, self)

    def set_state(self, name: str, value: Any) -> None:
        index = self._state(name)
        # In the default stream, as states are set.
        address, owner = _borrow(None, 1, value, self.states[index].dtype, "")
        self._check(self._api.state_set(self._context, index, address))
        del owner

    def _use_stream_of(self, arrays: Arrays | None) -> int:
        """The current stream of that library; DLPack's number of it."""
        if arrays is None:
            self.use_stream(None)
            return 1
        stream, owner = (0, None) if isinstance(arrays, OtherArrays) else arrays.stream(self._gpu)
        self.use_stream(stream, owner)
        return stream or 1

    def __call__(self, *inputs: Any, out: list[Any] | None = None, **named: Any) -> Results:
        """As `Model`'s, in the stream of tensors on the GPU. Indices out of range in such a call, and what the GPU
        fails at, are an error of `synchronize` or of the next call."""
        if named or len(inputs) != len(self.inputs) or any(map(is_mapping, map(type, inputs))):
            inputs = self._arrange(inputs, named)
        if out is not None and len(out) != len(self.outputs):
            raise TypeError(f"{len(out)} outputs were given, but the model has {len(self.outputs)}")
        arrays, is_alone = find_arrays(inputs if out is None else (*inputs, *out))
        with self.lock:
            stream = self._use_stream_of(arrays)
            if arrays is None:
                return super().__call__(*inputs, out=out)
            results = self._enqueue(arrays, stream, inputs, out)
            if isinstance(arrays, OtherArrays) or not is_alone:
                self._check(self._api.synchronize(self._context))
            return results

    def _enqueue(self, arrays: Arrays, stream: int, inputs: Sequence[Any], out: list[Any] | None) -> list[Any]:
        pointers = self._taken.pointers
        lent = self._taken.lend(arrays, stream, inputs, self._takes, len(self.inputs))
        if out is not None:
            targets = self._given.pointers
            lent += self._given.lend(arrays, stream, out, self._gives, len(targets))
            self._check(self._call(self._context, pointers, len(pointers), targets, len(targets)))
            return out
        if not isinstance(arrays, OtherArrays):
            sizes = None if self._has_numbers else [getattr(value, "shape", None) for value in inputs]
            return name_results(self.call_new(arrays, pointers, sizes), self._places)
        made = self._Outputs()
        self._check(self._call_new(self._context, pointers, len(pointers), made, len(made)))
        return name_results([make_tensor(address, self) for address in made[:]], self._places)

    def call_new(self, arrays: TorchArrays | CupyArrays, pointers: Any, sizes: list[Any] | None = None) -> list[Any]:
        """A call with inputs at these addresses, and of these sizes if they say all; results are new arrays of their
        library's. The caller holds the lock, and has set its stream."""
        if (makers := self._makers.get(arrays)) is None:
            makers = self._makers[arrays] = [arrays.maker(info.dtype, self._gpu) for info in self.outputs]
        shapes = self._last[1] if sizes is not None and sizes == self._last[0] else self._output_shapes(pointers)
        targets, tensors = self._made.pointers, self._made.tensors
        while True:
            results = [make(shape) for make, shape in zip(makers, shapes)]
            for tensor, result, sizes_made, shape in zip(tensors, results, self._made_sizes, shapes):
                tensor.data = arrays.address(result)
                sizes_made[:] = shape
            status = self._call(self._context, pointers, len(pointers), targets, len(targets))
            if not status:
                break
            # Data that decide a size may ask for more than there was room for; then the context knows how much.
            if status != abi.MISMATCH or (wanted := self._output_shapes(pointers)) == shapes:
                self._check(status)
            shapes = wanted
        self._last = (sizes, shapes)
        for index, shape in enumerate(shapes):
            if self._shapes[index] is None and (found := tuple(self._made_sizes[index])) != shape:
                results[index] = arrays.head(results[index], found)
        return results

    def _output_shapes(self, pointers: Any) -> list[tuple[int, ...]]:
        shapes = []
        for index, shape in enumerate(self._shapes):
            if shape is None:
                rank = len(self.outputs[index].shape)
                sizes = (ctypes.c_int64 * rank)()
                status = self._output_shape(self._context, pointers, len(pointers), index, sizes, rank)
                self._check(status)
                shape = tuple(sizes)
            shapes.append(shape)
        return shapes


class _Descriptors:
    """Of a call's tensors, one after the other, with pointers to them."""

    def __init__(self, count: int) -> None:
        self.tensors = (abi.DLTensor * count)()
        self._addresses = [ctypes.addressof(tensor) for tensor in self.tensors]
        self.pointers = (ctypes.c_void_p * count)(*self._addresses)

    def lend(
        self, arrays: Arrays | None, stream: int, values: Sequence[Any], kinds: list[tuple[str, str]], required: int
    ) -> list[Any]:
        """Points to the values, for a call in that stream of `arrays`, and behind the required ones not to None; what
        is answered keeps them valid."""
        exchanged, fill = (arrays.exchanged, arrays.fill) if arrays is not None else (None, None)
        pointers, owners = self.pointers, []
        for index, value in enumerate(values):
            if type(value) is exchanged and fill and not (value.requires_grad or value.is_conj() or value.is_neg()):
                fill(value, self._addresses[index])
                pointers[index] = self._addresses[index]
            elif value is None and index >= required:
                pointers[index] = None
            else:
                pointers[index], owner = _borrow(arrays, stream, value, *kinds[index])
                owners.append(owner)
        return owners


def _borrow(arrays: Arrays | None, stream: int, value: Any, dtype: str, written: str) -> tuple[int, Any]:
    own = arrays_of(type(value))
    if own is None:
        return borrow(value, dtype, written)
    is_in_order = own is arrays and not isinstance(arrays, OtherArrays)
    return own.borrow(value, dtype, written, -1 if is_in_order else stream)

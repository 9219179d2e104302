"""Models on a GPU: calls in the streams of torch and CuPy, whose arrays they take and answer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from . import _abi as abi
from ._arrays import Arrays, CupyArrays, OtherArrays, TorchArrays, arrays_of, find_arrays
from ._model import Model
from ._tensor import Tensor, borrow, make_tensor


class CudaModel(Model):
    """A compiled model with a context on a GPU.

    A call with tensors of torch's or CuPy's on the GPU enqueues its work in their library's current stream and returns
    at once; so results are of that library, in order with its own work. With arrays of the host alone, a call returns
    when its results are there, in the host's memory.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        device = abi.Device()
        self._check(self._api.device(self._context, ctypes.byref(device)))
        self.device, self._gpu = f"cuda:{device.device_id}", device.device_id
        # The context has one stream at a time: whoever calls sets it and has the context until the work is enqueued.
        self.lock = threading.Lock()
        self._stream: tuple[int | None, Any] = (None, None)  # that is set, None: the context's; and what keeps it
        self._dtypes = [tensor.dtype for tensor in self._signature.outputs[: len(self.outputs)]]
        # The sizes of outputs; None where a call's inputs, or its data, decide.
        self._shapes = [
            tuple(dim.min for dim in info.shape) if all(dim.min == dim.max for dim in info.shape) else None
            for info in self.outputs
        ]

    def use_stream(self, stream: int | None, owner: Any = None) -> None:
        """Has later calls use it (None: streams of the context's own). The caller holds the lock."""
        if stream != self._stream[0]:
            self._check(self._api.set_stream(self._context, stream, stream is not None))
            self._stream = (stream, owner)

    def to_device(self, value: Any) -> Tensor:
        """A copy of an array in the memory of the model's GPU, there when this returns."""
        arrays, _ = find_arrays([value])
        pointers, made = (ctypes.c_void_p * 1)(), ctypes.c_void_p()
        with self.lock:
            stream = self._use_stream_of(arrays)
            kept = _lend(arrays, stream, [value], [("float32", "")], pointers, 1)
            self._check(self._api.to_device(self._context, pointers[0], ctypes.byref(made)))
            self._check(self._api.synchronize(self._context))
        del kept
        return make_tensor(made.value, self)

    def set_state(self, name: str, value: Any) -> None:
        index, pointers = self._state(name), (ctypes.c_void_p * 1)()
        kept = _lend(None, 1, [value], [(self.states[index].dtype, "")], pointers, 1)  # states are set in that stream
        self._check(self._api.state_set(self._context, index, pointers[0]))
        del kept

    def _use_stream_of(self, arrays: Arrays | None) -> int:
        """The current stream of that library; DLPack's number of it."""
        if arrays is None:
            self.use_stream(None)
            return 1
        stream, owner = (0, None) if isinstance(arrays, OtherArrays) else arrays.stream(self._gpu)
        self.use_stream(stream, owner)
        return stream or 1

    def __call__(self, *inputs: Any, out: list[Any] | None = None, **named: Any) -> list[Any]:
        """As `Model`'s, in the stream of tensors on the GPU. Indices out of range in such a call, and what the GPU
        fails at, are an error of `synchronize` or of the next call."""
        if named or len(inputs) != len(self.inputs):
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
        pointers = self._Inputs()
        lent = _lend(arrays, stream, inputs, self._takes, pointers, len(self.inputs))
        if out is not None:
            targets = self._Outputs()
            lent += _lend(arrays, stream, out, self._gives, targets, len(targets))
            self._check(self._api.call(self._context, pointers, len(pointers), targets, len(targets)))
            return out
        if not isinstance(arrays, OtherArrays):
            return self.call_new(arrays, pointers)
        made = self._Outputs()
        self._check(self._api.call_new(self._context, pointers, len(pointers), made, len(made)))
        return [make_tensor(address, self) for address in made[:]]

    def call_new(self, arrays: TorchArrays | CupyArrays, pointers: Any) -> list[Any]:
        """A call with inputs at these addresses; results are new arrays of their library's. The caller holds the lock,
        and has set its stream."""
        shapes = self._output_shapes(pointers)
        while True:
            results = [arrays.empty(shape, info.dtype, self._gpu) for shape, info in zip(shapes, self.outputs)]
            targets, lent = self._Outputs(), []
            for index, (result, shape) in enumerate(zip(results, shapes)):
                if self._shapes[index] is not None:
                    targets[index], owner = arrays.borrow(result, "", "", -1)
                else:  # with sizes of its own, which the call may lower
                    owner = self._describe(index, arrays.address(result), shape)
                    targets[index] = ctypes.addressof(owner)
                lent.append(owner)
            status = self._api.call(self._context, pointers, len(pointers), targets, len(targets))
            if not status:
                break
            # Data that decide a size may ask for more than there was room for; then the context knows how much.
            if status != abi.MISMATCH or (wanted := self._output_shapes(pointers)) == shapes:
                self._check(status)
            shapes = wanted
        for index, tensor in enumerate(lent):
            if self._shapes[index] is None and (shape := tuple(tensor.shape[: tensor.ndim])) != shapes[index]:
                results[index] = arrays.head(results[index], shape)
        return results

    def _output_shapes(self, pointers: Any) -> list[tuple[int, ...]]:
        shapes = []
        for index, shape in enumerate(self._shapes):
            if shape is None:
                rank = len(self.outputs[index].shape)
                sizes = (ctypes.c_int64 * rank)()
                self._check(self._api.output_shape(self._context, pointers, len(pointers), index, sizes, rank))
                shape = tuple(sizes)
            shapes.append(shape)
        return shapes

    def _describe(self, index: int, address: int, shape: Sequence[int]) -> abi.DLTensor:
        return abi.DLTensor(
            data=address,
            device=abi.Device(abi.CUDA, self._gpu),
            ndim=len(shape),
            dtype=self._dtypes[index],
            shape=(ctypes.c_int64 * len(shape))(*shape),
        )


def _lend(
    arrays: Arrays | None,
    stream: int,
    values: Sequence[Any],
    kinds: list[tuple[str, str]],
    pointers: Any,
    required: int,
) -> list[Any]:
    """As `_model._lend`, for a call in that stream of `arrays`."""
    owners = []
    for index, (value, (dtype, written)) in enumerate(zip(values, kinds)):
        if value is None and index >= required:
            continue
        own = arrays_of(type(value))
        if own is None:
            pointers[index], owner = borrow(value, dtype, written)
        else:
            is_in_order = own is arrays and not isinstance(arrays, OtherArrays)
            pointers[index], owner = own.borrow(value, dtype, written, -1 if is_in_order else stream)
        owners.append(owner)
    return owners

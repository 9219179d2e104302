"""Arrays in a GPU's memory, of whichever library: whether they are there, in which stream, and new ones.

A call enqueues its work in the current stream of the library whose arrays it gets, as the library's own operators do.
What they have enqueued before is done before, so that inputs are there. A tensor may be deleted as soon as the call has
returned, though the GPU still reads it: the allocators of torch and CuPy give freed memory again to the stream that it
was taken for, and what is enqueued there writes behind the model's reads. Results come from the same allocators, taken
for the same stream, so this holds for them as well. A tensor of another stream than the current one is its user's to
look after (by events and `record_stream`), exactly as with the library's own operators.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

from . import _abi as abi
from ._tensor import borrow, borrow_on_stream, exchange_table, numpy_type


class TorchArrays:
    """torch.Tensor and its subclasses."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._current = _current_stream_of_torch(torch)

    def is_on_gpu(self, value: Any) -> bool:
        return value.is_cuda

    def stream(self, gpu: int) -> tuple[int, Any]:
        """The current stream of that GPU, and what keeps it valid."""
        return self._current(gpu), None

    def borrow(self, value: Any, dtype: str, written: str, stream: int) -> tuple[int, Any]:
        """As `_tensor.borrow`; `stream` as borrow_on_stream has it."""
        if stream != -1 and value.is_cuda:
            return borrow_on_stream(value, stream, written)
        if type(value) is not self._torch.Tensor:
            value = value.as_subclass(self._torch.Tensor)  # __dlpack__ is for the current device alone
        return borrow(value, dtype, written)

    def empty(self, shape: Sequence[int], dtype: str, gpu: int) -> Any:
        return self._torch.empty(shape, dtype=getattr(self._torch, dtype), device=f"cuda:{gpu}")

    def address(self, value: Any) -> int:
        return value.data_ptr()

    def head(self, value: Any, shape: Sequence[int]) -> Any:
        """The first elements of a row-major tensor, as one of that shape."""
        return value.view(-1)[: math.prod(shape)].view(shape)


def _current_stream_of_torch(torch: Any) -> Any:
    """A function of a GPU's number. DLPack's is a third as long on its way as torch.cuda's."""
    table = exchange_table(torch.Tensor)
    if table is None or not table.current_work_stream:
        return lambda gpu: torch.cuda.current_stream(gpu).cuda_stream
    get = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(table.current_work_stream)

    def current_stream(gpu: int) -> int:
        stream = ctypes.c_void_p()
        get(abi.CUDA, gpu, ctypes.addressof(stream))
        return stream.value or 0

    return current_stream


class CupyArrays:
    """cupy.ndarray."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def is_on_gpu(self, value: Any) -> bool:
        return True

    def stream(self, gpu: int) -> tuple[int, Any]:
        stream = self._cupy.cuda.get_current_stream(gpu)
        return stream.ptr, stream

    def borrow(self, value: Any, dtype: str, written: str, stream: int) -> tuple[int, Any]:
        return borrow_on_stream(value, stream, written)

    def empty(self, shape: Sequence[int], dtype: str, gpu: int) -> Any:
        with self._cupy.cuda.Device(gpu):
            return self._cupy.empty(shape, numpy_type(dtype))

    def address(self, value: Any) -> int:
        return value.data.ptr

    def head(self, value: Any, shape: Sequence[int]) -> Any:
        return value.reshape(-1)[: math.prod(shape)].reshape(shape)


class OtherArrays:
    """Whatever else has DLPack. Its library's streams are not known: a call uses CUDA's default one, for which the
    library has the memory ready, and waits for its own end, as freed memory may be used again in any stream."""

    def is_on_gpu(self, value: Any) -> bool:
        """Or in memory that the GPU reaches by itself, which a call may read behind its return as well."""
        return value.__dlpack_device__()[0] in (abi.CUDA, abi.CUDA_HOST, abi.CUDA_MANAGED)

    def borrow(self, value: Any, dtype: str, written: str, stream: int) -> tuple[int, Any]:
        return borrow_on_stream(value, stream, written) if self.is_on_gpu(value) else borrow(value, dtype, written)


Arrays = TorchArrays | CupyArrays | OtherArrays


@functools.cache
def arrays_of(kind: type) -> Arrays | None:
    """What knows tensors of this class; None where they are the host's."""
    for name, owner, arrays in (("torch", "Tensor", TorchArrays), ("cupy", "ndarray", CupyArrays)):
        library = sys.modules.get(name)
        if library is not None and issubclass(kind, getattr(library, owner)):
            return _only(arrays, library)
    if kind.__module__ != "numpy" and hasattr(kind, "__dlpack_device__"):
        return _only(OtherArrays)
    if hasattr(kind, "__cuda_array_interface__"):
        raise TypeError(f"a {kind.__name__} has no DLPack (cupy.asarray makes an array of its memory that has)")
    return None


@functools.cache
def _only(arrays: type, *library: Any) -> Any:
    return arrays(*library)


def find_arrays(values: Sequence[Any]) -> tuple[Arrays | None, bool]:
    """What knows the first of the values that is on a GPU (None: there is none), and whether it knows all such."""
    found = None
    for value in values:
        arrays = arrays_of(type(value))
        if arrays is not None and arrays is not found and arrays.is_on_gpu(value):
            if found is not None:
                return found, False
            found = arrays
    return found, True

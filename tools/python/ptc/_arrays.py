"""Arrays in a GPU's memory, of whichever library: whether they are there, in which stream, and new ones.

A call enqueues its work in the current stream of the library whose arrays it gets, as the library's own operators do.
What they have enqueued before is done before, so that inputs are there. A tensor may be deleted as soon as the call has
returned, though the GPU still reads it: the allocators of torch and CuPy give freed memory again to the stream that it
was taken for, and what is enqueued there writes behind the model's reads. Results come from the same allocators, taken
for the same stream, so this holds for them as well. A tensor of another stream than the current one is its user's to
look after (by events and `record_stream`), exactly as with the library's own operators.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _abi as abi
from ._tensor import borrow, borrow_on_stream, exchange, numpy_type


class TorchArrays:
    """torch.Tensor and its subclasses."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.exchanged = torch.Tensor  # the class whose tensors `fill` describes
        self.fill = exchange(torch.Tensor)

    def is_on_gpu(self, value: Any) -> bool:
        return value.is_cuda

    def stream(self, gpu: int) -> tuple[int, Any]:
        """The current stream of that GPU, and what keeps it valid."""
        if self._current is None:
            return self._torch.cuda.current_stream(gpu).cuda_stream, None
        return self._current(gpu), None

    def borrow(self, value: Any, dtype: str, written: str, stream: int) -> tuple[int, Any]:
        """As `_tensor.borrow`; `stream` as borrow_on_stream has it."""
        if stream != -1 and value.is_cuda:
            return borrow_on_stream(value, stream, written)
        if type(value) is not self._torch.Tensor:
            value = value.as_subclass(self._torch.Tensor)  # __dlpack__ is for the current device alone
        return borrow(value, dtype, written)

    def maker(self, dtype: str, gpu: int) -> Callable[[Sequence[int]], Any]:
        """A function that makes tensors of that type on that GPU, row-major, contents undefined."""
        device = self._torch.device("cuda", gpu)
        return functools.partial(self._torch.empty, dtype=getattr(self._torch, dtype), device=device)

    def address(self, value: Any) -> int:
        return value.data_ptr()

    def head(self, value: Any, shape: Sequence[int]) -> Any:
        """The first elements of a row-major tensor, as one of that shape."""
        return value.view(-1)[: math.prod(shape)].view(shape)


class CupyArrays:
    """cupy.ndarray."""

    exchanged = fill = None

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def is_on_gpu(self, value: Any) -> bool:
        return True

    def stream(self, gpu: int) -> tuple[int, Any]:
        stream = self._cupy.cuda.get_current_stream(gpu)
        return stream.ptr, stream

    def borrow(self, value: Any, dtype: str, written: str, stream: int) -> tuple[int, Any]:
        return borrow_on_stream(value, stream, written)

    def maker(self, dtype: str, gpu: int) -> Callable[[Sequence[int]], Any]:
        device, kind = self._cupy.cuda.Device(gpu), numpy_type(dtype)

        def make(shape: Sequence[int]) -> Any:
            with device:
                return self._cupy.empty(shape, kind)

        return make

    def address(self, value: Any) -> int:
        return value.data.ptr

    def head(self, value: Any, shape: Sequence[int]) -> Any:
        return value.reshape(-1)[: math.prod(shape)].reshape(shape)


class OtherArrays:
    """Whatever else has DLPack. Its library's streams are not known: a call uses CUDA's default one, for which the
    library has the memory ready, and waits for its own end, as freed memory may be used again in any stream."""

    exchanged = fill = None

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

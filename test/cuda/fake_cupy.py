"""As much of CuPy as ptc asks for, on the fake driver: arrays in a GPU's memory, streams, DLPack."""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ptc import _abi as abi
from ptc._tensor import _tensor_in

driver: Any = None


def install(libcuda: str) -> None:
    """Makes it the module cupy."""
    global driver
    driver = ctypes.CDLL(libcuda)
    _do("cuInit", 0)
    enter()
    module = sys.modules["cupy"] = types.ModuleType("cupy")
    module.ndarray, module.empty = ndarray, empty
    module.cuda = types.SimpleNamespace(Device=contextlib.nullcontext, get_current_stream=lambda gpu: current_stream())


def enter() -> None:
    """Makes the first GPU's context this thread's current one."""
    context = ctypes.c_void_p()
    _do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    _do("cuCtxPushCurrent_v2", context)


def _do(function: str, *arguments: Any) -> None:
    if result := getattr(driver, function)(*arguments):
        raise RuntimeError(f"{function}: {result}")


class Stream:
    """With `null`, CUDA's default one."""

    def __init__(self, null: bool = False) -> None:
        self._handle = ctypes.c_void_p()
        if not null:
            _do("cuStreamCreate", ctypes.byref(self._handle), 0)

    @property
    def ptr(self) -> int:
        return self._handle.value or 0

    def synchronize(self) -> None:
        _do("cuStreamSynchronize", self._handle)

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        before, _thread.stream = current_stream(), self
        try:
            yield
        finally:
            _thread.stream = before


_thread = threading.local()


def current_stream() -> Stream:
    return getattr(_thread, "stream", None) or Stream(null=True)


class _Memory:
    def __init__(self, size: int) -> None:
        address = ctypes.c_uint64()
        _do("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self.ptr = address.value

    def __del__(self) -> None:
        driver.cuMemFree_v2(ctypes.c_uint64(self.ptr))


class ndarray:  # noqa: N801  as it is called there
    __module__ = "cupy"

    def __init__(self, shape: tuple[int, ...], dtype: Any, memory: Any = None, strides: Any = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.data = memory or _Memory(math.prod(shape) * self.dtype.itemsize)
        self.strides = strides  # in bytes; None: row-major
        self.streams: list[Any] = []  # that consumers have named

    @property
    def T(self) -> ndarray:  # noqa: N802
        strides = self.strides or np.empty(self.shape, np.dtype(f"V{self.dtype.itemsize}")).strides
        return ndarray(self.shape[::-1], self.dtype, self.data, strides[::-1])

    def reshape(self, *shape: Any) -> ndarray:
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        return ndarray((math.prod(self.shape),) if shape == (-1,) else shape, self.dtype, self.data)

    def __getitem__(self, head: slice) -> ndarray:
        return ndarray((head.stop,), self.dtype, self.data)

    def get(self) -> np.ndarray:
        """Its values when the current stream has done what it was given."""
        host = np.empty(self.shape, self.dtype)
        size = ctypes.c_size_t(host.nbytes)
        if host.nbytes:
            _do("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(self.data.ptr), size,
                ctypes.c_void_p(current_stream().ptr))  # fmt: skip
        current_stream().synchronize()
        return host

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "strides": self.strides,
                "data": (self.data.ptr, False)}  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return (abi.CUDA, 0)

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        capsule = np.asarray(self).__dlpack__()
        _tensor_in(capsule).device = abi.Device(abi.CUDA, 0)
        return capsule


def empty(shape: Any, dtype: Any) -> ndarray:
    return ndarray(shape, dtype)


def array(values: np.ndarray) -> ndarray:
    """A copy on the GPU."""
    made, values = ndarray(values.shape, values.dtype), np.ascontiguousarray(values)
    _do("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(made.data.ptr), ctypes.c_void_p(values.ctypes.data),
        ctypes.c_size_t(values.nbytes), None)  # fmt: skip
    _do("cuStreamSynchronize", None)
    return made


class Foreign:
    """An array of a library that ptc knows nothing of."""

    def __init__(self, values: np.ndarray) -> None:
        self._array = array(values)
        self.streams = self._array.streams

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

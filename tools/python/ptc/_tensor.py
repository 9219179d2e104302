"""Tensors between Python and a model: borrowed for a call, or answered by one."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

from . import _abi as abi
from ._errors import error_for

_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_FLOAT8 = {10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz"}
_EXTENDED = {"bfloat16": 4, **{name: code for code, name in _FLOAT8.items()}}

_UNVERSIONED, _VERSIONED = b"dltensor", b"dltensor_versioned"
_IN_VERSIONED = abi.DLManagedTensorVersioned.dl_tensor.offset
_managed_at = abi.DLManagedTensor.from_address
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def dtype_name(dtype: abi.DataType) -> str:
    """As NumPy and torch call it."""
    if dtype.code == _KINDS["b"]:
        return "bool"
    return _FLOAT8.get(dtype.code) or f"{_NAMES[dtype.code]}{dtype.bits}"


def numpy_type(name: str) -> Any:
    """NumPy's type of that name (bfloat16 and eight-bit floats need ml_dtypes)."""
    import numpy

    if name in _EXTENDED:
        import ml_dtypes  # noqa: F401  registers the type's name
    return numpy.dtype(name)


# ---------------------------------------------------------------------------------------------------------------------
# Borrowed
# ---------------------------------------------------------------------------------------------------------------------


def borrow(value: Any, dtype: str, written: str = "") -> tuple[int, Any]:
    """The address of a DLTensor over the memory of `value`, and what keeps it valid. Numbers become tensors of the type
    that the model wants. `written`: what messages call a tensor that the call writes to."""
    fill = exchange(type(value))
    # What these tensors are is not in their memory; torch's __dlpack__ says so.
    if fill is not None and not (value.requires_grad or value.is_conj() or value.is_neg()):
        tensor = abi.DLTensor()
        address = ctypes.addressof(tensor)
        try:
            fill(value, address)
        except RuntimeError:  # with a page of C++ frames, where torch's __dlpack__ has a line
            return _borrow_otherwise(value, dtype, written)
        return address, tensor
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
        address = _pointer_of(capsule, _VERSIONED)
    except (AttributeError, BufferError, TypeError, ValueError):
        return _borrow_otherwise(value, dtype, written)
    if written and abi.DLManagedTensorVersioned.from_address(address).flags & abi.READ_ONLY:
        raise _read_only(written)
    return address + _IN_VERSIONED, capsule


def _tensor_in(capsule: Any) -> abi.DLTensor:
    """What a capsule of either kind describes."""
    try:
        return abi.DLManagedTensorVersioned.from_address(_pointer_of(capsule, _VERSIONED)).dl_tensor
    except ValueError:
        return abi.DLTensor.from_address(_pointer_of(capsule, _UNVERSIONED))


def borrow_on_stream(value: Any, stream: int, written: str = "") -> tuple[int, Any]:
    """The same of a tensor on a GPU that is to be read in the order of a stream, as DLPack numbers it: 1 is CUDA's
    default one, -1 says that the order is right already."""
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        capsule = value.__dlpack__(stream=stream)
    try:
        address = _pointer_of(capsule, _VERSIONED)
    except ValueError:
        return _pointer_of(capsule, _UNVERSIONED), capsule
    if written and abi.DLManagedTensorVersioned.from_address(address).flags & abi.READ_ONLY:
        raise _read_only(written)
    return address + _IN_VERSIONED, capsule


def _borrow_otherwise(value: Any, dtype: str, written: str) -> tuple[int, Any]:
    """What is older than DLPack 1.0, which had no word for read-only memory and refused it; and what has no DLPack."""
    if hasattr(value, "__dlpack__"):
        try:
            capsule = value.__dlpack__()
            return _pointer_of(capsule, _UNVERSIONED), capsule
        except BufferError:
            if not hasattr(value, "__array_interface__"):
                raise
    return _borrow_array(value, dtype, written)


@functools.cache
def exchange(kind: type) -> Callable[[Any, int], Any] | None:
    """Of torch.Tensor: `fill(value, address)`, which writes a DLTensor, valid while the tensor stays as it is."""
    torch = sys.modules.get("torch")
    if torch is None or kind is not torch.Tensor or not hasattr(kind, "__dlpack_c_exchange_api__"):
        return None
    address = _pointer_of(kind.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    table = abi.DLPackExchangeAPI.from_address(address)
    return table.dltensor_from_py_object_no_sync if table.major == 1 else None


def _borrow_array(value: Any, dtype: str, written: str) -> tuple[int, Any]:
    """What NumPy has no DLPack for: read-only arrays in older versions of it, types of ml_dtypes, numbers."""
    import numpy

    array = value if isinstance(value, numpy.ndarray) else _number(value, dtype, written)
    code = _EXTENDED.get(array.dtype.name, _KINDS.get(array.dtype.kind))
    if code is None or not array.dtype.isnative:
        raise TypeError(f"an array of dtype {array.dtype} is no tensor ({dtype} is wanted)")
    if any(stride % array.itemsize for stride in array.strides):
        raise TypeError("an array whose strides are no multiples of its elements")
    if written and not array.flags.writeable:
        raise _read_only(written)
    sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
    steps = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
    tensor = abi.DLTensor(
        data=array.ctypes.data,
        device=abi.Device(abi.CPU, 0),
        ndim=array.ndim,
        dtype=abi.DataType(code, array.itemsize * 8, 1),
        shape=sizes,
        strides=steps,
    )
    return ctypes.addressof(tensor), (tensor, array)


def _number(value: Any, dtype: str, written: str) -> Any:
    import numpy

    found = numpy.asarray(value)
    is_fraction_for_integer = found.dtype.kind in "fc" and numpy.dtype(dtype).kind in "biu"
    if (found.dtype.kind not in "biufc" and found.dtype.name not in _EXTENDED) or is_fraction_for_integer:
        raise TypeError(f"{value!r:.40} is no tensor ({dtype} is wanted)")
    if written:
        raise TypeError(f"{written}: a {type(value).__name__} has no memory that a model could write to")
    return numpy.array(value, dtype)


def _read_only(written: str) -> Exception:
    return error_for(abi.MISMATCH, f"{written}: its memory is read-only, and the model writes to it")


# ---------------------------------------------------------------------------------------------------------------------
# Answered
# ---------------------------------------------------------------------------------------------------------------------


class Tensor:
    """A result: memory of the model's, freed when nothing refers to it any more."""

    __slots__ = ("_address", "_model", "__weakref__")

    def __init__(self, address: int, model: Any) -> None:
        self._address = address
        self._model = model  # keeps the library open, whose code frees the memory

    def __del__(self) -> None:
        _managed_at(self._address).deleter(self._address)

    @property
    def _view(self) -> abi.DLTensor:
        return abi.DLTensor.from_address(self._address)

    @property
    def shape(self) -> tuple[int, ...]:
        view = self._view
        return tuple(view.shape[: view.ndim])

    @property
    def dtype(self) -> str:
        return dtype_name(self._view.dtype)

    @property
    def device(self) -> str:
        """Where the memory is: "cpu", or a GPU as "cuda:0"."""
        return "cpu"

    def __repr__(self) -> str:
        return f"ptc.Tensor({self.dtype}{list(self.shape)})"

    def numpy(self) -> Any:
        """The same memory as a NumPy array (bfloat16 and eight-bit floats need ml_dtypes)."""
        return self._array(numpy_type(self.dtype))

    def _array(self, dtype: Any) -> Any:
        import numpy

        memory = _Memory()
        memory.owner = self
        memory.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{dtype.itemsize}" if dtype.kind == "V" else dtype.str,
            "shape": self.shape,
            "data": (self._view.data, False),
        }
        array = numpy.asarray(memory)
        return array.view(dtype) if dtype.kind == "V" else array

    def item(self) -> Any:
        """The number in a tensor of one element, as Python has it."""
        return self.numpy().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array.astype(dtype) if dtype is not None else array.copy() if copy else array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (abi.CPU, 0)

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule that refers to this tensor; any number of them may be taken. NumPy makes it, whose deleter is C
        code: Python code would disturb an exception that is under way when a consumer lets go."""
        dtype = self._view.dtype
        if dtype.code in (_KINDS["i"], _KINDS["u"], _KINDS["f"], _KINDS["c"]):
            return self.numpy().__dlpack__(**options)
        # A type that NumPy does not export: words of its size, renamed.
        capsule = self._array(numpy_type(f"u{dtype.bits // 8}")).__dlpack__(**options)
        _tensor_in(capsule).dtype = dtype
        return capsule


class GpuTensor(Tensor):
    """A result in a GPU's memory, already computed. torch.from_dlpack(y) and cupy.from_dlpack(y) share it."""

    __slots__ = ()

    @property
    def device(self) -> str:
        return f"cuda:{self._view.device.device_id}"

    def __repr__(self) -> str:
        return f"ptc.Tensor({self.dtype}{list(self.shape)}, {self.device})"

    def numpy(self) -> Any:
        raise TypeError(f"{self!r} is not in the host's memory: torch.from_dlpack and cupy.from_dlpack take it")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (abi.CUDA, self._view.device.device_id)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """NumPy makes this capsule, too, as it does not look at the memory. Streams need not wait: it is all there."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError(f"{self!r} shares its memory and is not copied")
        view = self._view
        words = numpy_type(f"c{view.dtype.bits // 8}" if view.dtype.bits == 128 else f"u{view.dtype.bits // 8}")
        try:
            capsule = self._array(words).__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1
            capsule = self._array(words).__dlpack__()
        tensor = _tensor_in(capsule)
        tensor.dtype, tensor.device = view.dtype, view.device
        return capsule

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        typestr = numpy_type(self.dtype).str
        return {"version": 3, "shape": self.shape, "typestr": typestr, "data": (self._view.data, False), "stream": None}


class _HostView(Tensor):
    """Of memory that the model goes on using."""

    __slots__ = ()

    def __del__(self) -> None:
        """The memory is the model's."""


class _GpuView(GpuTensor):
    __slots__ = ()

    __del__ = _HostView.__del__


def view_memory(descriptor: abi.DLTensor, model: Any) -> Tensor:
    """Of memory that the model goes on using, and has as long as it is there: the tensor keeps it."""
    kind = _HostView if descriptor.device.device_type == abi.CPU else _GpuView
    return kind(ctypes.addressof(descriptor), (model, descriptor))


def make_tensor(address: int, model: Any) -> Tensor:
    """Of memory on any device."""
    is_on_host = abi.DLTensor.from_address(address).device.device_type == abi.CPU
    return (Tensor if is_on_host else GpuTensor)(address, model)


class _Memory:
    """What NumPy's arrays of a result refer to."""

    __slots__ = ("__array_interface__", "owner")

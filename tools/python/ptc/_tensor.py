"""Tensors between Python and a model: borrowed for a call, or answered by one."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi as abi

_CPU = 1
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_FLOAT8 = {10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz"}
_EXTENDED = {"bfloat16": 4, **{name: code for code, name in _FLOAT8.items()}}
_CAPSULE = b"dltensor"

_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def dtype_name(dtype: abi.DataType) -> str:
    """As NumPy and torch call it."""
    if dtype.code == _KINDS["b"]:
        return "bool"
    return _FLOAT8.get(dtype.code) or f"{_NAMES[dtype.code]}{dtype.bits}"


class Borrowed:
    """The address of a DLTensor, and whatever keeps it valid."""

    def __init__(self, address: int, *owners: Any) -> None:
        self.address = address
        self._owners = owners


def borrow(value: Any, dtype: str) -> Borrowed:
    """A view of `value` for one call; numbers become tensors of the type that the model wants."""
    if hasattr(value, "__array_interface__"):
        return _borrow_array(value)
    if hasattr(value, "__dlpack__"):
        capsule = value.__dlpack__()
        return Borrowed(_python.PyCapsule_GetPointer(capsule, _CAPSULE), capsule, value)
    import numpy

    return _borrow_array(numpy.asarray(value, dtype))


def _borrow_array(array: Any) -> Borrowed:
    # Not by __dlpack__, which refuses arrays that are read-only or of types of ml_dtypes.
    interface = array.__array_interface__
    order, kind, size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    name = getattr(getattr(array, "dtype", None), "name", "")
    if name in _EXTENDED:
        code = _EXTENDED[name]
    elif kind in _KINDS and order in "<|":
        code = _KINDS[kind]
    else:
        raise TypeError(f"arrays of type {interface['typestr']} have no counterpart in DLPack")
    shape = interface["shape"]
    strides = interface["strides"]
    if strides is not None and any(stride % size for stride in strides):
        raise TypeError("an array whose strides are no multiples of its elements")
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*(s // size for s in strides)) if strides is not None else None
    tensor = abi.DLTensor(
        data=interface["data"][0],
        device=abi.Device(_CPU, 0),
        ndim=len(shape),
        dtype=abi.DataType(code, size * 8, 1),
        shape=sizes,
        strides=steps,
    )
    return Borrowed(ctypes.addressof(tensor), tensor, sizes, steps, array)


class Tensor:
    """A result: memory of the model's, freed when nothing refers to it any more."""

    def __init__(self, address: int, model: Any) -> None:
        self._managed = abi.DLManagedTensor.from_address(address)
        self._address = address
        self._model = model
        view = self._managed.dl_tensor
        self.shape = tuple(view.shape[: view.ndim])
        self.dtype = dtype_name(view.dtype)

    def __del__(self) -> None:
        self._managed.deleter(self._address)

    def __repr__(self) -> str:
        return f"ptc.Tensor({self.dtype}{list(self.shape)})"

    def numpy(self) -> Any:
        """The same memory as a NumPy array (bfloat16 and eight-bit floats need ml_dtypes)."""
        import numpy

        if self.dtype in _EXTENDED:
            import ml_dtypes  # noqa: F401  registers the type's name
        view = self._managed.dl_tensor
        count = 1
        for size in self.shape:
            count *= size
        memory = (ctypes.c_char * (count * view.dtype.bits // 8)).from_address(view.data)
        memory._owner = self  # the array refers to the memory, the memory to this tensor
        return numpy.frombuffer(memory, numpy.dtype(self.dtype)).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array.astype(dtype) if dtype is not None else array.copy() if copy else array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0)

    def __dlpack__(self, **_: Any) -> Any:
        """A capsule that refers to this tensor; any number of them may be taken."""
        export = abi.DLManagedTensor(dl_tensor=self._managed.dl_tensor, manager_ctx=None, deleter=_release_export)
        address = ctypes.addressof(export)
        _exports[address] = (export, self)
        return _python.PyCapsule_New(address, _CAPSULE, ctypes.cast(_drop_capsule, ctypes.c_void_p))


# What consumers of capsules hold, by address: C code cannot hold Python objects.
_exports: dict[int, tuple[abi.DLManagedTensor, Tensor]] = {}


@abi.Deleter
def _release_export(address: int) -> None:
    _exports.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int) -> None:
    """A capsule that nobody consumed (a consumer renames it). It is being destroyed: no reference may be made."""
    is_valid = _capsule_is_valid(capsule, _CAPSULE)
    if is_valid:
        _exports.pop(_capsule_pointer(capsule, _CAPSULE), None)


_capsule_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python)
)

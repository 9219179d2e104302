"""ptc.h and dlpack.h in ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

VERSION = 1
INVALID_ARGUMENT = 1
MISMATCH = 2
INDEX_ERROR = 3
UNSUPPORTED = 5
CHECK_FILE = 1
CHECKPOINT_PARTIAL = 1
EXTERNAL_ERROR = 7

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's types of devices


class DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Device(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", Device),
        ("ndim", c_int32),
        ("dtype", DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p))]


READ_ONLY = 1


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


class DLPackExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("prev_api", c_void_p),
        ("managed_tensor_allocator", c_void_p),
        ("managed_tensor_from_py_object_no_sync", c_void_p),
        ("managed_tensor_to_py_object_no_sync", c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.PYFUNCTYPE(c_int32, ctypes.py_object, c_void_p)),
        ("current_work_stream", c_void_p),
    ]


class Dim(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("min", c_int64), ("max", c_int64)]


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", DataType),
        ("device", Device),
        ("ndim", c_int32),
        ("flags", c_uint32),
        ("dims", POINTER(Dim)),
    ]


class Symbol(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class Signature(ctypes.Structure):
    _fields_ = [
        ("model", c_char_p),
        ("compiler", c_char_p),
        ("target", c_char_p),
        ("inputs", POINTER(TensorInfo)),
        ("outputs", POINTER(TensorInfo)),
        ("states", POINTER(TensorInfo)),
        ("symbols", POINTER(Symbol)),
        ("input_count", c_int32),
        ("output_count", c_int32),
        ("state_count", c_int32),
        ("symbol_count", c_int32),
    ]


class External(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("call", c_char_p),
        ("source", c_char_p),
        ("inputs", POINTER(TensorInfo)),
        ("outputs", POINTER(TensorInfo)),
        ("input_count", c_int32),
        ("output_count", c_int32),
    ]


class Memory(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in ("weights", "states", "arena", "reserved", "peak")]


class Threading(ctypes.Structure):
    _fields_ = [("library", c_char_p), ("threads", c_int32)]


class Activity(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in ("calls", "threads", "wakeups")]


def _function(*arguments: Any, result: Any = c_int32) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)


Tensors = POINTER(POINTER(DLTensor))
Function = _function(c_void_p, POINTER(External), Tensors, Tensors, c_void_p, ctypes.c_size_t)


class Api(ctypes.Structure):
    _fields_ = [
        ("abi_version", c_uint32),
        ("size", c_uint32),
        ("signature", _function(result=POINTER(Signature))),
        ("status_string", _function(c_int32, result=c_char_p)),
        ("context_create", _function(POINTER(c_void_p))),
        ("context_destroy", _function(c_void_p, result=None)),
        ("last_error", _function(c_void_p, result=c_char_p)),
        ("call", _function(c_void_p, c_void_p, c_int32, c_void_p, c_int32)),
        ("call_new", _function(c_void_p, c_void_p, c_int32, c_void_p, c_int32)),
        ("output_shape", _function(c_void_p, POINTER(c_void_p), c_int32, c_int32, POINTER(c_int64), c_int32)),
        ("state_get", _function(c_void_p, c_int32, c_void_p)),
        ("state_set", _function(c_void_p, c_int32, c_void_p)),
        ("state_reset", _function(c_void_p)),
        ("set_threads", _function(c_void_p, c_int32)),
        ("threading", _function(c_void_p, POINTER(Threading))),
        ("memory", _function(c_void_p, POINTER(Memory))),
        ("trim", _function(c_void_p)),
        ("profile_start", _function(c_void_p)),
        ("profile_stop", _function(c_void_p, c_char_p)),
        ("set_seed", _function(c_void_p, c_uint64)),
        ("machine", _function(result=c_char_p)),
        ("externals", _function(POINTER(c_int32), result=POINTER(External))),
        ("set_function", _function(c_void_p, c_char_p, Function, c_void_p)),
        ("set_waiting", _function(c_void_p, c_int32)),
        ("activity", _function(c_void_p, POINTER(Activity))),
        ("context_create_with", _function(c_uint32, POINTER(c_void_p))),
        ("optional_inputs", _function(POINTER(c_int32), result=POINTER(TensorInfo))),
        ("context_create_on", _function(c_int32, c_uint32, POINTER(c_void_p))),
        ("device", _function(c_void_p, POINTER(Device))),
        ("set_stream", _function(c_void_p, c_void_p, c_int32)),
        ("get_stream", _function(c_void_p, POINTER(c_void_p), POINTER(c_int32))),
        ("synchronize", _function(c_void_p)),
        ("set_output_device", _function(c_void_p, POINTER(Device))),
        ("to_device", _function(c_void_p, c_void_p, POINTER(c_void_p))),
        ("entry_find", _function(c_char_p)),
        ("entry_name", _function(c_int32, result=c_char_p)),
        ("entry_signature", _function(c_int32, result=POINTER(Signature))),
        ("entry_optional_inputs", _function(c_int32, POINTER(c_int32), result=POINTER(TensorInfo))),
        ("call_entry", _function(c_void_p, c_int32, c_void_p, c_int32, c_void_p, c_int32)),
        ("call_entry_new", _function(c_void_p, c_int32, c_void_p, c_int32, c_void_p, c_int32)),
        (
            "entry_output_shape",
            _function(c_void_p, c_int32, POINTER(c_void_p), c_int32, c_int32, POINTER(c_int64), c_int32),
        ),
        # States by name, and as files.
        ("state_find", _function(c_char_p)),
        ("state_view", _function(c_void_p, c_int32, c_void_p)),
        ("checkpoint_save", _function(c_void_p, c_char_p)),
        ("checkpoint_load", _function(c_void_p, c_char_p, c_uint32)),
        ("info", _function(result=c_char_p)),
    ]


def pointer_array(addresses: list[int]) -> Any:
    return (c_void_p * len(addresses))(*addresses)

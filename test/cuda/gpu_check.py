"""gpu_check.py GATHER.so LOOP.so [PTC]: the programs of DevicePrograms.h on a real GPU, through the C interface alone.

With the program ptc, and torch at hand, the checks of the Python package (gpu_python.py) follow.
"""

import ctypes
import sys
import time


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


CPU, CUDA = 1, 2
FLOAT, INT = DataType(2, 32, 1), DataType(0, 64, 1)
passed = failed = 0


def check(what, found, expected):
    global passed, failed
    good = found == expected
    passed, failed = passed + good, failed + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f": {found}, not {expected}"))


def pointers(kind, items):
    return (kind * len(items))(*items)


class Model:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.ptc_last_error.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        status = self.library.ptc_context_create(ctypes.byref(self.context))
        if status:
            sys.exit(f"{path}: {status}: {self.library.ptc_last_error(None).decode()}")

    def error(self):
        return self.library.ptc_last_error(self.context).decode()

    def call(self, inputs, outputs):
        given = [pointers(ctypes.POINTER(Tensor), [ctypes.pointer(x) for x in side]) for side in (inputs, outputs)]
        return self.library.ptc_call(self.context, given[0], len(inputs), given[1], len(outputs))


def tensor(values, shape, dtype, device=None):
    """On the host; with `device` (the driver) on GPU 0."""
    data = (ctypes.c_float if dtype is FLOAT else ctypes.c_int64)
    buffer = (data * max(len(values), 1))(*values)
    made = Tensor(ctypes.addressof(buffer), Device(CPU, 0), len(shape), dtype, pointers(ctypes.c_int64, shape), None, 0)
    made.buffer = buffer
    if device:
        address = ctypes.c_uint64()
        device.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(ctypes.sizeof(buffer)))
        device.cuMemcpyHtoDAsync_v2(address, buffer, ctypes.c_size_t(ctypes.sizeof(buffer)), None)
        device.cuStreamSynchronize(None)
        made.data, made.device = address.value, Device(CUDA, 0)
    return made


def check_gather(path):
    model = Model(path)
    rows = 100
    x = [float(i) for i in range(rows * 4)]
    reverse = list(range(rows))[::-1]
    expected = [x[reverse[i] * 4 + j] * (j + 1) for i in range(rows) for j in range(4)]
    inputs = [tensor(x, [rows, 4], FLOAT), tensor(reverse, [rows], INT)]
    y = tensor([0.0] * (rows * 4), [rows, 4], FLOAT)
    check("a call with tensors of the host", (model.call(inputs, [y]), model.error()), (0, ""))
    check("its results", list(y.buffer), expected)
    bad = [inputs[0], tensor([rows] + reverse[1:], [rows], INT)]
    message = "gather: index out of range in a dimension, at net.py:7"
    check("an index out of range", (model.call(bad, [y]), model.error()), (3, message))
    y = tensor([0.0] * (rows * 4), [rows, 4], FLOAT)
    check("a call after it", model.call(inputs, [y]), 0)
    check("its results", list(y.buffer), expected)
    total = tensor([0.0], [1], FLOAT)
    model.library.ptc_state_get(model.context, 0, ctypes.byref(total))
    print(f"     the state is {total.buffer[0]} (300, or 400 with the call that failed)")

    driver = ctypes.CDLL("libcuda.so.1")
    primary = ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0)
    driver.cuCtxPushCurrent_v2(primary)
    inputs = [tensor(x, [rows, 4], FLOAT, driver), tensor(reverse, [rows], INT, driver)]
    y = tensor([0.0] * (rows * 4), [rows, 4], FLOAT, driver)
    check("a call with tensors on the GPU", (model.call(inputs, [y])), 0)
    driver.cuMemcpyDtoHAsync_v2(y.buffer, ctypes.c_uint64(y.data), ctypes.c_size_t(ctypes.sizeof(y.buffer)), None)
    driver.cuStreamSynchronize(None)
    check("its results", list(y.buffer), expected)
    begun = time.perf_counter()
    for _ in range(1000):
        model.call(inputs, [y])
    print(f"     {(time.perf_counter() - begun) * 1e3:.1f} us a call of three launches and a copy")
    model.library.ptc_context_destroy(model.context)


def check_loop(path):
    model = Model(path)
    for n in (0, 2, 6):
        y = tensor([0] * 1024, [1024], INT)
        check(f"a loop of {n}", (model.call([tensor([n], [1], INT)], [y]), model.error()), (0, ""))
        size = 3**n
        check("its size and results", (y.shape[0], list(y.buffer)[:size]), (size, list(range(10, 10 + size))))
    model.library.ptc_context_destroy(model.context)


check_gather(sys.argv[1])
check_loop(sys.argv[2])
if len(sys.argv) > 3:
    import gpu_python

    passed, failed = (mine + its for mine, its in zip((passed, failed), gpu_python.run()))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)

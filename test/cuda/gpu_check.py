"""gpu_check.py GATHER.so LOOP.so [PTC]: the programs of DevicePrograms.h on a real GPU, through the C interface alone.

With the program ptc, and torch at hand, the checks of the Python package (gpu_python.py) follow.
"""

import ctypes
import json
import sys
import tempfile
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
    message = f"gather: index out of range in a dimension: {rows} is not from 0 to {rows - 1}, at net.py:7"
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


class Managed(ctypes.Structure):
    pass


Managed._fields_ = [
    ("tensor", Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))),
]


def check_streams(path):
    """Calls in streams of the caller's, tensors that the model makes on the GPU, strides, times."""
    model, driver = Model(path), ctypes.CDLL("libcuda.so.1")
    primary = ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(primary), 0)
    driver.cuCtxPushCurrent_v2(primary)
    streams = [ctypes.c_void_p() for _ in range(2)]
    for stream in streams:
        driver.cuStreamCreate(ctypes.byref(stream), 1)  # in no order with the default stream, as PyTorch's
    rows = 1000
    x = [float(i % 1000) for i in range(rows * 4)]
    reverse = list(range(rows))[::-1]
    expected = [x[reverse[i] * 4 + j] * (j + 1) for i in range(rows) for j in range(4)]
    columns = [x[i * 4 + j] for j in range(4) for i in range(rows)]
    lib, context = model.library, model.context

    def read(address):
        found = (ctypes.c_float * (rows * 4))()
        driver.cuMemcpyDtoHAsync_v2(found, ctypes.c_uint64(address), ctypes.c_size_t(rows * 16), None)
        driver.cuStreamSynchronize(None)
        return list(found)

    def call_new(inputs):
        made = ctypes.POINTER(Managed)()
        given = pointers(ctypes.POINTER(Tensor), [ctypes.pointer(x) for x in inputs])
        status = lib.ptc_call_new(context, given, len(inputs), ctypes.byref(made), 1)
        return status, made

    given = [tensor(x, [rows, 4], FLOAT, driver), tensor(reverse, [rows], INT, driver)]
    y = tensor([0.0] * (rows * 4), [rows, 4], FLOAT, driver)
    for index, stream in enumerate(streams):
        check(f"stream {index} is set", lib.ptc_set_stream(context, stream, 1), 0)
        check("a call in it", model.call(given, [y]), 0)
    check("it is waited for", (lib.ptc_synchronize(context), model.error()), (0, ""))
    check("its results", read(y.data), expected)

    strided = tensor(columns, [rows, 4], FLOAT, driver)
    strided.strides = pointers(ctypes.c_int64, [1, rows])
    status, made = call_new([strided, given[1]])
    check("a strided tensor, and an output that the model makes", (status, model.error()), (0, ""))
    lib.ptc_synchronize(context)
    check("is on the GPU", made.contents.tensor.device.type, CUDA)
    check("its results", read(made.contents.tensor.data), expected)
    made.contents.deleter(made)
    host = tensor(columns, [rows, 4], FLOAT)
    host.strides = pointers(ctypes.c_int64, [1, rows])
    made = ctypes.POINTER(Managed)()
    check("a tensor is copied", lib.ptc_to_device(context, ctypes.byref(host), ctypes.byref(made)), 0)
    lib.ptc_synchronize(context)
    check("to the GPU", read(made.contents.tensor.data), x)
    made.contents.deleter(made)

    bad = tensor([rows] + reverse[1:], [rows], INT, driver)
    message = f"gather: index out of range in a dimension: {rows} is not from 0 to {rows - 1}, at net.py:7"
    check("a call with an index out of range", model.call([given[0], bad], [y]), 0)
    check("is told of", (lib.ptc_synchronize(context), model.error()), (3, message))
    check("and again", model.call([given[0], bad], [y]), 0)
    driver.cuStreamSynchronize(streams[1])
    told = (model.call(given, [y]), model.error())
    check("by the next call", told, (3, "a call before this one has failed: " + message))
    check("which is followed by a good one", (model.call(given, [y]), lib.ptc_synchronize(context)), (0, 0))
    check("with its results", read(y.data), expected)

    graph = ctypes.c_void_p()
    driver.cuStreamBeginCapture_v2(streams[1], 0)
    check("a call in a stream that is captured", model.call(given, [y]), 5)
    driver.cuStreamEndCapture(streams[1], ctypes.byref(graph))
    driver.cuGraphDestroy(graph)
    check("and one behind it", (model.call(given, [y]), lib.ptc_synchronize(context)), (0, 0))

    def measure(what, call):
        for _ in range(100):
            call()
        lib.ptc_synchronize(context)
        begun = time.perf_counter()
        for _ in range(1000):
            call()
        enqueued = time.perf_counter() - begun
        lib.ptc_synchronize(context)
        whole = time.perf_counter() - begun
        print(f"     {what}: {enqueued * 1e3:.1f} us a call to return, {whole * 1e3:.1f} us to be done")

    measure("a stream of the caller's", lambda: model.call(given, [y]))
    measure("a new output there", lambda: (made := call_new(given)[1]).contents.deleter(made))
    lib.ptc_set_stream(context, None, 0)
    measure("a stream of its own", lambda: model.call(given, [y]))
    measure("a new output there", lambda: (made := call_new(given)[1]).contents.deleter(made))
    on_host = [tensor(x, [rows, 4], FLOAT), tensor(reverse, [rows], INT)]
    back = tensor([0.0] * (rows * 4), [rows, 4], FLOAT)
    measure("tensors on the host", lambda: model.call(on_host, [back]))
    check("their results", list(back.buffer), expected)

    side = 8192
    big = tensor([], [side, side], FLOAT)
    big.buffer = (ctypes.c_float * (side * side))(*range(1000))
    big.data = ctypes.addressof(big.buffer)
    transposed = [1, side]

    def copy(what, strides):
        big.strides = pointers(ctypes.c_int64, strides) if strides else None
        for _ in range(3):
            begun = time.perf_counter()
            lib.ptc_to_device(context, ctypes.byref(big), ctypes.byref(made))
            took = time.perf_counter() - begun
            copied = made.contents.tensor
            found = read(copied.data)
            made.contents.deleter(made)
        print(f"     {what}: {side * side * 4 / took / 1e9:.1f} GB/s")
        return found

    check("a large tensor of the host", copy("row-major on the host", None)[:1000], list(big.buffer[:1000]))
    check("transposed", copy("transposed on the host", transposed)[:2], [0.0, 0.0])
    big.strides = None
    on_gpu = ctypes.POINTER(Managed)()
    lib.ptc_to_device(context, ctypes.byref(big), ctypes.byref(on_gpu))
    big.data, big.device = on_gpu.contents.tensor.data, Device(CUDA, 0)
    check("on the GPU", copy("row-major on the GPU", None)[:1000], list(big.buffer[:1000]))
    check("transposed", copy("transposed on the GPU", transposed)[:2], [0.0, 0.0])
    big.shape = pointers(ctypes.c_int64, [side, side - 4])
    copy("rows of a wider matrix on the GPU", [side, 1])

    lib.ptc_profile_start(context)
    check("a profiled call", model.call(given, [y]), 0)
    trace = f"{tempfile.gettempdir()}/gpu-trace.json"
    check("its profile", lib.ptc_profile_stop(context, trace.encode()), 0)
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    times = {event["name"]: event["dur"] for event in events if event.get("cat") == "kernel"}
    check("has the kernels", sorted(times), ["count", "gather", "scale"])
    print(f"     {times} us")
    check("within the call", all(0 < took < 1000 for took in times.values()), True)
    lib.ptc_context_destroy(context)


def check_loop(path):
    model = Model(path)
    for n in (0, 2, 6):
        y = tensor([0] * 1024, [1024], INT)
        check(f"a loop of {n}", (model.call([tensor([n], [1], INT)], [y]), model.error()), (0, ""))
        size = 3**n
        check("its size and results", (y.shape[0], list(y.buffer)[:size]), (size, list(range(10, 10 + size))))
    model.library.ptc_context_destroy(model.context)


check_gather(sys.argv[1])
check_streams(sys.argv[1])
check_loop(sys.argv[2])
if len(sys.argv) > 3:
    import gpu_python

    passed, failed = (mine + its for mine, its in zip((passed, failed), gpu_python.run()))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)

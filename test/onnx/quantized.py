"""Products of tensors that bytes stand for, in every form that has a kernel of its own where the machine multiplies bytes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from rows import Row, model, node, numbers, random, value

BYTES = {"u": np.uint8, "s": np.int8}


def weight(kind: str, *shape: int) -> np.ndarray:
    return random.integers(0 if kind == "u" else -128, 256 if kind == "u" else 128, shape).astype(BYTES[kind])


def through(name: str, kind: str, zero: int) -> tuple[list, dict]:
    """x as bytes and as numbers again, which are called {name}.q."""
    steps = [node("QuantizeLinear", [name, "scale", "zero"], [f"{name}.bytes"]), node("DequantizeLinear", [f"{name}.bytes", "scale", "zero"], [f"{name}.q"])]
    return steps, {"scale": np.float32(0.03), "zero": BYTES[kind](zero)}


def convolution(kind: str, zero: int, of: str, sizes: list, kernel: list, perChannel: bool = True, **more) -> Row:
    """Of the numbers that x's bytes stand for by those that a weight's stand for."""
    steps, constants = through("x", kind, zero)
    outputs = kernel[0]
    scales = random.uniform(1e-4, 1e-3, outputs).astype(np.float32) if perChannel else np.float32(2e-4)
    centre = 128 if of == "u" else 0
    zeros = np.full(outputs if perChannel else (), centre, BYTES[of])
    steps += [node("DequantizeLinear", ["w", "scales", "zeros"], ["wide"], axis=0), node("Conv", ["x.q", "wide", "bias"], ["y"], **more)]
    constants |= {"w": weight(of, *kernel), "scales": scales, "zeros": zeros, "bias": numbers(outputs)}
    called = [3 if isinstance(size, str) else size for size in sizes]
    return Row(f"bytes-convolved-{kind}{zero}-{of}-{'x'.join(map(str, kernel))}", model(steps, {"x": sizes}, ["y"], constants, opset=19),
               [{"x": numbers(*called)}, {"x": 9 * numbers(*called)}])


def product(kind: str, zero: int, sizes: list, columns: int, turned: bool) -> Row:
    steps, constants = through("x", kind, zero)
    depth = sizes[-1]
    constants |= {"w": weight("s", *((columns, depth) if turned else (depth, columns))), "scales": np.float32(2e-4), "zeros": np.int8(0), "bias": numbers(columns)}
    steps += [node("DequantizeLinear", ["w", "scales", "zeros"], ["wide"])]
    steps += [node("Gemm", ["x.q", "wide", "bias"], ["y"], transB=1)] if turned else [node("MatMul", ["x.q", "wide"], ["y"])]
    called = [5 if isinstance(size, str) else size for size in sizes]
    return Row(f"bytes-multiplied-{kind}{zero}-{depth}x{columns}", model(steps, {"x": sizes}, ["y"], constants, opset=19), [{"x": numbers(*called)}])


def network() -> Row:
    """What one quantized layer gives is read by two, one of which adds it to its own; the second reads fewer pixels."""
    steps, constants = through("x", "s", 5)
    layers = (("a", 24, 3, "x.q", 1), ("b", 24, 24, "a.q", 1), ("c", 20, 24, "sum", 2))
    for name, outputs, inputs, source, stride in layers:
        size = 1 if name == "b" else 3
        constants |= {f"{name}.w": weight("s", outputs, inputs, size, size), f"{name}.scales": random.uniform(0.001, 0.004, outputs).astype(np.float32),
                      f"{name}.zeros": np.zeros(outputs, np.int8)}
        steps += [node("DequantizeLinear", [f"{name}.w", f"{name}.scales", f"{name}.zeros"], [f"{name}.wide"], axis=0),
                  node("Conv", [source, f"{name}.wide"], [f"{name}.y"], pads=[size // 2] * 4, strides=[stride, stride])]
        if name == "a":
            steps += [node("Relu", ["a.y"], ["a.positive"]), node("QuantizeLinear", ["a.positive", "scale", "low"], ["a.bytes"]),
                      node("DequantizeLinear", ["a.bytes", "scale", "low"], ["a.q"])]
        if name == "b":
            steps += [node("QuantizeLinear", ["b.y", "scale", "zero"], ["b.bytes"]), node("DequantizeLinear", ["b.bytes", "scale", "zero"], ["b.q"]),
                      node("Add", ["a.q", "b.q"], ["added"]), node("QuantizeLinear", ["added", "scale", "zero"], ["s.bytes"]),
                      node("DequantizeLinear", ["s.bytes", "scale", "zero"], ["sum"])]
    constants |= {"low": np.int8(-128)}
    # A multiple of the scale and half of it is rounded either way by one who adds up in another order: none is near.
    return Row("bytes-in-layers", model(steps, {"x": [1, 3, 12, 10]}, ["c.y"], constants, opset=19), [{"x": numbers(1, 3, 12, 10)}])


def straight() -> Row:
    """A product, with a bias and without, straight to a quantizer."""
    steps, constants = through("x", "u", 7)
    for name, source in (("a", "x.q"), ("b", "a.q")):
        constants |= {f"{name}.w": weight("s", 48, 48), f"{name}.scales": random.uniform(1e-4, 1e-3, 48).astype(np.float32),
                      f"{name}.zeros": np.zeros(48, np.int8)}
        steps += [node("DequantizeLinear", [f"{name}.w", f"{name}.scales", f"{name}.zeros"], [f"{name}.wide"], axis=0),
                  node("Gemm", [source, f"{name}.wide", *(["bias"] if name == "a" else [])], [f"{name}.y"], transB=1),
                  node("QuantizeLinear", [f"{name}.y", "scale", "zero"], [f"{name}.bytes"]),
                  node("DequantizeLinear", [f"{name}.bytes", "scale", "zero"], [f"{name}.q"])]
    return Row("bytes-straight-to-a-quantizer", model(steps, {"x": [1, 48]}, ["b.q"], constants | {"bias": numbers(48)}, opset=19), [{"x": numbers(1, 48)}])


def operator(name: str, nodes: list, inputs: dict, constants: dict, outputs: list, kind: int) -> Row:
    """Of operators on bytes: their sums are exact, whatever they are multiplied in."""
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in inputs.items()}
    made = model(nodes, {n: (kinds[n], list(a.shape)) for n, a in inputs.items()}, [value(n, kind, None) for n in outputs], constants, opset=19)
    return Row(name, made, [inputs])


def operators() -> list[Row]:
    points = {"sx": np.float32(0.03), "zx": np.uint8(120), "sy": np.float32(0.7), "zy": np.uint8(131)}
    rows = []
    for groups in (1, 24):
        w = weight("s", 24, 24 // groups, 3, 3)
        constants = points | {"w": w, "sw": random.uniform(0.01, 0.05, 24).astype(np.float32), "zw": np.zeros(24, np.int8), "b": random.integers(-9999, 9999, 24).astype(np.int32)}
        convolved = node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], group=groups, **PADS)
        rows.append(operator(f"operator-convolution-of-{groups}", [convolved], {"x": weight("u", 2, 24, 9, 8)}, constants, ["y"], TensorProto.UINT8))
    constants = points | {"w": weight("s", 700, 40), "sw": random.uniform(0.01, 0.05, 40).astype(np.float32), "zw": np.zeros(40, np.int8)}
    product = node("QLinearMatMul", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["y"])
    rows.append(operator("operator-product", [product], {"x": weight("u", 5, 700)}, constants, ["y"], TensorProto.UINT8))
    both = node("QLinearMatMul", ["x", "sx", "zx", "w", "sx", "zx", "sy", "zy"], ["y"])
    rows.append(operator("operator-product-of-two", [both], {"x": weight("u", 2, 6, 64), "w": weight("u", 2, 64, 20)}, points, ["y"], TensorProto.UINT8))
    # Sums that float32 has not: 800 terms of up to 65025.
    whole = node("MatMulInteger", ["x", "w"], ["y"])
    large = {"x": np.full((3, 800), 255, np.uint8), "w": 255 - weight("u", 800, 20) // 8}
    rows.append(operator("operator-of-large-sums", [whole], large, {}, ["y"], TensorProto.INT32))
    return rows


PADS = {"pads": [1, 1, 1, 1]}
QUANTIZED = [
    convolution("u", 0, "s", [1, 16, 9, 7], [24, 16, 3, 3], **PADS),
    convolution("u", 7, "s", [2, 16, 9, 7], [24, 16, 3, 3], **PADS, strides=[2, 2]),
    convolution("s", -128, "s", [1, 20, 5, 40], [33, 20, 3, 3], **PADS, dilations=[1, 1]),
    convolution("s", 3, "u", [1, 3, 13, 11], [32, 3, 5, 5], pads=[2, 2, 2, 2], strides=[2, 2]),
    convolution("s", -5, "s", [1, 64, 4, 4], [48, 64, 1, 1]),
    convolution("u", 128, "u", [1, 18, 30], [16, 18, 5], pads=[2, 2], perChannel=False),
    convolution("s", 1, "s", ["n", 16, "h", "w"], [16, 16, 3, 3], **PADS),
    convolution("u", 9, "s", [1, 32, 6, 6], [32, 8, 3, 3], **PADS, group=4),
    convolution("u", 9, "s", [1, 32, 6, 6], [32, 1, 3, 3], **PADS, group=32),
    product("u", 0, [6, 64], 32, turned=False),
    product("u", 100, [7, 50], 33, turned=True),
    product("s", -3, [2, "n", 48], 40, turned=False),
    network(),
    straight(),
    *operators(),
]

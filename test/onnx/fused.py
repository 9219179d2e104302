"""Operators of the domain com.microsoft, beside what ONNX Runtime's documentation says that they are, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from rows import Row, model, node, numbers, random, value

UINT8, INT32 = TensorProto.UINT8, TensorProto.INT32


def row(name: str, nodes: onnx.NodeProto | Sequence, feeds: list[dict], expected: list, constants: dict | None = None,
        outputs: Sequence = ("y",), symbols: dict | None = None) -> Row:
    """Inputs have the types of the first call's, and its sizes where `symbols` gives no other."""
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in feeds[0].items()}
    inputs = {n: (kinds[n], (symbols or {}).get(n, list(a.shape))) for n, a in feeds[0].items()}
    made = model([nodes] if isinstance(nodes, onnx.NodeProto) else nodes, inputs, outputs, constants)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return Row(f"fused-{name}", made, feeds, expected=expected)


def fused(operator: str, inputs: Sequence[str], outputs: Sequence[str] = ("y",), **attributes) -> onnx.NodeProto:
    return node(operator, list(inputs), list(outputs), domain="com.microsoft", **attributes)


def plain(operator: str, operands: dict, **attributes) -> np.ndarray:
    """What ONNX's own operator answers, by its evaluator."""
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in operands.items()}
    made = model([node(operator, list(operands), ["y"], **attributes)],
                 {n: (kinds[n], list(a.shape)) for n, a in operands.items()}, ["y"])
    return ReferenceEvaluator(made).run(None, operands)[0]


def gelu(x: np.ndarray) -> np.ndarray:
    return (x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2).astype(np.float32)


def tanh_gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3))


def normal(x: np.ndarray, epsilon: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def root_mean_square(x: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


def heads(x: np.ndarray, count: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
    scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3]) + bias
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = (scores / scores.sum(-1, keepdims=True)) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1).astype(np.float32)


def causal(queries: int, keys: int, past: np.ndarray | int = 0) -> np.ndarray:
    """[sequences or 1, 1, queries, keys]"""
    before = np.reshape(past, (-1, 1, 1, 1))
    return np.where(np.arange(keys) <= before + np.arange(queries)[:, None], 0, -np.inf)


def turn(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Pairs of the two halves, by angles [sequences or 1, length, half]."""
    a, b = np.split(x, 2, -1)
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return np.concatenate([c * a - s * b, s * a + c * b], -1).astype(np.float32)


def quantize(x: np.ndarray, scale: float, zero: int, kind: type = np.uint8) -> np.ndarray:
    limits = np.iinfo(kind)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(kind)


def bytes_of(*shape: int, kind: type = np.uint8) -> np.ndarray:
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max + 1, shape).astype(kind)


def scales(**named: float) -> dict:
    return {n: np.float32(v) for n, v in named.items()}


def products() -> list[Row]:
    a, w, bias = numbers(2, 5, 3), numbers(4, 5), numbers(4)
    x, kernel, more = numbers(1, 3, 6, 5), numbers(4, 3, 3, 3), numbers(1, 4, 6, 5)
    convolved = plain("Conv", {"x": x, "w": kernel, "b": bias}, pads=[1, 1, 1, 1])
    last = (0, 2, 3, 1)
    return [
        row("product", fused("FusedMatMul", ["a", "w"], transA=1, transB=1, alpha=0.5), [{"a": a}],
            [a.swapaxes(1, 2) @ w.T * np.float32(0.5)], {"w": w}, symbols={"a": ["n", 5, 3]}),
        row("gemm", fused("FusedGemm", ["a", "w", "b"], transB=1, activation="LeakyRelu", activation_alpha=0.1), [{"a": a[0].T.copy()}],
            [np.where((y := a[0].T @ w.T + bias) > 0, y, y * np.float32(0.1))], {"w": w, "b": bias}),
        row("convolution", fused("FusedConv", ["x", "w", "b", "z"], pads=[1, 1, 1, 1], activation="Relu"), [{"x": x, "z": more}],
            [np.maximum(convolved + more, 0)], {"w": kernel, "b": bias}),
        row("convolution-channels-last", fused("NhwcConv", ["x", "w", "b"], pads=[1, 1, 1, 1]),
            [{"x": x.transpose(last).copy()}], [convolved.transpose(last)], {"w": kernel, "b": bias}),
    ]


def elementwise() -> list[Row]:
    x, skip, bias, scale, shift = numbers(2, 3, 8), numbers(2, 3, 8), numbers(8), numbers(8), numbers(8)
    total = x + skip + bias
    words, kinds = random.integers(0, 9, (2, 5)).astype(np.int32), random.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    tables = {"w": numbers(9, 8), "p": numbers(12, 8), "s": numbers(2, 8)}
    placed = tables["w"][words] + tables["p"][:5] + tables["s"][kinds]
    images = numbers(2, 4, 3, 6)
    grouped = normal(images.transpose(0, 3, 1, 2).reshape(2, 3, -1), 1e-5).reshape(2, 6, 4, 3)
    grouped = (grouped * scale[:6, None, None] + shift[:6, None, None]).transpose(0, 2, 3, 1)
    return [
        row("gelu", [fused("BiasGelu", ["x", "b"], ["e"]), fused("FastGelu", ["x", "b"], ["t"]), fused("Gelu", ["x"], ["g"]),
                     fused("FastGelu", ["x"], ["f"]), fused("QuickGelu", ["x"], ["q"], alpha=1.5)], [{"x": x}],
            [[gelu(x + bias), tanh_gelu(x + bias), gelu(x), tanh_gelu(x), x / (1 + np.exp(-1.5 * x))]], {"b": bias},
            ["e", "t", "g", "f", "q"], {"x": ["n", "l", 8]}),
        row("layer-norm", fused("SkipLayerNormalization", ["x", "k", "g", "h", "b"], ["y", "", "", "sum"], epsilon=1e-5),
            [{"x": x, "k": skip}], [[normal(total, 1e-5) * scale + shift, total]], {"g": scale, "h": shift, "b": bias}, ["y", "sum"]),
        row("rms-norm", fused("SkipSimplifiedLayerNormalization", ["x", "k", "g"], ["y", "", "", "sum"], epsilon=1e-5),
            [{"x": x, "k": skip}], [[root_mean_square(x + skip, 1e-5) * scale, x + skip]], {"g": scale}, ["y", "sum"]),
        row("embedding", fused("EmbedLayerNormalization", ["i", "k", "w", "p", "s", "g", "h", "m"], ["y", "count", "sum"], epsilon=1e-5),
            [{"i": words, "k": kinds, "m": mask}],
            [[normal(placed, 1e-5) * scale + shift, np.array([3, 5], np.int32), placed]],
            tables | {"g": scale, "h": shift}, ["y", value("count", INT32, None), "sum"],
            {"i": ["n", "l"], "k": ["n", "l"], "m": ["n", "l"]}),
        row("group-norm", fused("GroupNorm", ["x", "g", "h"], groups=3, activation=1, epsilon=1e-5), [{"x": images}],
            [grouped / (1 + np.exp(-grouped))], {"g": scale[:6], "h": shift[:6]}),
    ]


def attention() -> list[Row]:
    x, w, bias = numbers(2, 5, 6), numbers(6, 24), numbers(24)
    mask, lengths = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32), np.array([3, 5], np.int32)
    q, k, v = (heads(part, 2) for part in np.split(x @ w + bias, 3, -1))
    past = numbers(2, 2, 2, 3, 4)
    long_k, long_v = (np.concatenate([past[i], part], 2) for i, part in ((0, k), (1, v)))
    apart = numbers(2, 5, 8), numbers(2, 7, 8), numbers(2, 7, 8)
    moved = [heads(part + b, 2) for part, b in zip(apart, np.split(bias, 3), strict=True)]
    padding = np.where(np.arange(7) < np.array([4, 7])[:, None], 0, -10000)[:, None, None]
    angles = np.arange(16)[:, None] / 10.0 ** np.arange(2)
    tables = {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}
    places = np.array([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])
    return [
        row("attention", fused("Attention", ["x", "w", "b", "m"], num_heads=2), [{"x": x, "m": mask}, {"x": x, "m": mask[::-1].copy()}],
            [attend(q, k, v, np.where(m, 0, -10000)[:, None, None]) for m in (mask, mask[::-1])], {"w": w, "b": bias},
            symbols={"x": ["n", "l", 6], "m": ["n", "l"]}),
        row("attention-of-lengths", fused("Attention", ["x", "w", "b", "m"], num_heads=2), [{"x": x, "m": lengths}],
            [attend(q, k, v, np.where(mask, 0, -10000)[:, None, None])], {"w": w, "b": bias}),
        row("attention-with-past", fused("Attention", ["x", "w", "b", "", "p"], ["y", "present"], num_heads=2, unidirectional=1),
            [{"x": x, "p": past}], [[attend(q, long_k, long_v, causal(5, 8, 3)), np.stack([long_k, long_v])]],
            {"w": w, "b": bias}, ["y", "present"], {"x": ["n", "l", 6], "p": [2, "n", 2, "past", 4]}),
        row("heads", fused("MultiHeadAttention", ["q", "k", "v", "b", "m"], num_heads=2),
            [dict(zip("qkvm", (*apart, np.array([4, 7], np.int32)), strict=True))], [attend(*moved, padding)], {"b": bias}),
        row("rotary", fused("RotaryEmbedding", ["x", "i", "c", "s"], num_heads=2), [{"x": apart[0], "i": places}],
            [turn(heads(apart[0], 2), angles[places]).transpose(0, 2, 1, 3).reshape(2, 5, 8)], tables),
        *grouped_attention(),
    ]


def grouped_attention() -> list[Row]:
    """A prompt of two sequences, and a token of each behind four and two others."""
    angles = np.arange(16)[:, None] / 10.0 ** np.arange(8)
    tables = {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}
    feeds, expected = [], []
    for past, length, ends in ((0, 4, [3, 3]), (4, 1, [4, 2])):
        q, k, v = numbers(2, length, 64), numbers(2, length, 32), numbers(2, length, 32)
        old_k, old_v = numbers(2, 2, past, 16), numbers(2, 2, past, 16)
        before = np.array(ends) + 1 - length if past else np.zeros(2, int)
        places = before[:, None] + np.arange(length)
        new_q, new_k, new_v = turn(heads(q, 4), angles[places]), turn(heads(k, 2), angles[places]), heads(v, 2)
        all_k, all_v = (np.concatenate([old, np.zeros_like(new)], 2) for old, new in ((old_k, new_k), (old_v, new_v)))
        for sequence, start in enumerate(before):
            all_k[sequence, :, start : start + length] = new_k[sequence]
            all_v[sequence, :, start : start + length] = new_v[sequence]
        y = attend(new_q, all_k.repeat(2, 1), all_v.repeat(2, 1), causal(length, past + length, before))
        feeds.append({"q": q, "k": k, "v": v, "pk": old_k, "pv": old_v, "e": np.array(ends, np.int32),
                      "m": np.ones((2, past + length), np.float32)})
        expected.append(y)
    nodes = [node("Shape", ["m"], ["sizes"]), node("Gather", ["sizes", "one"], ["wide"]), node("Cast", ["wide"], ["t"], to=INT32),
             fused("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "e", "t", "c", "s"], num_heads=4, kv_num_heads=2, do_rotary=1)]
    cache = ["n", 2, "past", 16]
    return [row("groups-of-queries", nodes, feeds, expected, tables | {"one": np.int64(1)},
                symbols={"q": ["n", "l", 64], "k": ["n", "l", 32], "v": ["n", "l", 32], "pk": cache, "pv": cache, "e": ["n"],
                         "m": ["n", "total"]})]


def code(x: np.ndarray) -> np.ndarray:
    """Of a step of 0.5 and a zero point of 7, which ONNX Runtime's kernels add before they round: halves become even codes."""
    return np.clip(np.rint(x / 0.5 + 7), 0, 255).astype(np.uint8)


def quantized() -> list[Row]:
    a, b = bytes_of(2, 3, 4), bytes_of(2, 3, 4)
    real_a, real_b = (a - 128.0) * 0.25, (b - 100.0) * 0.5
    two = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
    points = scales(sa=0.25, sb=0.5, sy=0.5) | {"za": np.uint8(128), "zb": np.uint8(100), "zy": np.uint8(7)}
    byte = [value("y", UINT8, None)]
    images = bytes_of(1, 4, 5, 6)
    pooled = plain("AveragePool", {"x": ((images - 128.0) * 0.25).astype(np.float32)}, kernel_shape=[2, 2])
    x, w = numbers(3, 20), bytes_of(20, 5, kind=np.int8)
    spread = max(x.max(), 0) - min(x.min(), 0)
    step = np.float32(spread) / np.float32(255)
    zero = np.clip(np.rint(-min(x.min(), 0) / step), 0, 255)
    exact = (quantize(x, step, int(zero)) - zero) @ (w - 3.0)
    columns = np.abs(numbers(5))
    return [
        row("sum", fused("QLinearAdd", two), [{"a": a, "b": b}], [code(real_a + real_b)], points, byte),
        row("times", fused("QLinearMul", two), [{"a": a, "b": b}], [code(real_a * real_b)], points, byte),
        row("sigmoid", fused("QLinearSigmoid", ["a", "sa", "za", "sq", "zq"]), [{"a": a}],
            [quantize(1 / (1 + np.exp(-real_a)), 1 / 256, 0)], points | scales(sq=1 / 256) | {"zq": np.uint8(0)}, byte),
        row("concatenation", fused("QLinearConcat", ["sy", "zy", "a", "sa", "za", "b", "sb", "zb"], axis=-1), [{"a": a, "b": b}],
            [quantize(np.concatenate([real_a, real_b], -1), 0.5, 7)], points, byte),
        row("means", fused("QLinearAveragePool", ["x", "sa", "za", "sy", "zy"], kernel_shape=[2, 2], channels_last=1),
            [{"x": images.transpose(0, 2, 3, 1).copy()}], [code(pooled).transpose(0, 2, 3, 1)], points, byte),
        row("dynamic-product", fused("DynamicQuantizeMatMul", ["x", "w", "s", "z"]), [{"x": x}],
            [(exact * step * columns).astype(np.float32)], {"w": w, "s": columns, "z": np.int8(3)}, symbols={"x": ["n", 20]}),
        row("product-to-float", fused("MatMulIntegerToFloat", ["a", "w", "sa", "s", "za", "z", "b"]), [{"a": a[0]}],
            [(((a[0] - 128.0) @ (w[:4] - 3.0)) * 0.25 * columns + 1).astype(np.float32)],
            points | {"w": w[:4], "s": columns, "z": np.int8(3), "b": np.ones(5, np.float32)}),
        row("gemm-of-bytes", fused("QGemm", ["a", "sa", "za", "w", "sb", "z", "c", "sy", "zy"]), [{"a": a[0]}],
            [quantize(((a[0] - 128.0) @ (w[:4] - 3.0) + 50) * 0.125, 0.5, 7)],
            points | {"w": w[:4], "z": np.int8(3), "c": np.full(5, 50, np.int32)}, byte),
        *packed(),
    ]


def packed() -> list[Row]:
    """Weights of four and of eight bits, with zero points and without, whose depth is no multiple of a block."""
    rows = []
    for bits, has_zeros in ((4, True), (4, False), (8, True)):
        depth, block, count = 40, 16, 5
        blocks, codes = 3, random.integers(0, 2**bits, (count, 3, 16)).astype(np.uint8)
        zeros = random.integers(0, 2**bits, (count, blocks)).astype(np.uint8) if has_zeros else np.full((count, blocks), 2 ** (bits - 1), np.uint8)
        steps, x = np.abs(numbers(count, blocks)), numbers(2, 3, depth)

        def pack(x: np.ndarray, bits: int = bits) -> np.ndarray:
            even = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, x.shape[-1] % 2)])
            return x if bits == 8 else even[..., ::2] | even[..., 1::2] << 4

        weight = ((codes.astype(np.float32) - zeros[..., None]) * steps[..., None]).reshape(count, -1)[:, :depth]
        constants = {"w": pack(codes), "s": steps} | ({"z": pack(zeros).reshape(-1)} if has_zeros else {})
        rows.append(row(f"weights-of-{bits}-bits{'' if has_zeros else '-without-zeros'}",
                        fused("MatMulNBits", ["x", *constants], K=depth, N=count, bits=bits, block_size=block), [{"x": x}],
                        [(x @ weight.T).astype(np.float32)], constants, symbols={"x": ["n", "l", depth]}))
    return rows


FUSED = [*products(), *elementwise(), *attention(), *quantized()]
FUSED_ERRORS = [
    ("unknown-fused", row("", fused("Mystery", ["x"]), [{"x": numbers(2)}], []).model, ["operator Mystery", "com.microsoft"]),
    ("quantized-complex-numbers",
     row("", fused("QLinearLeakyRelu", ["x", "s", "", "s", ""]), [{"x": numbers(2).astype(np.complex64)}], [], {"s": np.float32(1)}).model, ["(QLinearLeakyRelu)"]),
    ("rows-in-another-order",
     row("", fused("MatMulNBits", ["x", "w", "s", "", "g"], K=16, N=2, bits=4, block_size=16), [{"x": numbers(2, 16)}], [],
         {"w": bytes_of(2, 1, 8), "s": numbers(2), "g": np.zeros(16, np.int32)}).model, ["(MatMulNBits)", "'g_idx' is not supported"]),
    ("window-of-keys",
     row("", fused("GroupQueryAttention", ["x", "x", "x", "", "", "e", "t"], num_heads=2, kv_num_heads=2, local_window_size=4),
         [{"x": numbers(1, 3, 8), "e": np.array([2], np.int32)}], [], {"t": np.int32(3)}).model, ["local_window_size is not supported"]),
]

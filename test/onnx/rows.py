"""The models that __main__.py checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import sample
from onnx import TensorProto, helper, numpy_helper

node, value = helper.make_node, helper.make_tensor_value_info
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
random = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


@dataclass
class Row:
    """A model, calls of it, and maybe one that it must refuse."""

    name: str
    model: onnx.ModelProto
    feeds: list[dict[str, np.ndarray]]
    external: bool = False
    violates: dict[str, np.ndarray] = field(default_factory=dict)
    expected: list | None = None  # of the one output or of all, a call each, where the evaluator is not to be asked


def model(nodes: Sequence, inputs: dict, outputs: Sequence[str], constants: dict | None = None, opset: int = 17, **more):
    """Inputs are float32 unless a pair says otherwise; outputs say nothing of their shapes."""
    typed = [(name, *(s if isinstance(s, tuple) else (FLOAT, s))) for name, s in inputs.items()]
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [value(name, kind, sizes) for name, kind, sizes in typed],
        [o if isinstance(o, onnx.ValueInfoProto) else value(o, FLOAT, None) for o in outputs],
        [a if isinstance(a, TensorProto) else numpy_helper.from_array(np.asarray(a), name)
         for name, a in (constants or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)
    made.ir_version = 8 if opset < 19 else 10
    return made


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def while_body() -> onnx.GraphProto:
    """Doubles until the sum is large: data say how often."""
    return helper.make_graph(
        [
            node("Add", ["v", "v"], ["w"]),
            node("ReduceSum", ["w"], ["sum"], keepdims=0),
            node("Less", ["sum", "limit"], ["more"]),
        ],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [3])],
        [value("more", BOOL, []), value("w", FLOAT, [3])],
    )


def growing_body() -> onnx.GraphProto:
    """A state that grows with every trip."""
    return helper.make_graph(
        [node("Concat", ["v", "x"], ["w"], axis=0), node("Identity", ["c"], ["more"]), node("Neg", ["x"], ["row"])],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, None)],
        [value("more", BOOL, []), value("w", FLOAT, None), value("row", FLOAT, [2])],
    )


def boxes(images: int, count: int) -> np.ndarray:
    """Corners in any order, rows first."""
    middle, half = random.uniform(0, 4, (images, count, 2)), random.uniform(0.2, 1, (images, count, 2))
    return np.concatenate([middle - half, middle + half], 2).astype(np.float32)[..., random.permutation([[0, 1, 2, 3], [2, 1, 0, 3]])[0]]


def nibbles(*shape: int) -> onnx.TensorProto:
    return helper.make_tensor("w", TensorProto.INT4, shape, random.integers(-8, 8, int(np.prod(shape))).tolist())


def counting_body() -> onnx.GraphProto:
    """Goes on while the trip is less than a number that the caller gives, and collects what it adds up."""
    return helper.make_graph(
        [node("Add", ["v", "x"], ["w"]), node("Squeeze", ["last"], ["l"]), node("Less", ["i", "l"], ["more"]),
         node("Identity", ["w"], ["row"])],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [2])],
        [value("more", BOOL, []), value("w", FLOAT, [2]), value("row", FLOAT, [2])],
    )


def between(x: np.ndarray, start: float, end: float, count: int) -> np.ndarray:
    """`count` elements of x from one place in it to another, evenly."""
    return np.interp(np.linspace(start, end, count), np.arange(x.shape[-1]), x[0, 0]).astype(np.float32)[None, None]


LINE, HALVES = numbers(1, 1, 5), numbers(256).astype(np.float16)

def attention_of_halves() -> Row:
    """Sums and scores are not rounded to float16: the values are small beside what that would cost."""
    q, k, v = (scale * numbers(1, 2, 6, 8) for scale in (3, 3, 0.01))
    halves = {name: array.astype(np.float16) for name, array in zip("qkv", (q, k, v), strict=True)}
    q, k, v = (array.astype(np.float64) for array in halves.values())
    scores = np.where(np.tri(6, dtype=bool), q @ k.swapaxes(2, 3) / np.sqrt(8), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return Row("attention-of-halves",
               model([node("Attention", ["q", "k", "v"], ["y"], is_causal=1)], dict.fromkeys("qkv", (TensorProto.FLOAT16, [1, 2, 6, 8])),
                     [value("y", TensorProto.FLOAT16, None)], opset=23),
               [halves], expected=[(weights @ v / weights.sum(-1, keepdims=True)).astype(np.float16)])


SIZES = [
    node("Shape", ["x"], ["s"]),
    node("Gather", ["s", "zero"], ["b"]),
    node("Gather", ["s", "one"], ["n"]),
    node("Concat", ["b", "n", "two", "minus"], ["t"], axis=0),
    node("Reshape", ["x", "t"], ["r"]),
    node("Transpose", ["r"], ["q"], perm=[0, 2, 1, 3]),
    node("Squeeze", ["n", "zero"], ["k"]),
    node("Range", ["start", "k", "step"], ["range"]),
    node("Cast", ["range"], ["places"], to=FLOAT),
    node("Unsqueeze", ["places", "one"], ["column"]),
    node("Add", ["q", "column"], ["y"]),
]
SIZE_CONSTANTS = {
    "zero": int64(0), "one": int64(1), "two": int64(2), "minus": int64(-1), "start": np.int64(0), "step": np.int64(1),
}

# Constants that are listed as inputs too: a call may give them.
X = numbers(4, 6)
OVERRIDABLE = model(
    [node("Mul", ["x", "w"], ["p"]), node("Clip", ["p", "low"], ["c"]), node("Add", ["c", "b"], ["y"])],
    {"x": ["n", 6], "w": [6], "low": [], "b": [1, 6]}, ["y"], {"w": numbers(6), "low": np.float32(-0.5), "b": numbers(1, 6)},
)
OVERRIDDEN_SIZES = model(
    [node("Shape", ["x"], ["s"]), node("Gather", ["s", "first"], ["n"]), node("Concat", ["n", "rest"], ["t"], axis=0),
     node("Reshape", ["x", "t"], ["r"], name="turn"), node("Mul", ["r", "w"], ["y"])],
    {"x": ["n", 6], "w": [2, 3], "first": (INT64, [1]), "rest": (INT64, [2])}, ["y"],
    {"w": numbers(2, 3), "first": int64(0), "rest": int64(2, 3)},
)


def overridden_branches() -> onnx.ModelProto:
    """One takes a size from around it; which one runs, and by what it multiplies, a call may say."""
    branches = [helper.make_graph(nodes, "branch", [], [value("z", FLOAT, None)]) for nodes in (
        [node("Reshape", ["x", "sizes"], ["r"]), node("Mul", ["r", "w"], ["z"])],
        [node("Reshape", ["x", "sizes"], ["r"]), node("Neg", ["r"], ["z"])])]
    return model([node("If", ["flag"], ["z"], then_branch=branches[0], else_branch=branches[1]), node("Gather", ["z", "at"], ["y"])],
                 {"x": [4, 6], "flag": (BOOL, []), "sizes": (INT64, [2]), "w": [12], "at": (INT64, [])}, ["y"],
                 {"flag": np.array(True), "sizes": int64(2, -1), "w": numbers(12), "at": np.int64(1)})


ROWS = [
    Row("overridden", OVERRIDABLE,
        [{"x": X}, {"x": X, "w": numbers(6)}, {"x": X, "b": numbers(1, 6), "low": np.float32(1)}, {"x": X[:2]}],
        violates={"x": X, "w": numbers(5)}),
    Row("overridden-by-another-type", OVERRIDABLE, [], violates={"x": X, "b": numbers(1, 6).astype(np.float64)}),
    *[Row(f"n-grams-{mode.lower()}-{least}-{most}-{skips}",
          model([node("TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=least, max_gram_length=most, max_skip_count=skips,
                      pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 5, 6, 7], ngram_counts=[0, 4, 10], ngram_indexes=[0, 1, 2, 3, 4, 5, 6, 7],
                      weights=[0.5, 1.0, 2.0, 1.5, 3.0, 0.25, 1.0, 4.0])], {"x": (INT64, [2, 14])}, ["y"]),
          [{"x": random.integers(2, 9, (2, 14))}])
      for mode, least, most, skips in (("TF", 1, 3, 2), ("IDF", 2, 3, 0), ("TFIDF", 1, 2, 5), ("TF", 3, 3, 20))],
    Row("operators-of-opset-1", model([node("Relu", ["x"], ["r"], consumed_inputs=[0]), node("Not", ["flag"], ["y"])], {"x": [3], "flag": (BOOL, [4])},
                                      ["r", value("y", BOOL, None)], opset=1),
        [{"x": np.float32([-1, 0, 2]), "flag": np.array([True, False, True, True])}], expected=[[np.float32([0, 0, 2]), np.array([False, True, False, False])]]),
    Row("extremes-of-nothing", model([node("ReduceMax", ["x"], ["y"], axes=[1]), node("ReduceMin", ["i"], ["z"], axes=[0], keepdims=0)],
                                     {"x": [2, 0], "i": (INT64, [0, 3])}, ["y", value("z", INT64, None)]),
        [{"x": numbers(2, 0), "i": np.zeros((0, 3), np.int64)}],
        expected=[[np.full((2, 1), -np.inf, np.float32), np.full(3, np.iinfo(np.int64).max)]]),
    Row("frames-by-data", model([node("STFT", ["x", "step", "window"], ["y"])], {"x": [1, 40, 1], "step": (INT64, [])}, [value("y", FLOAT, [1, 4, 5, 2])],
                                {"window": np.hanning(8).astype(np.float32)}), [{"x": numbers(1, 40, 1), "step": np.int64(9)}]),
    attention_of_halves(),
    Row("columns-of-blocks-by-data",
        model([node("Col2Im", ["x", "image", "block"], ["y"], strides=[2, 1], pads=[0, 1, 1, 0], dilations=[1, 2])],
              {"x": [2, 12, "l"], "image": (INT64, [2]), "block": (INT64, [2])}, [value("y", FLOAT, [2, 2, 5, 6])], opset=18),
        [{"x": numbers(2, 12, length), "image": int64(5, 6), "block": int64(*block)} for block, length in (((2, 3), 9), ((3, 2), 10))]),
    *[Row(f"shrunk-by-a-scale-of-data-{mode}",
          model([node("Resize", ["x", "", "s"], ["y"], mode=mode, antialias=1)], {"x": [1, 1, 9, 8], "s": [4]}, [value("y", FLOAT, [1, 1, 5, 4])], opset=18),
          [{"x": numbers(1, 1, 9, 8), "s": np.array([1, 1, scale, 0.5], np.float32)} for scale in (0.6, 0.66)]) for mode in ("linear", "cubic")],
    # Sizes that a call gives as elements of inputs.
    Row("shape-by-data", model([node("Reshape", ["x", "t"], ["y"])], {"x": [6], "t": (INT64, [2])}, ["y"]),
        [{"x": numbers(6), "t": int64(*sizes)} for sizes in ((2, 3), (6, 1))], violates={"x": numbers(6), "t": int64(2, 2)}),
    Row("range-by-data",
        model([node("Cast", ["n"], ["end"], to=FLOAT), node("Range", ["zero", "end", "one"], ["r"]), node("Div", ["r", "end"], ["y"])],
              {"n": (TensorProto.INT32, [])}, ["y"], {"zero": np.float32(0), "one": np.float32(1)}),
        [{"n": np.int32(n)} for n in (3, 7000, 0)], violates={"n": np.int32(-1)}),
    Row("parts-by-data",
        model([node("SplitToSequence", ["x", "parts"], ["s"]), node("SequenceAt", ["s", "one"], ["y"]), node("Split", ["t"], ["r", "c"], axis=0),
               node("Concat", ["c", "r"], ["turned"], axis=0), node("Expand", ["w", "turned"], ["z"])],
              {"x": ["n"], "parts": (INT64, [3]), "t": (INT64, [2]), "w": [1, 4]}, ["y", "z"], {"one": np.int64(1)}),
        [{"x": numbers(9), "parts": int64(2, 3, 4), "t": int64(4, 2), "w": numbers(1, 4)},
         {"x": numbers(5), "parts": int64(0, 5, 0), "t": int64(4, 1), "w": numbers(1, 4)}],
        violates={"x": numbers(9), "parts": int64(2, 3, 3), "t": int64(4, 2), "w": numbers(1, 4)}),
    # The model says what comes of it.
    Row("shape-by-data-of-a-result",
        model([node("Shape", ["x"], ["sizes"]), node("Max", ["sizes", "t"], ["wide"]), node("Sub", ["wide", "sizes"], ["more"]),
               node("Concat", ["none", "more"], ["pads"], axis=0), node("Pad", ["x", "pads"], ["p"]), node("Slice", ["p", "none", "t"], ["y"])],
              {"x": [4, 6], "t": (INT64, [2])}, [value("y", FLOAT, [7, 3])], {"none": int64(0, 0)}),
        [{"x": numbers(4, 6), "t": int64(7, 3)}], violates={"x": numbers(4, 6), "t": int64(7, 4)}),
    Row("split-of-a-shape",
        model([node("Shape", ["x"], ["s"]), node("Split", ["s"], ["r", "c"], axis=0), node("Concat", ["c", "r"], ["t"], axis=0),
               node("Reshape", ["x", "t"], ["y"])], {"x": ["n", 4]}, ["y"]), [{"x": numbers(3, 4)}, {"x": numbers(5, 4)}]),
    Row("split-of-an-open-size", model([node("Split", ["x", "parts"], ["y", "z"])], {"x": ["n"]}, ["y", "z"], {"parts": int64(2, 3)}),
        [{"x": numbers(5)}], violates={"x": numbers(7)}),
    Row("overridden-sizes", OVERRIDDEN_SIZES, [{"x": X}, {"x": X[:1], "w": numbers(2, 3)}],
        violates={"x": X, "rest": int64(3, 2)}),
    Row("overridden-branches", overridden_branches(),
        [{"x": X}, {"x": X, "flag": np.array(False)}, {"x": X, "w": numbers(12), "at": np.int64(-2)}]),
    Row("overridden-weights",
        model([node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1]), node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n"]),
               node("GlobalAveragePool", ["n"], ["g"]), node("Flatten", ["g"], ["f"]), node("Gemm", ["f", "w"], ["y"], transB=1)],
              {"x": ["n", 3, 8, 8], "k": [16, 3, 3, 3], "b": [16], **dict.fromkeys("somv", [16]), "w": [5, 16]}, ["y"],
              {"k": numbers(16, 3, 3, 3), "b": numbers(16), "s": numbers(16), "o": numbers(16), "m": numbers(16),
               "v": np.abs(numbers(16)) + 1, "w": numbers(5, 16)}),
        [{"x": numbers(2, 3, 8, 8)}, {"x": numbers(1, 3, 8, 8), "k": numbers(16, 3, 3, 3), "m": numbers(16)}]),
    Row("sample", sample.make(), [{"x": numbers(n, 4), "image": numbers(1, 1, h, 6)} for n, h in ((2, 5), (5, 8))]),
    Row("external-data", model([node("MatMul", ["x", "w"], ["y"])], {"x": ["n", 64]}, ["y"], {"w": numbers(64, 32)}),
        [{"x": numbers(3, 64)}], external=True),
    Row("shape-arithmetic", model(SIZES, {"x": ["b", "n", 8]}, ["y"], SIZE_CONSTANTS),
        [{"x": numbers(2, 3, 8)}, {"x": numbers(1, 7, 8)}]),
    Row("sizes-that-must-be-equal",
        model([node("Concat", ["p", "x"], ["k"], axis=1), node("Add", ["k", "m"], ["y"])],
              {"p": ["b", "p", 4], "x": ["b", "s", 4], "m": ["b", "t", 4]}, ["y"]),
        [{"p": numbers(2, 3, 4), "x": numbers(2, 2, 4), "m": numbers(2, 5, 4)}],
        violates={"p": numbers(2, 3, 4), "x": numbers(2, 2, 4), "m": numbers(2, 3, 4)}),
    Row("squeezed-sizes-that-are-not-one",
        model([node("Squeeze", ["x"], ["y"])], {"x": ["n", 1, 4, "m"]}, ["y"]),
        [{"x": numbers(3, 1, 4, 2)}, {"x": numbers(6, 1, 4, 5)}], violates={"x": numbers(3, 1, 4, 1)}),
    Row("sizes-of-a-reshape",
        model([node("Reshape", ["x", "t"], ["y"])], {"x": ["n"]}, ["y"], {"t": int64(2, 3)}),
        [{"x": numbers(6)}], violates={"x": numbers(8)}),
    Row("loop-by-data", model([node("Loop", ["", "true", "x"], ["y"], body=while_body())], {"x": [3]}, ["y"],
                              {"true": np.array(True), "limit": np.float32(100)}),
        [{"x": np.abs(numbers(3)) + 0.1}, {"x": np.full(3, 90, np.float32)}]),
    Row("loop-that-grows", model([node("Loop", ["three", "true", "x"], ["y", "rows"], body=growing_body())], {"x": [2]},
                                 ["y", "rows"], {"three": np.int64(3), "true": np.array(True)}), [{"x": numbers(2)}]),
    Row("loop-that-stops-early",
        model([node("Loop", ["six", "true", "x"], ["v", "rows"], body=counting_body()), node("Mul", ["rows", "two"], ["y"])],
              {"x": [2], "last": (INT64, [1])}, ["y"], {"six": np.int64(6), "true": np.array(True), "two": np.float32(2)}),
        [{"x": numbers(2), "last": int64(n)} for n in (1, 0, 9)]),
    # How many trips there are only data say; nobody takes the rows.
    Row("loop-whose-rows-nobody-takes",
        model([node("Loop", ["n", "true", "x"], ["y", "rows"], body=counting_body())],
              {"x": [2], "last": (INT64, [1]), "n": (INT64, [])}, ["y"], {"true": np.array(True)}),
        [{"x": numbers(2), "last": int64(k), "n": np.int64(n)} for k, n in ((1, 6), (9, 3), (9, 1))]),
    # Scale times length is 7.5; the result has 7 elements, the last of which is the last of x.
    Row("corners-aligned", model([node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")],
                                 {"x": [1, 1, 5]}, ["y"], {"s": np.array([1, 1, 1.5], np.float32)}),
        [{"x": LINE}], expected=[between(LINE, 0, 4, 7)]),
    Row("cropped-and-resized",
        model([node("Resize", ["x", "roi", "s"], ["y"], mode="linear", coordinate_transformation_mode="tf_crop_and_resize")],
              {"x": [1, 1, 5]}, ["y"], {"s": np.array([1, 1, 1.5], np.float32), "roi": np.array([0, 0, 0.25, 1, 1, 0.75], np.float32)}),
        [{"x": LINE}], expected=[between(LINE, 1, 3, 7)]),
    Row("nonzero", model([node("NonZero", ["x"], ["i"]), node("Transpose", ["i"], ["t"]), node("GatherND", ["x", "t"], ["y"])],
                         {"x": ["n", 3]}, ["y"]), [{"x": np.maximum(numbers(4, 3), 0)}, {"x": np.zeros((2, 3), np.float32)}]),
    Row("boxes",
        model([node("NonMaxSuppression", ["b", "s", "most", "overlap", "least"], ["y"])],
              {"b": ["n", "count", 4], "s": ["n", "classes", "count"]}, [value("y", INT64, None)],
              {"most": int64(5), "overlap": np.array([0.4], np.float32), "least": np.array([0.2], np.float32)}),
        [{"b": boxes(n, count), "s": random.random((n, classes, count), np.float32)}
         for n, classes, count in ((1, 2, 30), (2, 1, 4), (2, 3, 60))]),
    Row("boxes-as-many-as-data-say",
        model([node("NonMaxSuppression", ["b", "s", "most", "overlap"], ["y"])],
              {"b": [1, 12, 4], "s": [1, 1, 12], "most": (INT64, [1])}, [value("y", INT64, None)],
              {"overlap": np.array([0.3], np.float32)}),
        [{"b": boxes(1, 12), "s": random.random((1, 1, 12), np.float32), "most": int64(n)} for n in (3, 100, 0)]),
    Row("deformed",
        model([node("DeformConv", ["x", "w", "o", "b", "m"], ["y"], pads=[1, 0, 1, 2], strides=[2, 1], group=2, offset_group=2)],
              {"x": ["n", 4, "h", 6], "o": ["n", 36, "p", 6], "m": ["n", 18, "p", 6]}, ["y"],
              {"w": numbers(6, 2, 3, 3), "b": numbers(6)}, opset=19),
        [{"x": numbers(n, 4, h, 6), "o": numbers(n, 36, (h + 1) // 2, 6), "m": numbers(n, 18, (h + 1) // 2, 6)}
         for n, h in ((1, 5), (2, 8))],
        violates={"x": numbers(1, 4, 5, 6), "o": numbers(1, 36, 4, 6), "m": numbers(1, 18, 4, 6)}),
    Row("regions",
        model([node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[2, 3], spatial_scale=0.5)],
              {"x": [2, 3, "h", 9], "r": ["n", 5]}, ["y"]),
        [{"x": numbers(2, 3, h, 9), "r": np.array(r, np.float32)}
         for h, r in ((7, [[0, 1, 3, 12, 9], [1, -4, 2, 30, 40]]), (12, [[1, 5, 5, 5, 5], [0, 40, 2, 50, 9], [0, 3, 6, 11, 17]]))]),
    Row("weights-of-four-bits",
        model([node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=4), node("MatMul", ["x", "d"], ["y"])],
              {"x": ["n", 8]}, ["y"], {"s": np.abs(numbers(2, 3)), "w": nibbles(8, 3)}, opset=21), [{"x": numbers(3, 8)}]),
    Row("eight-bit-floats",
        model([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("Transpose", ["q"], ["t"]),
               node("DequantizeLinear", ["t", "s"], ["y"])], {"x": ["n", 8]}, ["y"],
              {"s": np.float32(0.05), "z": helper.make_tensor("z", TensorProto.FLOAT8E4M3FN, [], [0])}, opset=21),
        [{"x": numbers(3, 8) * 20}]),
    # Magnitudes of which the highest bit is set, in constants too.
    Row("unsigned",
        model([node("Cast", ["x"], ["u"], to=TensorProto.UINT32), node("Cast", ["u"], ["y"], to=TensorProto.DOUBLE),
               node("Cast", ["x"], ["z"], to=TensorProto.UINT64), node("Cast", ["c"], ["v"], to=TensorProto.UINT64),
               node("Cast", ["w"], ["k"], to=FLOAT)],
              {"x": ["n"]},
              [value("y", TensorProto.DOUBLE, None), value("z", TensorProto.UINT64, None), value("v", TensorProto.UINT64, None), "k"],
              {"c": np.array([1.5, 2.0**63, 1.5e19], np.float32), "w": np.array([1, 2**63 + 2**40, 2**64 - 1], np.uint64)}),
        [{"x": np.array([0, 1.75, 3e9, 2.0**31, 2.0**32 - 256], np.float32)}]),
    # The quotient is rounded once: in float16 it would be a tie more often.
    Row("quantized-halves",
        model([node("QuantizeLinear", ["x", "s", "z"], ["y"])], {"x": (TensorProto.FLOAT16, [256])}, [value("y", TensorProto.UINT8, None)],
              {"s": np.float16(0.1), "z": np.uint8(128)}, opset=21),
        [{"x": HALVES}], expected=[(np.rint(HALVES.astype(np.float32) / np.float32(np.float16(0.1))) + 128).astype(np.uint8)]),
    Row("quantized",
        model([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
               node("MatMul", ["d", "w"], ["y"])], {"x": ["n", 8]}, ["y"],
              {"s": np.float32(0.05), "z": np.uint8(128), "w": numbers(8, 4)}, opset=21), [{"x": numbers(3, 8)}]),
]

ERRORS = [
    ("empty-graph", b"\x08\x08\x3a\x00", ["model.onnx: "]),
    ("unknown-operator", model([node("Mystery", ["x"], ["y"], name="who")], {"x": [2]}, ["y"]),
     ["node 'who' (Mystery)", "operator Mystery is not supported"]),
    ("misspelt-operator", model([node("Gelo", ["x"], ["y"])], {"x": [2]}, ["y"]),
     ["(Gelo): operator Gelo is not supported (did you mean Gelu?)"]),
    ("unknown-operators",
     model([node("Mystery", ["x"], ["a"], name="who"), node("Relu", ["a"], ["r"]), node("Mystery", ["r"], ["s"]),
            node("If", ["c"], ["i"], then_branch=helper.make_graph([node("Riddle", ["s"], ["t"], domain="mine")], "then", [], [value("t", FLOAT, [2])]),
                 else_branch=helper.make_graph([node("Relu", ["s"], ["e"])], "else", [], [value("e", FLOAT, [2])])),
            node("Foo", ["i"], ["y"])], {"x": [2], "c": (TensorProto.BOOL, [])}, ["y"]),
     ["model.onnx: 3 operators are not supported: Mystery (node 'who' (Mystery) and 1 more), Riddle of the domain 'mine' (node 't' (Riddle)), "
      "Foo (node 'y' (Foo))"]),
    ("classical", helper.make_model(
        helper.make_graph([node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml")], "g", [value("x", FLOAT, [2])], [value("y", FLOAT, [2])]),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]), ["SVMRegressor", "ai.onnx.ml"]),
    ("training", helper.make_model(
        helper.make_graph([node("Adam", ["r", "t", "x", "g", "v", "h"], ["y", "w", "k"], domain="ai.onnx.preview.training")], "g",
                          [value(name, FLOAT, [1]) for name in "rtxgvh"], [value(name, FLOAT, [1]) for name in "ywk"]),
        opset_imports=[helper.make_opsetid("ai.onnx.preview.training", 1)]), ["operator Adam", "ai.onnx.preview.training"]),
    ("version-of-operators-unsaid", helper.make_model(
        helper.make_graph([node("Relu", ["x"], ["y"])], "g", [value("x", FLOAT, [1])], [value("y", FLOAT, [1])]),
        opset_imports=[helper.make_opsetid("somewhere", 1)]), ["operator Relu", "opset_import"]),
    ("quantized-to-four-bits",
     model([node("QuantizeLinear", ["x", "s", "w"], ["q"]), node("DequantizeLinear", ["q", "s"], ["y"])], {"x": [2]}, ["y"],
           {"s": np.float32(1), "w": nibbles()}, opset=21), ["QuantizeLinear", "int4"]),
    ("older-operator", model([node("Reshape", ["x"], ["y"], shape=[2, 1])], {"x": [2]}, ["y"], opset=4), ["operator Reshape of opset 4 is another"]),
    ("newer-opset", model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=99), ["uses opset 99"]),
    ("undefined", model([node("Relu", ["nobody"], ["y"])], {"x": [2]}, ["y"]), ["'nobody' is not defined"]),
    ("shape-by-data", model([node("Cast", ["t"], ["sizes"], to=INT64), node("Reshape", ["x", "sizes"], ["y"])], {"x": [6], "t": [2]}, ["y"]),
     ["Reshape", "known at compile time"]),
    ("shapes-that-differ", model([node("Add", ["x", "z"], ["y"])], {"x": [2], "z": [3]}, ["y"]), ["(Add)", "2 and 3"]),
    ("text", model([node("Identity", ["x"], ["y"])], {"x": (TensorProto.STRING, [2])}, ["y"]), ["string"]),
]

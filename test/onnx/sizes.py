"""What exporters write for sizes that a call decides, beside ONNX's own evaluator."""

from __future__ import annotations

import numpy as np
from onnx import helper
from rows import FLOAT, INT64, Row, int64, model, node, numbers

ROW_OF_MANY = np.arange(5000).reshape(1, 5000)
FARTHEST = np.array([np.iinfo(np.int64).min + 1])


def squeezing() -> list:
    """torch's squeeze of a dimension whose size is open."""
    branches = [helper.make_graph([node(kind, inputs, ["z"])], "branch", [], [helper.make_tensor_value_info("z", FLOAT, None)])
                for kind, inputs in (("Squeeze", ["x", "minus"]), ("Identity", ["x"]))]
    return [node("Shape", ["x"], ["s"]), node("Gather", ["s", "last"], ["n"]), node("Equal", ["n", "unit"], ["c"]),
            node("If", ["c"], ["r"], then_branch=branches[0], else_branch=branches[1]), node("Neg", ["r"], ["y"])]


def number(name: str, value: int) -> object:
    return node("ConstantOfShape", [name], [f"{name}.filled"], value=helper.make_tensor("value", INT64, [1], [value]))


# torch's Pad of the last dimensions up to multiples of four: pads are turned around by a matrix of pairs.
PADDING = [
    node("Shape", ["x"], ["s"]), node("Slice", ["s", "two", "four", "zero"], ["last"]), node("Mod", ["last", "four"], ["over"]),
    node("Sub", ["four", "over"], ["short"]), node("Mod", ["short", "four"], ["needs"]),
    node("Gather", ["needs", "one"], ["columns"]), node("Gather", ["needs", "zero"], ["rows"]),
    node("Concat", ["zero", "columns", "zero", "rows"], ["given"], axis=0), number("four", 0),
    node("Concat", ["given", "four.filled"], ["all"], axis=0), node("Reshape", ["all", "pairs"], ["matrix"]),
    node("Slice", ["matrix", "minus", "farthest", "zero", "minus"], ["turned"]), node("Transpose", ["turned"], ["columnwise"], perm=[1, 0]),
    node("Reshape", ["columnwise", "minus"], ["flat"]), node("Cast", ["flat"], ["pads"], to=INT64), node("Pad", ["x", "pads"], ["y"]),
]

# torch's expand: -1 in the wanted sizes stands for 1.
EXPANSION = [
    node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Concat", ["n", "minus", "three"], ["wanted"], axis=0),
    node("Shape", ["wanted"], ["rank"]), number("rank", 1), node("Mul", ["rank.filled", "minus"], ["negative"]),
    node("Equal", ["wanted", "negative"], ["same"]), node("Where", ["same", "rank.filled", "wanted"], ["sizes"]),
    node("Expand", ["x", "sizes"], ["y"]),
]

# Moves of more than one dimension, down to a shape: [[2, 3], [n, h]] in several orders.
MOVES = [
    node("Shape", ["x"], ["s"]), node("Concat", ["two", "three", "s"], ["four"], axis=0), node("Reshape", ["four", "pair"], ["matrix"]),
    node("Transpose", ["matrix"], ["turned"]), node("Tile", ["turned", "twice"], ["long"]), node("Slice", ["long", "one", "four.", "zero"], ["cut"]),
    node("Gather", ["cut", "swap"], ["swapped"], axis=1), node("Flatten", ["swapped"], ["rows"]),
    node("Concat", ["rows", "rows"], ["wide"], axis=1), node("Gather", ["wide", "places"], ["chosen"], axis=1),
    node("Transpose", ["chosen"], ["back"]), node("Reshape", ["back", "minus"], ["flat"]), node("Gather", ["flat", "order"], ["sizes"]),
    node("Expand", ["x", "sizes"], ["y"]),
]
CONSTANTS = {
    "zero": int64(0), "one": int64(1), "two": int64(2), "three": int64(3), "minus": int64(-1), "four": int64(4),
    "farthest": FARTHEST, "pairs": int64(-1, 2),
}

SIZES_OF_EXPORTERS = [
    Row("padding-as-torch-writes-it", model(PADDING, {"x": ["n", 2, "h", "w"]}, ["y"], CONSTANTS),
        [{"x": numbers(n, 2, h, w)} for n, h, w in ((1, 5, 6), (2, 8, 3), (1, 4, 4))]),
    Row("of-no-elements", model([number("zero", 7), node("Concat", ["x", "zero.filled"], ["y"], axis=0)], {"x": (INT64, ["n"])},
                                [helper.make_tensor_value_info("y", INT64, None)], {"zero": int64(0)}), [{"x": int64(3, 4)}]),
    Row("of-no-elements-and-large-sizes",
        model([number("none", 7), node("Flatten", ["none.filled"], ["flat"]), node("Concat", ["x", "flat"], ["y"], axis=0)],
              {"x": (INT64, ["n", 5000])}, [helper.make_tensor_value_info("y", INT64, None)], {"none": int64(0, 5000)}),
        [{"x": ROW_OF_MANY}], expected=[ROW_OF_MANY]),  # the evaluator flattens nothing that has no elements
    Row("expansion-as-torch-writes-it", model(EXPANSION, {"x": ["n", 4, 1]}, ["y"], CONSTANTS),
        [{"x": numbers(n, 4, 1)} for n in (1, 3)]),
    Row("moves-of-sizes",
        model(MOVES, {"x": ["n", "h"]}, ["y"],
              {"one": int64(1), "two": int64(2), "three": int64(3), "pair": int64(2, 2), "twice": int64(2, 1), "four.": int64(3),
               "zero": int64(0), "swap": int64(1, 0), "places": int64(0, 1), "order": int64(3, 1, 0), "minus": int64(-1)}),
        [{"x": numbers(n, h)} for n, h in ((2, 3), (5, 1))]),
    Row("range-over-a-size-as-a-float",
        model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Cast", ["n"], ["f"], to=FLOAT),
               node("Range", ["start", "f", "step"], ["r"]), node("Mul", ["r", "half"], ["y"])], {"x": [2, "n"]}, ["y"],
              {"one": np.int64(1), "start": np.float32(1), "step": np.float32(2), "half": np.float32(0.5)}),
        [{"x": numbers(2, n)} for n in (1, 2, 7, 8)]),
    Row("sizes-without-names", model([node("Add", ["x", "z"], ["y"])], {"x": [-1, "?"], "z": [-1, 1, "?"]}, ["y"]),
        [{"x": numbers(n, 3), "z": numbers(m, 1, 3)} for n, m in ((2, 4), (5, 1))]),
    Row("two-sizes-without-a-name", model([node("Relu", ["x"], ["y"])], {"x": ["?", "?"]}, ["y"]), [{"x": numbers(2, 5)}]),
    Row("squeeze-as-torch-writes-it",
        model(squeezing(), {"x": [2, "n"]}, ["y"], {"minus": int64(-1), "last": np.int64(1), "unit": np.int64(1)}),
        [{"x": numbers(2, 1)}], violates={"x": numbers(2, 3)}),
    Row("backwards",
        model([node("Slice", ["x", "minus", "farthest", "one", "minus"], ["a"]),
               node("Slice", ["x", "three", "zero", "one", "by"], ["b"]), node("Concat", ["a", "b"], ["y"], axis=1)],
              {"x": [2, "n"]}, ["y"], {k: CONSTANTS[k] for k in ("minus", "farthest", "one", "three", "zero")} | {"by": int64(-2)}),
        [{"x": numbers(2, n)} for n in (7, 4, 2, 1)]),
]

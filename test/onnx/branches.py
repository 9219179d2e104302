"""Branches that a call's data choose, beside ONNX's own evaluator."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from rows import BOOL, FLOAT, Row, model, node, numbers, value


def branch(nodes: list, initializers: list | None = None) -> onnx.GraphProto:
    return helper.make_graph(nodes, "branch", [], [value("z", FLOAT, None)], initializers or [])


def choosing(yes: onnx.GraphProto, no: onnx.GraphProto, sizes: list) -> onnx.ModelProto:
    return model([node("If", ["flag"], ["z"], then_branch=yes, else_branch=no), node("Neg", ["z"], ["y"])],
                 {"x": sizes, "flag": (BOOL, [])}, ["y"])


def times(step: int) -> onnx.GraphProto:
    """A product by two matrices that other branches have under the same names, with other values."""
    matrices = [onnx.numpy_helper.from_array((np.roll(np.eye(40, dtype=np.float32), i * step, axis=0)), name) for i, name in ((1, "w"), (2, "v"))]
    return branch([node("Constant", [], [f"made.{step}"], value=matrices[0]), node("MatMul", ["x", f"made.{step}"], ["t"]),
                   node("MatMul", ["t", "v"], ["z"])], matrices[1:])


# One takes its input for one row; the other adds up as many as there are.
SQUEEZED = choosing(branch([node("Squeeze", ["x", "first"], ["s"]), node("Sqrt", ["s"], ["z"])], [onnx.numpy_helper.from_array(np.int64([0]), "first")]),
                    branch([node("ReduceSum", ["x", "first"], ["z"], keepdims=0)], [onnx.numpy_helper.from_array(np.int64([0]), "first")]), ["n", 3])

BRANCHES = [
    Row("branches-with-tensors-of-the-same-names", choosing(times(1), times(5), ["n", 40]),
        [{"x": numbers(2, 40), "flag": np.array(flag)} for flag in (True, False)]),
    Row("what-a-branch-takes-for-granted", SQUEEZED,
        [{"x": numbers(n, 3) + 9, "flag": np.array(flag)} for n, flag in ((1, True), (4, False), (1, False))],
        violates={"x": numbers(4, 3), "flag": np.array(True)}),
]

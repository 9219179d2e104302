"""Sizes without names that are broadcast: each may be 1 in a call, beside ONNX's own evaluator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from rows import FLOAT, Row, model, node, numbers

PAIRS = ((3, 3), (1, 3), (3, 1), (1, 1), (0, 0), (0, 1), (1, 0))


def feeds(sizes: Callable, pairs: tuple = PAIRS) -> list[dict]:
    """`sizes` answers the shapes of the inputs x, y, z for two sizes."""
    return [{name: numbers(*shape) for name, shape in zip("xyz", sizes(a, b))} for a, b in pairs]


def row(name: str, nodes: list, sizes: Callable, pairs: tuple = PAIRS, constants: dict | None = None) -> Row:
    """The inputs' sizes that two differ in have no names. A call with sizes of 2 and 3 does not fit."""
    shapes = [[d if d == e else "?" for d, e in zip(*both)] for both in zip(sizes(2, 3), sizes(3, 2))]
    return Row(name, model(nodes, dict(zip("xyz", shapes)), ["r"], constants), feeds(sizes, pairs),
               violates=feeds(sizes, ((2, 3),))[0])


def branches() -> Row:
    """What a branch broadcasts decides between the versions before a call begins, taken or not."""
    made = [helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info("s", FLOAT, None)]) for nodes in (
        [node("Add", ["x", "y"], ["a"]), node("ReduceSum", ["a"], ["s"], keepdims=0)],
        [node("ReduceSum", ["x"], ["s"], keepdims=0)])]
    nodes = [node("If", ["flag"], ["r"], then_branch=made[0], else_branch=made[1])]
    calls = [feed | {"flag": np.array(flag)} for feed in feeds(lambda a, b: [(a, 4), (b, 4)], PAIRS[:4]) for flag in (True, False)]
    return Row("broadcast-in-a-branch", model(nodes, {"x": ["?", 4], "y": ["?", 4], "flag": (TensorProto.BOOL, [])}, ["r"]), calls,
               violates={"x": numbers(2, 4), "y": numbers(3, 4), "flag": np.array(True)})


def namesakes() -> Row:
    """Two branches have a weight of one name each, of which the version for equal sizes needs one row, and all of the other."""
    made = [helper.make_graph([node("Gather", ["w", index], ["row"]), node("Add", ["a", "row"], ["s"])], "branch", [],
                              [helper.make_tensor_value_info("s", FLOAT, None)],
                              initializer=[numpy_helper.from_array(numbers(2, 4), "w")]) for index in ("known", "picked")]
    nodes = [node("Add", ["x", "y"], ["a"]), node("Size", ["a"], ["n"]), node("Size", ["x"], ["m"]), node("Sub", ["n", "m"], ["d"]),
             node("Min", ["d", "one"], ["known"]), node("Cast", ["flag"], ["picked"], to=TensorProto.INT64),
             node("If", ["flag"], ["r"], then_branch=made[0], else_branch=made[1])]
    calls = [feed | {"flag": np.array(flag)} for feed in feeds(lambda a, b: [(a, 4), (b, 4)], PAIRS[:4]) for flag in (True, False)]
    return Row("broadcast-namesakes", model(nodes, {"x": ["?", 4], "y": ["?", 4], "flag": (TensorProto.BOOL, [])}, ["r"],
                                            {"one": np.array(1)}), calls,
               violates={"x": numbers(2, 4), "y": numbers(3, 4), "flag": np.array(True)})


BROADCASTS = [
    row("broadcast-sum", [node("Add", ["x", "y"], ["r"])], lambda a, b: [(a, 4), (b, 4)]),
    row("broadcast-of-two-dimensions", [node("Mul", ["x", "y"], ["r"])], lambda a, b: [(a, b, 2), (b, a, 2)]),
    row("broadcast-of-other-ranks", [node("Mul", ["x", "y"], ["r"])], lambda a, b: [(5, a), (b,)]),
    row("broadcast-with-a-weight", [node("Add", ["x", "w"], ["p"]), node("Sub", ["p", "y"], ["r"])], lambda a, b: [(a, 4), (b, 4)],
        ((3, 3), (1, 3), (3, 1), (1, 1)), {"w": numbers(3, 4)}),
    row("broadcast-of-three", [node("Add", ["x", "y"], ["a"]), node("Mul", ["a", "z"], ["b"]), node("Relu", ["b"], ["r"])],
        lambda a, b: [(a, 2), (b, 2), (1, 2)]),
    # What has been broadcast with x is so again: no size more, no condition more.
    row("broadcast-again", [node("Add", ["x", "y"], ["a"]), node("Mul", ["a", "x"], ["b"]), node("Sub", ["b", "y"], ["c"]),
                            node("Max", ["c", "x", "y"], ["r"])], lambda a, b: [(a, 4), (b, 4)]),
    row("broadcast-where", [node("Greater", ["x", "y"], ["c"]), node("Where", ["c", "x", "z"], ["r"])],
        lambda a, b: [(a, 3), (b, 3), (b, 3)]),
    row("broadcast-products", [node("MatMul", ["x", "y"], ["r"])], lambda a, b: [(a, 3, 5), (b, 5, 2)]),
    row("broadcast-attention",
        [node("Transpose", ["y"], ["turned"], perm=[0, 2, 1]), node("MatMul", ["x", "turned"], ["p"]), node("Add", ["p", "z"], ["m"]),
         node("Softmax", ["m"], ["s"]), node("MatMul", ["s", "y"], ["r"])],
        lambda a, b: [(a, 3, 8), (b, 6, 8), (b, 1, 6)], ((3, 3), (1, 3), (3, 1))),
    row("broadcast-expansion", [node("Shape", ["y"], ["s"]), node("Expand", ["x", "s"], ["r"])], lambda a, b: [(a, 3), (b, 3)]),
    row("broadcast-bias", [node("Gemm", ["x", "w", "y"], ["r"])], lambda a, b: [(a, 3), (b, 2)], ((3, 3), (3, 1), (1, 1)),
        {"w": numbers(3, 2)}),
    row("broadcast-shape", [node("Add", ["x", "y"], ["a"]), node("Shape", ["a"], ["s"]), node("ConstantOfShape", ["s"], ["z0"]),
                            node("Add", ["z0", "x"], ["r"])], lambda a, b: [(a, 4), (b, 4)]),
    branches(),
    namesakes(),
]

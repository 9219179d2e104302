"""Loops over as many steps as a call's sizes say, beside ONNX's own evaluator."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from rows import BOOL, FLOAT, INT64, Row, int64, model, node, numbers, value


def scan_body(features: int) -> onnx.GraphProto:
    """A state that forgets, and what it was beside the step's element."""
    return helper.make_graph(
        [node("Mul", ["s", "half"], ["less"]), node("Add", ["less", "a"], ["t"]), node("Mul", ["s", "b"], ["row"]), node("Neg", ["a"], ["other"])],
        "body",
        [value("s", FLOAT, [features]), value("a", FLOAT, [features]), value("b", FLOAT, [features])],
        [value("t", FLOAT, [features]), value("row", FLOAT, [features]), value("other", FLOAT, None)],
        [onnx.numpy_helper.from_array(np.float32(0.5), "half")],
    )


def row_body(declared: list | None) -> onnx.GraphProto:
    """The row of x that the trip's number says, times what has been added up."""
    return helper.make_graph(
        [node("Gather", ["x", "i"], ["r"], axis=0), node("Add", ["v", "r"], ["w"]), node("Identity", ["c"], ["more"]), node("Mul", ["w", "r"], ["row"])],
        "body",
        [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, [3])],
        [value("more", BOOL, []), value("w", FLOAT, [3]), value("row", FLOAT, declared)],
    )


def over_rows(declared: list | None) -> onnx.ModelProto:
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Loop", ["n", "true", "first"], ["last", "rows"], body=row_body(declared))]
    return model(nodes, {"x": ["n", 3], "first": [3]}, ["last", "rows"], {"zero": np.int64(0), "true": np.array(True)})


def scanned(s: np.ndarray, a: np.ndarray, b: np.ndarray) -> list:
    """What TURNED answers, which the evaluator does not know."""
    rows, others = [], []
    for x, y in zip(a.T[::-1], b, strict=True):
        rows.append(s * y)
        others.append(-x)
        s = s * np.float32(0.5) + x
    return [s, np.stack(rows, 1), np.stack(others[::-1])]


SCAN = {"body": scan_body(4), "num_scan_inputs": 2}
TURNED = SCAN | {"scan_input_axes": [1, 0], "scan_input_directions": [1, 0], "scan_output_axes": [1, 0], "scan_output_directions": [0, 1]}
RESULTS = ["t", "rows", "others"]
CALLS = [{"s": numbers(4), "a": numbers(4, n), "b": numbers(n, 4)} for n in (5, 2)]


def network(kind: str, gates: int, inputs: list, **attributes) -> onnx.ModelProto:
    """Three features, four hidden ones; as many steps as a call gives."""
    weights = {"w": numbers(1, 4 * gates, 3), "r": numbers(1, 4 * gates, 4), "bias": numbers(1, 8 * gates), "p": numbers(1, 12)}
    used = {name: tensor for name, tensor in weights.items() if name in inputs}
    return model([node(kind, ["x", *inputs], ["y", "h"], hidden_size=4, **attributes)], {"x": ["n", 2, 3]}, ["y", "h"], used)


STEPS = [
    *(Row(f"{kind.lower()}-of-open-length{form}", network(kind, gates, inputs, **attributes), [{"x": numbers(n, 2, 3)} for n in (4, 1, 300)])
      for kind, gates, form, inputs, attributes in (
          ("LSTM", 4, "", ["w", "r", "bias"], {}), ("LSTM", 4, "-with-peepholes", ["w", "r", "bias", "", "", "", "p"], {}),
          ("GRU", 3, "", ["w", "r", "bias"], {"linear_before_reset": 1}), ("GRU", 3, "-reset-first", ["w", "r", "bias"], {}),
          ("RNN", 1, "", ["w", "r", "bias"], {}))),
    Row("scan", model([node("Scan", ["s", "a", "b"], RESULTS, **SCAN)], {"s": [4], "a": [6, 4], "b": [6, 4]}, RESULTS),
        [{"s": numbers(4), "a": numbers(6, 4), "b": numbers(6, 4)}]),
    Row("scan-of-open-length", model([node("Scan", ["s", "a", "b"], RESULTS, **SCAN)], {"s": [4], "a": ["n", 4], "b": ["n", 4]}, RESULTS),
        [{"s": numbers(4), "a": numbers(n, 4), "b": numbers(n, 4)} for n in (5, 1, 300)]),
    Row("scan-along-other-axes", model([node("Scan", ["s", "a", "b"], RESULTS, **TURNED)], {"s": [4], "a": [4, "n"], "b": ["n", 4]}, RESULTS),
        CALLS, expected=[scanned(**call) for call in CALLS]),
    Row("scan-of-many-steps", model([node("Scan", ["s", "a", "b"], RESULTS, **SCAN)], {"s": [4], "a": [10000, 4], "b": [10000, 4]}, RESULTS),
        [{"s": numbers(4), "a": numbers(10000, 4), "b": numbers(10000, 4)}]),
    Row("loop-over-rows", over_rows([3]), [{"x": numbers(n, 3), "first": numbers(3)} for n in (4, 1, 50)]),
    Row("loop-over-rows-of-no-declared-sizes", over_rows(None), [{"x": numbers(n, 3), "first": numbers(3)} for n in (4, 7)]),
]

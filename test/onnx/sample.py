"""Writes sample.onnx, which test/import damages: a branch, a loop, a function, shape arithmetic, a weight that stays mapped.

python test/onnx/sample.py test/onnx/sample.onnx
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

node, value = helper.make_node, helper.make_tensor_value_info


def make() -> onnx.ModelProto:
    # Bytes of one kind, so that the test finds them.
    weight = np.frombuffer(b"\x3f" * 4096 * 2, np.float32).reshape(1, 2048).repeat(1, 0)
    body = helper.make_graph(
        [
            node("Add", ["state", "x"], ["next"]),
            node("Identity", ["goes"], ["still"]),
            node("Mul", ["next", "half"], ["row"]),
        ],
        "body",
        [value("i", TensorProto.INT64, []), value("goes", TensorProto.BOOL, []), value("state", TensorProto.FLOAT, ["n", 4])],
        [
            value("still", TensorProto.BOOL, []),
            value("next", TensorProto.FLOAT, ["n", 4]),
            value("row", TensorProto.FLOAT, ["n", 4]),
        ],
    )
    branches = [
        helper.make_graph([node(op, ["x"], [name])], name, [], [value(name, TensorProto.FLOAT, ["n", 4])])
        for op, name in (("Relu", "yes"), ("Neg", "no"))
    ]
    nodes = [
        node("Loop", ["three", "true", "x"], ["last", "rows"], body=body),
        node("ReduceSum", ["x"], ["total"], keepdims=0),
        node("Greater", ["total", "half"], ["positive"]),
        node("If", ["positive"], ["chosen"], then_branch=branches[0], else_branch=branches[1]),
        node("Twice", ["chosen"], ["twice"], domain="here", times=2.0),
        node("Shape", ["x"], ["sizes"]),
        node("Gather", ["sizes", "zero"], ["count"]),
        node("Concat", ["count", "minus"], ["wanted"], axis=0),
        node("Reshape", ["rows", "turned"], ["flat"]),
        node("Reshape", ["last", "wanted"], ["same"]),
        node("Conv", ["image", "kernel"], ["convolved"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("MatMul", ["twice", "matrix"], ["product"]),
        node("Softmax", ["product"], ["y"], axis=-1),
    ]
    constants = {
        "three": np.array(3, np.int64),
        "true": np.array(True),
        "half": np.array(0.5, np.float32),
        "zero": np.array([0], np.int64),
        "minus": np.array([-1], np.int64),
        "turned": np.array([3, -1], np.int64),
        "kernel": np.ones((2, 1, 3, 3), np.float32),
        "matrix": weight.reshape(4, 512),
    }
    graph = helper.make_graph(
        nodes,
        "sample",
        [value("x", TensorProto.FLOAT, ["n", 4]), value("image", TensorProto.FLOAT, [1, 1, "h", 6])],
        [value(name, TensorProto.FLOAT, None) for name in ("y", "same", "flat", "convolved")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    times = node("Constant", [], ["factor"])
    times.attribute.append(
        onnx.AttributeProto(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="times")
    )
    twice = helper.make_function(
        "here", "Twice", ["a"], ["b"], [times, node("Mul", ["a", "factor"], ["b"])], [helper.make_opsetid("", 17)], ["times"]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("here", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[twice])
    model.ir_version = 8
    return model


if __name__ == "__main__":
    onnx.save(make(), sys.argv[1])

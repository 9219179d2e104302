"""Nodes of ONNX models that ptc does not compile: left to the caller, and reported by `ptc explain`.

foreign_test.py PTC LOADER_FILE
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PTC = Path(sys.argv[1]).resolve()
os.environ["PTC_EXECUTABLE"] = str(PTC)
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
TABLE = np.array([[1, 2], [3, 4]], np.float32)


def value(name: str, sizes: list[int | str] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, sizes)


def save(folder: Path, nodes: list[onnx.NodeProto], inputs: list, outputs: list, values: list = [], **constants) -> Path:
    graph = helper.make_graph(
        nodes, "g", inputs, outputs, [numpy_helper.from_array(x, name) for name, x in constants.items()], value_info=values
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8), path)
    return path


def scale_model(folder: Path) -> Path:
    """relu(x) goes through an operator of another library, with all kinds of attributes, and into a product."""
    own = helper.make_node(
        "Scale", ["r", "", "b"], ["s", "count"], name="own", domain="com.example",
        alpha=2.5, repeats=3, mode="wide", weights=[0.5, 1.5], places=[4, 5], words=["a", "b"],
        table=numpy_helper.from_array(TABLE, "t"),
    )  # fmt: skip
    nodes = [helper.make_node("Relu", ["x"], ["r"]), own, helper.make_node("MatMul", ["s", "b"], ["y"])]
    values = [value("s", ["n", 4])]
    return save(folder, nodes, [value("x", ["n", 4])], [value("y", ["n", 4]), value("count", [], INT64)], values,
                b=np.eye(4, dtype=np.float32) * 3)  # fmt: skip


class Foreign(unittest.TestCase):
    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def compile(self, model: Path, *options: str) -> subprocess.CompletedProcess:
        command = [PTC, "compile", model, "-o", self.folder / "model.so", *options]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    def test_a_function_of_the_caller_stands_for_it(self) -> None:
        done = self.compile(scale_model(self.folder), "--fallback")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"warning: .*'?own'?.*com\.example::Scale is left to the caller \(operator Scale of")
        model = ptc.load(self.folder / "model.so")
        given = []

        def scale(x, absent, b, **attributes):
            given.append((absent, b, attributes))
            return x * attributes["alpha"] + attributes["table"].sum(), np.int64(len(x))

        model.register("com.example::Scale", scale)
        x = np.random.default_rng(7).standard_normal((5, 4)).astype(np.float32)
        y, count = model(x)
        expected = (np.maximum(x, 0) * np.float32(2.5) + 10) * 3
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
        self.assertEqual(count.numpy(), 5)
        absent, b, attributes = given[0]
        self.assertIsNone(absent)
        np.testing.assert_array_equal(b, np.eye(4) * 3)
        np.testing.assert_array_equal(attributes.pop("table"), TABLE)
        self.assertEqual(attributes, {"alpha": 2.5, "repeats": 3, "mode": "wide", "weights": [0.5, 1.5],
                                      "places": [4, 5], "words": ["a", "b"]})  # fmt: skip

    def test_the_error_names_the_option(self) -> None:
        done = self.compile(scale_model(self.folder))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"node 'own' \(Scale\): operator Scale of the domain 'com.example' is not supported "
                                      r"\(.*--fallback leaves it to the caller\)")  # fmt: skip

    def test_explain_reports_it_and_the_rest(self) -> None:
        done = subprocess.run([PTC, "explain", scale_model(self.folder), "--json"], capture_output=True, text=True)
        report = json.loads(done.stdout)
        self.assertEqual([item["op"] for item in report["unsupported"]], ["com.example::Scale"])
        self.assertIn("operator Scale of the domain 'com.example'", report["break_reasons"][0]["reason"])
        self.assertEqual(report["ops"]["aten.relu.default"], 1)
        self.assertEqual([x["name"] for x in report["inputs"]], ["x"])

    def test_a_node_that_its_row_refuses(self) -> None:
        """Resize of an open size with antialiasing and scales that are data: no guard and no operation of the attempt stays."""
        resize = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", antialias=1, name="shrink")
        inputs = [value("x", [1, 1, 8, "w"]), value("scales", [4])]
        graph = helper.make_graph([resize], "g", inputs, [value("y", [1, 1, 4, 4])])
        path = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
        self.assertEqual(self.compile(path).returncode, 1)
        done = self.compile(path, "--fallback")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = ptc.load(self.folder / "model.so")
        model.register("ai.onnx::Resize", lambda x, roi, scales, **named: x[:, :, ::2, ::2] * scales[2])
        x = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8)
        (y,) = model(x, np.array([1, 1, 0.5, 0.5], np.float32))
        np.testing.assert_array_equal(y.numpy(), x[:, :, ::2, ::2] / 2)

    def test_types_that_the_model_does_not_say(self) -> None:
        nodes = [helper.make_node("Scale", ["x"], ["s"], name="own", domain="com.example"), helper.make_node("Relu", ["s"], ["y"])]
        path = save(self.folder, nodes, [value("x", [2])], [value("y", [2])])
        self.assertNotIn("--fallback", self.compile(path).stderr)
        done = self.compile(path, "--fallback")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "does not say the type of its result 's'.*infer_shapes")

    def test_a_size_that_only_the_function_knows(self) -> None:
        nodes = [helper.make_node("Choose", ["x"], ["s"], name="own", domain="com.example"), helper.make_node("Relu", ["s"], ["y"])]
        path = save(self.folder, nodes, [value("x", [2])], [value("y", ["k"])], [value("s", ["k"])])
        done = self.compile(path, "--fallback")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "the size k of its result 0 would be known only when it has run")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""`ptc.compile` of Python: files, exported programs and modules, options as keywords, errors with their place.

compile_test.py PTC LOADER_FILE
"""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from torch import Tensor, nn

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())


class ByName(nn.Module):
    def forward(self, x: Tensor, *, factor: Tensor) -> Tensor:
        return x * factor


class Refused(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.aten._cdist_backward(x, x, x, 2.0, x)


LINE_OF_REFUSED = Refused.forward.__code__.co_firstlineno + 1


class CompileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.library = Path(folder.name, "net.so")
        torch.manual_seed(0)
        self.net, self.x = Net().eval(), torch.randn(5, 4)

    def expect_answers(self, x: Tensor) -> None:
        (y,) = ptc.load(self.library)(x)
        torch.testing.assert_close(torch.from_dlpack(y), self.net(x).detach())

    def test_module(self) -> None:
        self.assertEqual(ptc.compile(self.net, self.library, (self.x,)), self.library)
        self.expect_answers(self.x)

    def test_module_with_open_sizes(self) -> None:
        ptc.compile(self.net, self.library, (self.x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
        self.expect_answers(torch.randn(9, 4))

    def test_module_with_one_input_and_with_some_by_name(self) -> None:
        ptc.compile(self.net, self.library, self.x)
        self.expect_answers(self.x)
        ptc.compile(ByName(), self.library, self.x, {"factor": torch.tensor(2.0)})
        (y,) = ptc.load(self.library)(self.x, factor=3)
        torch.testing.assert_close(torch.from_dlpack(y), self.x * 3)

    def test_info(self) -> None:
        ptc.compile(self.net, self.library, (self.x,), amp="bf16", name="small")
        info = ptc.load(self.library).info
        (entry,) = info["entries"]
        self.assertEqual((info["name"], info["options"]), ("small", {"amp": "bf16"}))
        self.assertEqual(entry["inputs"], [{"name": "x", "dtype": "float32", "shape": [5, 4]}])

    def test_exported_program(self) -> None:
        ptc.compile(torch.export.export(self.net, (self.x,)), self.library, march="x86-64-v3", source_paths="none")
        self.expect_answers(self.x)

    def test_file(self) -> None:
        file = self.library.with_suffix(".pt2")
        torch.export.save(torch.export.export(self.net, (self.x,)), file)
        ptc.compile(str(file), self.library, weights=None, fallback=False, opt=0)
        self.expect_answers(self.x)
        for exported in (file, torch.export.load(file)):
            with self.assertRaisesRegex(TypeError, "exported already"):
                ptc.compile(exported, self.library, (self.x,))

    def test_options_that_are_given_several_times(self) -> None:
        ptc.compile(self.net, self.library, (self.x,), train=True, loss="mse", optimizer="sgd",
                    optimizer_options={"lr": 0.5}, freeze=["first.weight", "first.bias"])
        step = ptc.load(self.library)
        before = {name: torch.from_dlpack(value).clone() for name, value in step.state_dict().items() if "." in name}
        self.assertEqual(step.get("optimizer.lr"), 0.5)
        step(self.x, torch.zeros(5, 3))
        changed = {name for name, value in step.state_dict().items()
                   if name in before and not torch.equal(torch.from_dlpack(value), before[name])}
        self.assertTrue(changed >= {"second.weight", "second.bias"} and not changed & {"first.weight", "first.bias"})

    def test_options_of_several_values(self) -> None:
        ptc.compile(self.net, self.library, self.x, march=["x86-64-v3", "x86-64-v4"], winograd=False, fullgraph=True)
        info = ptc.load(self.library).info
        self.assertEqual({machine["name"] for machine in info["machines"]}, {"x86-64-v3", "x86-64-v4"})
        self.assertIn("winograd", str(info["options"]))
        with self.assertRaisesRegex(ptc.CompileError, "--fallback excludes --fullgraph"):
            ptc.compile(self.net, self.library, self.x, fullgraph=True, fallback=True)
        with self.assertRaisesRegex(ptc.CompileError, "--train excludes --no-fullgraph"):
            ptc.compile(self.net, self.library, self.x, fullgraph=False, train=True)

    def test_warnings(self) -> None:
        with self.assertWarnsRegex(ptc.CompileWarning, "^ptc: .*_cdist_backward.* is left to the caller") as caught:
            ptc.compile(Refused(), self.library, self.x, fallback=True)
        self.assertEqual(caught.filename, __file__)

    def test_errors(self) -> None:
        with self.assertRaises(ptc.CompileError) as caught:
            ptc.compile(Refused(), self.library, (self.x,))
        self.assertEqual(caught.exception.status, 1)
        place = Path(caught.exception.file).name, caught.exception.line
        self.assertEqual(place, ("compile_test.py", LINE_OF_REFUSED))
        self.assertIn("_cdist_backward", caught.exception.node)
        self.assertTrue(caught.exception.message.startswith("operator aten._cdist_backward"), caught.exception.message)
        text = f"{caught.exception.message} ({caught.exception.hint})"
        self.assertTrue(str(caught.exception).endswith(f", node {caught.exception.node}: {text}"))
        self.assertIsNone(caught.exception.module)
        with self.assertRaises(ptc.CompileError) as caught:
            ptc.compile(nn.Sequential(nn.Identity(), Refused()), self.library, (self.x,))
        self.assertEqual(caught.exception.module, "1")
        self.assertIn(f", node {caught.exception.node}, module 1: operator", str(caught.exception))
        with self.assertRaisesRegex(ptc.CompileError, "--no-such-option") as caught:
            ptc.compile(self.net, self.library, (self.x,), no_such_option=3)
        self.assertEqual((caught.exception.status, caught.exception.line), (2, None))
        file = self.library.with_suffix(".mlir")
        file.write_text("func.func @forward() {\n  return %x\n}\n")
        with self.assertRaises(ptc.CompileError) as caught:
            ptc.compile(file, self.library)
        place = caught.exception.file, caught.exception.line, caught.exception.column, caught.exception.node
        self.assertEqual(place, (str(file), 2, 12, None))
        self.assertEqual((caught.exception.message, caught.exception.hint), ("expected ':'", None))
        with self.assertRaisesRegex(TypeError, "example inputs"):
            ptc.compile(self.net, self.library)
        with self.assertRaisesRegex(TypeError, "not dict"):
            ptc.compile({}, self.library)
        self.assertFalse(self.library.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

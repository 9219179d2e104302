"""Calls from Python by names: results, inputs, members of dicts and tuples; what a wrong name or shape is answered.

names_test.py PTC LOADER_FILE
"""

from __future__ import annotations

import collections
import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()

# Outputs with names of their own, and input names that are no words of Python.
CLASSIFIER = """
func.func @forward(%x: tensor<2x3xf32> {ptc.input = "image"}, %y: tensor<2x3xf32> {ptc.input = "out"})
    -> (tensor<2x3xf32> {ptc.output = "logits"}, tensor<2x3xf32> {ptc.output = "loss.scaled"}) {
  %0 = aten.add.Tensor %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.mul.Tensor %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""


class Nested(nn.Module):
    def forward(self, batch: dict, pair: tuple, scale: Tensor | None = None) -> Tensor:
        return batch["image"] - batch["Mask.0"] * 10 + pair[0] * 100 + pair[1][0] * 1000 + scale * 10000


class OneMember(nn.Module):
    def forward(self, batch: dict) -> Tensor:
        return batch["image"] * 2


class Picture(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return image * 2


class Heads(nn.Module):
    def forward(self, image: Tensor) -> dict:
        return {"logits": image + 1, "aux": {"maps": [image * 2, image * 3]}, "none": None}


def filled(number: float) -> np.ndarray:
    return np.full((2, 3), number, np.float32)


def compile_module(module: nn.Module, *inputs: object, **options: object) -> ptc.Model:
    path = Path(FOLDER.name, f"{type(module).__name__}.so")
    return ptc.load(ptc.compile(module, path, inputs, **options))


class ResultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        path = Path(FOLDER.name, "classifier.mlir")
        path.write_text(CLASSIFIER)
        cls.model = ptc.load(ptc.compile(path, path.with_suffix(".so")))
        cls.x, cls.y = filled(2), filled(5)

    def test_trees_of_torch(self) -> None:
        self.assertEqual([leaf.shape for leaf in tree_leaves([self.model(self.x, self.y)])], [(2, 3), (2, 3)])
        mapped = tree_map(torch.from_dlpack, self.model(self.x, self.y))
        np.testing.assert_array_equal(mapped["logits"], filled(7))

    def test_a_list_with_names(self) -> None:
        results = self.model(self.x, self.y)
        self.assertIsInstance(results, list)
        logits, scaled = results
        self.assertIs(results["logits"], logits)
        self.assertIs(results["loss.scaled"], scaled)
        self.assertEqual((len(results), results[-1], results[:1]), (2, scaled, [logits]))
        self.assertEqual(dict(results), {"logits": logits, "loss.scaled": scaled})
        with self.assertRaisesRegex(KeyError, r"no output 'losses' \(its outputs: \['logits', 'loss.scaled'\]\)"):
            results["losses"]
        with self.assertRaises(IndexError):
            results[2]

    def test_the_keys_of_a_modules_dict(self) -> None:
        model = compile_module(Heads(), torch.zeros(2, 3))
        self.assertEqual([output.name for output in model.outputs], ["logits", "aux.maps.0", "aux.maps.1"])
        np.testing.assert_array_equal(model(self.x)["aux.maps.1"], filled(6))

    def test_as_a_session_of_onnx_runtime(self) -> None:
        feed = {"out": self.y, "image": self.x}
        (scaled,) = self.model.run(["loss.scaled"], feed)
        np.testing.assert_array_equal(scaled, filled(10))
        self.assertEqual([float(value.numpy()[0, 0]) for value in self.model.run(None, feed)], [7, 10])
        with self.assertRaisesRegex(KeyError, "no output 'losses'"):
            self.model.run(["losses"], feed)
        with self.assertRaisesRegex(TypeError, "no input 'images', did you mean 'image'"):
            self.model.run(None, {"images": self.x, "out": self.y})

    def test_one_argument(self) -> None:
        both = {"out": self.y, "image": self.x}
        for argument in (both, collections.UserDict(both), (self.x, self.y), [self.x, torch.from_numpy(self.y)]):
            np.testing.assert_array_equal(self.model(argument)["logits"], filled(7))
        np.testing.assert_array_equal(self.model(self.x.tolist(), self.y)["logits"], filled(7))

    def test_wrong_arguments(self) -> None:
        takes = r"the model takes \['image', 'out'\]"
        for given, named, why in (
            ((self.x,), {"outer": self.y}, rf"^there is no input 'outer', did you mean 'out'\? \({takes}\)$"),
            (({"image": self.x, "zzz": self.y},), {}, rf"^there is no input 'zzz' \({takes}\)$"),
            ((self.x,), {"image": self.y}, "^input 'image' is given by position and by name$"),
            ((self.x,), {}, f"^input 'out' is missing: {takes}$"),
            ((self.x, self.y, self.x), {}, f"^3 inputs were given: {takes}$"),
            ((self.x, {"image": self.x}), {}, rf"^\['image'\] are no members of an input: {takes}$"),
        ):
            with self.assertRaisesRegex(TypeError, why):
                self.model(*given, **named)


class MembersTest(unittest.TestCase):
    """Of what torch.export takes apart."""

    def test_nested(self) -> None:
        ones, model = filled(1), None
        batch, pair = {"image": ones, "Mask.0": ones * 2}, (ones * 3, [ones * 4])
        example = torch.utils._pytree.tree_map(torch.from_numpy, (batch, pair, ones))
        model = compile_module(Nested(), *example)
        turned = dict(reversed(batch.items()))
        for given, named in (
            ((ones, ones * 2, ones * 3, ones * 4, ones * 5), {}),
            ((turned, pair, ones * 5), {}),
            ((turned, pair), {"scale": ones * 5}),
            ((turned,), {"pair": pair, "scale": ones * 5}),
            ((), {"scale": ones * 5, "pair": pair, "batch": turned}),
            (({"scale": ones * 5, "pair": pair, "batch": turned},), {}),
            (((turned, pair, ones * 5),), {}),
        ):
            (y,) = model(*given, **named)
            np.testing.assert_array_equal(y, filled(1 - 20 + 300 + 4000 + 50000))
        with self.assertRaisesRegex(TypeError, r"^\['image', 'mask'\] are no members of an input: the model takes"):
            model({"image": ones, "mask": ones}, pair, ones)

    def test_one_member(self) -> None:
        model = compile_module(OneMember(), {"image": torch.zeros(2, 3)})
        for given, named in (
            (({"image": filled(3)},), {}),
            ((), {"batch": {"image": filled(3)}}),
            ((filled(3).tolist(),), {}),
        ):
            np.testing.assert_array_equal(model(*given, **named)[0], filled(6))
        with self.assertRaisesRegex(TypeError, r"^there is no input 'picture' \(the model takes \['batch_image'\]\)$"):
            model({"picture": filled(3)})


class ShapesTest(unittest.TestCase):
    def test_both_shapes_and_what_may_have_happened(self) -> None:
        sizes = {0: torch.export.Dim("batch", min=1, max=64)}
        model = compile_module(Picture(), torch.zeros(2, 3, 8, 9), dynamic_shapes=(sizes,))
        takes = r"the model's \[s\d+, 3, 8, 9\]"
        for shape, why in (
            ((1, 8, 9, 3), rf"{takes} \(channels last\? transpose\(0, 3, 1, 2\) fits\)$"),
            ((2, 9, 8, 3), rf"{takes} \(transposed\? transpose\(0, 3, 2, 1\) fits\)$"),
            ((3, 8, 9), f"has 3 dimensions, but the model was compiled for 4; its shape is .*, {takes}$"),
            ((2, 3, 8, 8), f"{takes}$"),
            ((65, 3, 8, 9), rf"dimension 0 has size 65, allowed: 1..64 \(s\d+\); its shape is .*, {takes}$"),
        ):
            for array in (np.zeros(shape, np.float32), torch.zeros(shape)):
                with self.assertRaisesRegex(ptc.MismatchError, "^input 'image' .0.: .*" + why) as caught:
                    model(array)
                self.assertIn(f"; its shape is {list(shape)}, ", str(caught.exception))

    def test_channels_first(self) -> None:
        path = Path(FOLDER.name, "rows.mlir")
        path.write_text("""
func.func @forward(%x: tensor<8x9x3xf32> {ptc.input = "x"}) -> (tensor<8x9x3xf32> {ptc.output = "y"}) {
  %0 = aten.relu.default %x : (tensor<8x9x3xf32>) -> tensor<8x9x3xf32>
  return %0 : tensor<8x9x3xf32>
}
""")
        model = ptc.load(ptc.compile(path, path.with_suffix(".so")))
        with self.assertRaisesRegex(ptc.MismatchError, r"\(channels first\? transpose\(1, 2, 0\) fits\)$"):
            model(np.zeros((3, 8, 9), np.float32))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

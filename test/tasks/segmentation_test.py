"""examples/segmentation: its logits are eager PyTorch's at all kinds of sizes, and most pixels are right.

segmentation_test.py PTC
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from example import ROOT, load_eager, run_commands

import ptc

sys.path.insert(0, str(ROOT / "examples/segmentation"))
from export import Segmenter  # noqa: E402
from shapes import draw  # noqa: E402


class SegmentationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.said = run_commands("segmentation", cls.folder, ptc=sys.argv[1])[-1]
        cls.eager = load_eager(Segmenter, cls.folder / "unet.pt2")
        cls.model = ptc.load(cls.folder / "unet.so")

    def test_logits(self) -> None:
        random = np.random.default_rng(2)
        for size in ((16, 16), (64, 64), (24, 200), (320, 136)):
            image = draw(*size, random)[0][None, None]
            (logits,) = self.model(image)
            expected = self.eager(torch.from_numpy(image)).numpy()
            np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-4, err_msg=str(size))

    def test_other_sizes(self) -> None:
        for shape, place, size in (((1, 1, 60, 64), 2, 60), ((1, 1, 64, 7), 3, 7), ((1, 1, 8, 64), 2, 8)):
            with self.assertRaisesRegex(ptc.MismatchError, rf"input 'image' \(0\): dimension {place} has size {size}\b"):
                self.model(np.zeros(shape, np.float32))

    def test_program(self) -> None:
        right = re.findall(r"^(\d+ x \d+): ([\d.]+)% of the pixels are right$", self.said, re.M)
        self.assertEqual([size for size, _ in right], ["24 x 48", "40 x 100", "480 x 640"])
        self.assertGreater(min(float(percent) for _, percent in right), 80)
        masks = re.findall(r"^[.o#]+$", self.said, re.M)
        self.assertEqual([len(row) for row in masks], [48] * 24 + [100] * 40)
        for kind in "o#":
            self.assertIn(kind, "".join(masks))
        self.assertIn("refused: input 'image' (0): dimension 2 has size 60", self.said)

    def test_learned(self) -> None:
        """More than that there is something: discs are discs, and squares are squares."""
        random, right, shown = np.random.default_rng(3), 0, 0
        for _ in range(20):
            image, kinds = draw(96, 96, random)
            (logits,) = self.model(image[None, None])
            there = kinds > 0
            right += (logits.numpy()[0].argmax(axis=0)[there] == kinds[there]).sum()
            shown += there.sum()
        print(f"{right / shown:.1%} of the pixels of shapes")
        self.assertGreater(right / shown, 0.8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

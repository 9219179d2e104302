"""The random state of a compiled model, through the Python loader.

seeds.py PTC LOADER_FILE...
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

PTC = sys.argv[1]
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402


class Noise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.nn.functional.dropout(x + torch.randn_like(x), 0.3, True), torch.randint(1000, (64,))


class Uniform(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.rand_like(x)


def compile_model(module: torch.nn.Module, example: torch.Tensor) -> Path:
    folder = Path(tempfile.mkdtemp())
    torch.export.save(torch.export.export(module, (example,)), folder / "model.pt2")
    subprocess.run([PTC, "compile", folder / "model.pt2", "-o", folder / "model.so"], check=True)
    return folder / "model.so"


PATH = compile_model(Noise(), torch.zeros(300, 300))
X = np.ones((300, 300), np.float32)


def draw(model: ptc.Model) -> bytes:
    return b"".join(y.numpy().tobytes() for y in model(X))


class SeedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.model = ptc.Model(PATH, threads=2)

    def test_calls_differ_and_a_seed_repeats_them(self) -> None:
        self.model.seed(7)
        first, second = draw(self.model), draw(self.model)
        self.assertNotEqual(first, second)
        self.model.seed(7)
        self.assertEqual([first, second], [draw(self.model), draw(self.model)])
        self.model.seed(8)
        self.assertNotEqual(first, draw(self.model))

    def test_new_contexts_start_alike(self) -> None:
        self.assertEqual(draw(self.model), draw(ptc.Model(PATH)))

    def test_threads_do_not_matter(self) -> None:
        numbers = []
        for threads in (1, 2, 3):
            self.model.threads = threads
            self.model.seed(2**64 - 1)
            numbers.append(draw(self.model))
        self.assertEqual(numbers[0], numbers[1])
        self.assertEqual(numbers[0], numbers[2])

    def test_known_answer(self) -> None:
        """Philox4x32-10 of counter 0 and key 0, as its authors publish it."""
        model = ptc.Model(compile_model(Uniform(), torch.zeros(8)))
        model.seed(0)
        (numbers,) = model(np.zeros(8, np.float32))
        words = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
        np.testing.assert_array_equal(numbers.numpy()[:4], (words >> 8) * 2.0**-24)

    def test_the_state_can_be_saved(self) -> None:
        self.model.seed(5)
        draw(self.model)
        state = self.model.get_state("ptc.random")
        np.testing.assert_array_equal(state, [5, 4])
        after = draw(self.model)
        other = ptc.Model(PATH)
        other.set_state("ptc.random", state)
        self.assertEqual(after, draw(other))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

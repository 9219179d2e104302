"""examples/generate: both programs write what eager PyTorch writes, which has no cache and computes each text anew.

generate_test.py PTC GENERATE
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from example import ROOT, load_eager, run, run_commands

import ptc

sys.path.insert(0, str(ROOT / "examples/generate"))
from export import CAPACITY, Decoder  # noqa: E402

PROMPTS = ["The License", "You may add"]  # those of the commands, of one length: a cache in common would show
OTHERS = ["Subject to the terms", "a copy of the "]
COUNT = 80
# An eager choice between bytes whose logits are closer than this may be another one in ptc, and so is all behind it.
CLOSE = 5e-3
PYTHON = "PYTHONPATH=tools/python python3 examples/generate/generate.py"


class GenerateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.said = run_commands("generate", cls.folder, ptc=sys.argv[1], generate=sys.argv[2])
        # In training it attends to the call's own tokens instead of the cache, and is the same network otherwise.
        cls.eager = load_eager(Decoder, cls.folder / "decoder.pt2").train()

    def next_logits(self, text: bytes) -> torch.Tensor:
        return self.eager(torch.tensor([list(text)]), torch.tensor(0))[0]

    def write(self, prompt: str) -> tuple[str, int]:
        """What eager PyTorch writes, and how much of it is no close choice."""
        text, sure = prompt.encode(), None
        for _ in range(COUNT):
            logits, tokens = self.next_logits(text)[-1].topk(2)
            if sure is None and logits[0] - logits[1] < CLOSE:
                sure = len(text)
                print(f"a close choice behind {text!r}: not compared from here on")
            text += bytes([int(tokens[0])])
        return text.decode(), len(text) if sure is None else sure

    def check_text(self, found: str, prompt: str) -> None:
        expected, sure = self.write(prompt)
        self.assertEqual(len(found), len(expected))
        self.assertEqual(found[:sure], expected[:sure])

    def test_two_conversations_at_once(self) -> None:
        for said in self.said[-2:]:
            self.assertEqual(len(said.splitlines()), 2)
            for found, prompt in zip(said.splitlines(), PROMPTS):
                self.check_text(found, prompt)

    def test_one_conversation(self) -> None:
        for prompt in OTHERS:
            for program in (PYTHON, "./generate"):
                said = run(f"{program} ./decoder.so {COUNT} {shlex.quote(prompt)}", self.folder)
                self.check_text(said.removesuffix("\n"), prompt)

    def test_logits_of_a_prompt_in_parts(self) -> None:
        text = (ROOT / "LICENSE").read_bytes()[2000 : 2000 + CAPACITY]
        expected = self.next_logits(text)
        model = ptc.load(self.folder / "decoder.so")
        for lengths in ([CAPACITY], [1] * CAPACITY, [7, 1, 1, 90, 1, CAPACITY - 100]):
            begin = 0
            for length in lengths:
                (logits,) = model(np.array(list(text[begin : begin + length]), np.int64), begin)
                begin += length
                np.testing.assert_allclose(logits.numpy(), expected[begin - 1], rtol=5e-4, atol=5e-4)

    def test_states(self) -> None:
        model, other = ptc.load(self.folder / "decoder.so"), ptc.load(self.folder / "decoder.so")
        self.assertEqual(len(model.states), 4)
        first = model.state_dict()
        model(np.array([1, 2, 3], np.int64), 0)
        changed = model.state_dict()
        for name, value in other.state_dict().items():
            np.testing.assert_array_equal(value, first[name])
            self.assertTrue((changed[name] != value).any())
        model.reset_states()
        for name, value in model.state_dict().items():
            np.testing.assert_array_equal(value, first[name])

    def test_a_text_longer_than_the_cache(self) -> None:
        model = ptc.load(self.folder / "decoder.so")
        with self.assertRaisesRegex(ptc.MismatchError, f"has size {CAPACITY + 1}, allowed: 1..{CAPACITY}"):
            model(np.zeros(CAPACITY + 1, np.int64), 0)
        with self.assertRaisesRegex(ptc.OutOfRangeError, "index out of range in index_copy_: 256 is not from 0 to 255, at export.py"):
            model(np.zeros(2, np.int64), CAPACITY - 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""examples/audio: its logits are eager PyTorch's for sounds of any length, and most sounds are told right.

audio_test.py PTC
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
import wave
from pathlib import Path

import numpy as np
import torch
from example import ROOT, load_eager, run, run_commands

import ptc

sys.path.insert(0, str(ROOT / "examples/audio"))
from export import Classifier  # noqa: E402
from sounds import KINDS, RATE, make_sound  # noqa: E402


class AudioTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.said = run_commands("audio", cls.folder, ptc=sys.argv[1])[-1]
        cls.eager = load_eager(Classifier, cls.folder / "audio.pt2")
        cls.model = ptc.load(cls.folder / "audio.so")

    def test_logits(self) -> None:
        random = np.random.default_rng(2)
        for count in (RATE // 4, 12345, 5 * RATE):
            sound = make_sound("rising", count / RATE, random)[None]
            (logits,) = self.model(sound)
            expected = self.eager(torch.from_numpy(sound)).numpy()
            np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-4, err_msg=str(count))

    def test_fresh_sounds(self) -> None:
        random, right, count = np.random.default_rng(3), 0, 100
        for i in range(count):
            sound = make_sound(KINDS[i % len(KINDS)], random.uniform(0.5, 2), random)
            right += self.model(sound[None])[0].numpy().argmax() == i % len(KINDS)
        print(f"{right} of {count} fresh sounds")
        self.assertGreaterEqual(right, count * 9 // 10)

    def test_program(self) -> None:
        told = re.findall(r"^sounds/([a-z]+)\d\.wav: (\w+) \(\d+%\)$", self.said, re.M)
        self.assertEqual(sorted(kind for kind, _ in told), sorted([*KINDS, *KINDS]))
        self.assertGreaterEqual(sum(kind == answer for kind, answer in told), 7)

    def test_stereo_and_files_of_another_rate(self) -> None:
        samples = make_sound("falling", 1, np.random.default_rng(4))
        for name, rate in (("stereo", RATE), ("slow", RATE // 2)):
            with wave.open(str(self.folder / f"{name}.wav"), "wb") as file:
                file.setparams((2, 2, rate, 0, "NONE", None))
                file.writeframes((32767 * np.repeat(samples, 2)).astype("<i2").tobytes())
        program = "PYTHONPATH=tools/python python3 examples/audio/classify.py ./audio.so"
        self.assertIn("stereo.wav: falling", run(f"{program} stereo.wav", self.folder))
        self.assertIn("slow.wav: not 16 bits a sample", run(f"{program} slow.wav 2>&1 || true", self.folder))

    def test_too_short(self) -> None:
        with self.assertRaisesRegex(ptc.MismatchError, r"input 'sound' \(0\): dimension 1 has size 1000, allowed: 2000"):
            self.model(np.zeros((1, 1000), np.float32))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Trains a small network to tell kinds of sounds apart, and exports it for sounds of any length (needs torch 2.11).

From here to an answer, in this order; each line takes seconds:

    python3 examples/audio/export.py audio.pt2
    ptc compile audio.pt2 -o audio.so
    python3 examples/audio/sounds.py sounds
    PYTHONPATH=tools/python python3 examples/audio/classify.py ./audio.so sounds/*.wav

The spectrogram is a part of the model, so that programs have nothing to get wrong: they pass samples as they are. The
network looks at half a second at a time and takes the mean over the sound, however long that is.
"""

import sys

import numpy as np
import torch
from sounds import KINDS, RATE, make_sound
from torch import Tensor, nn
from torch.export import Dim

WINDOW, STEP, WIDTH = 256, 128, 32


class Classifier(nn.Module):
    """Of one sound (in training, of several of one length), the logits of its kinds."""

    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(WINDOW).clone())  # a part of a tensor until it is cloned
        layers: list[nn.Module] = []
        for inputs in (WINDOW // 2 + 1, WIDTH, WIDTH):
            layers += [nn.Conv1d(inputs, WIDTH, 5, stride=2, padding=2), nn.ReLU()]
        self.convolve = nn.Sequential(*layers)
        self.classify = nn.Linear(WIDTH, len(KINDS))

    def forward(self, sound: Tensor) -> Tensor:
        spectrum = torch.stft(sound, WINDOW, STEP, window=self.window, center=False, return_complex=True)
        loudness = torch.log(spectrum.abs() + 1e-3)
        x = loudness - loudness.mean(dim=(1, 2), keepdim=True)  # how loud the whole is does not matter
        return self.classify(self.convolve(x).mean(dim=2))


def train(model: Classifier, steps: int = 200, batch: int = 32) -> None:
    random = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    model.train()
    for step in range(steps):
        seconds, kinds = random.uniform(0.5, 2), random.integers(len(KINDS), size=batch)
        sounds = np.stack([make_sound(KINDS[kind], seconds, random) for kind in kinds])
        loss = nn.functional.cross_entropy(model(torch.from_numpy(sounds)), torch.from_numpy(kinds))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.3f}")
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more are hardly faster at steps as small as these
    model = Classifier()
    train(model)
    samples = Dim("samples", min=RATE // 4, max=60 * RATE)
    program = torch.export.export(model, (torch.zeros(1, RATE),), dynamic_shapes={"sound": {1: samples}})
    torch.export.save(program, sys.argv[1])


if __name__ == "__main__":
    main()

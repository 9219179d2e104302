#!/usr/bin/env python3
"""Says what kinds of sounds .wav files have, by a network compiled by ptc; needs NumPy.

export.py makes the library:

    PYTHONPATH=tools/python python3 examples/audio/classify.py ./audio.so FILE.wav...
"""

import sys
import wave

import numpy as np
from sounds import KINDS, RATE

import ptc


def read_wave(path: str) -> np.ndarray:
    """Samples of 16 bits as numbers between -1 and 1; of several channels their mean."""
    with wave.open(path) as file:
        if (file.getsampwidth(), file.getframerate()) != (2, RATE):
            sys.exit(f"{path}: not 16 bits a sample and {RATE} samples a second")
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return (samples.reshape(-1, file.getnchannels()).mean(axis=1) / 32768).astype(np.float32)


def main() -> None:
    library, *paths = sys.argv[1:]
    model = ptc.load(library)
    for path in paths:
        (logits,) = model(read_wave(path)[None])
        weights = np.exp(logits.numpy()[0] - logits.numpy().max())
        print(f"{path}: {KINDS[weights.argmax()]} ({weights.max() / weights.sum():.0%})")


if __name__ == "__main__":
    main()

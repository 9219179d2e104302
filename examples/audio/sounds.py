#!/usr/bin/env python3
"""Sounds of four kinds, made by NumPy. As a program it writes two of each as files, which begin with the kind's name.

    python3 examples/audio/sounds.py FOLDER
"""

import sys
import wave
from pathlib import Path

import numpy as np

RATE = 8000  # samples a second
KINDS = ("tone", "rising", "falling", "warble")


def make_sound(kind: str, seconds: float, random: np.random.Generator) -> np.ndarray:
    """Numbers between -1 and 1, of random pitch and loudness, in a little noise."""
    count = int(seconds * RATE)
    part = np.linspace(0, 1, count)
    course = {
        "tone": np.full(count, 0.5),
        "rising": part,
        "falling": 1 - part,
        "warble": 0.5 + 0.5 * np.sin(2 * np.pi * random.uniform(5, 7) * seconds * part),
    }[kind]
    pitch = random.uniform(300, 1000) * random.uniform(1.6, 2.5) ** course
    sound = random.uniform(0.1, 0.6) * np.sin(2 * np.pi * np.cumsum(pitch) / RATE)
    return (sound + random.normal(0, 0.02, count)).astype(np.float32)


def write_wave(path: Path, sound: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((32767 * sound.clip(-1, 1)).astype("<i2").tobytes())


def main() -> None:
    folder, random = Path(sys.argv[1]), np.random.default_rng(1)
    folder.mkdir(exist_ok=True)
    for kind in KINDS:
        for number in (1, 2):
            write_wave(folder / f"{kind}{number}.wav", make_sound(kind, random.uniform(0.5, 2), random))


if __name__ == "__main__":
    main()

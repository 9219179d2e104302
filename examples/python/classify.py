#!/usr/bin/env python3
"""Classifies handwritten digits with a model compiled by ptc; needs NumPy.

    ptc compile examples/digits/model.pt2 -o digits.so
    PYTHONPATH=tools/python python3 examples/python/classify.py ./digits.so
"""

import sys

import numpy as np

import ptc

SEVEN = """
 OOOOOO
 oooOO
    OO
   oOO
   OO
  oOo
  OO
  OO
"""


def draw(text: str) -> np.ndarray:
    """An 8x8 image of 0..16."""
    image = np.zeros((8, 8), np.float32)
    for y, line in enumerate(text.strip("\n").splitlines()):
        for x, c in enumerate(line):
            image[y, x] = {"O": 16, "o": 8}.get(c, 0)
    return image


def main() -> None:
    model = ptc.load(sys.argv[1])
    print(f"{model.name}: {', '.join(f'{i.name} {i.dtype}' for i in model.inputs)}, on {model.threads} threads")
    images = np.stack([draw(SEVEN), draw(SEVEN)[:, ::-1]])[:, None]
    (probabilities,) = model(images)
    for row in probabilities.numpy():
        print(f"digit {row.argmax()} ({row.max():.1%})")
    try:
        model(images.astype(np.float64))
    except ptc.Error as error:
        print("refused:", error)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Finds discs and squares in images of several sizes, by a network compiled by ptc; needs NumPy.

export.py makes the library:

    PYTHONPATH=tools/python python3 examples/segmentation/segment.py ./unet.so
"""

import sys

import numpy as np
from shapes import draw

import ptc


def segment(model: ptc.Model, image: np.ndarray) -> np.ndarray:
    """What each pixel shows. The network takes multiples of 8, from 16 on: other images are continued by their edge."""
    height, width = image.shape
    padded = np.pad(image, [(0, max(16 - size, -size % 8)) for size in image.shape], mode="edge")
    (logits,) = model(padded[None, None])
    return logits.numpy()[0].argmax(axis=0)[:height, :width]


def main() -> None:
    model = ptc.load(sys.argv[1])
    random = np.random.default_rng(4)
    for height, width in ((24, 48), (40, 100), (480, 640)):
        image, shown = draw(height, width, random)
        mask = segment(model, image)
        if width <= 100:
            print("\n".join("".join(".o#"[kind] for kind in row) for row in mask))
        print(f"{height} x {width}: {(mask == shown).mean():.1%} of the pixels are right\n")
    try:
        model(np.zeros((1, 1, 60, 64), np.float32))
    except ptc.Error as error:
        print("refused:", error)


if __name__ == "__main__":
    main()

"""Images of discs and squares in noise, drawn by NumPy."""

import numpy as np

NOTHING, DISC, SQUARE = range(3)


def draw(height: int, width: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An image of numbers about 0 and 1, and what each of its pixels shows."""
    y, x = np.mgrid[:height, :width]
    shown = np.full((height, width), NOTHING)
    for kind in random.permutation([DISC, SQUARE] * max(1, height * width // 2000)):
        radius = random.uniform(4, 9)
        above, left = abs(y - random.uniform(0, height)), abs(x - random.uniform(0, width))
        shown[np.hypot(above, left) < radius if kind == DISC else np.maximum(above, left) < radius] = kind
    image = (shown != NOTHING) * random.uniform(0.7, 1.3) + random.normal(0, 0.25, (height, width))
    return image.astype(np.float32), shown

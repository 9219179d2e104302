#!/usr/bin/env python3
"""Trains a small U-Net to tell discs from squares, and exports it for images of any size (needs torch 2.11).

From here to masks, in this order; each line takes seconds:

    python3 examples/segmentation/export.py unet.pt2
    ptc compile unet.pt2 -o unet.so
    PYTHONPATH=tools/python python3 examples/segmentation/segment.py ./unet.so

The network halves an image three times and doubles it again, so height and width are multiples of 8. The export says
so, `8 * Dim("rows")`, and each call checks it.
"""

import sys

import numpy as np
import torch
from shapes import draw
from torch import Tensor, nn
from torch.export import Dim

WIDTHS = (8, 16, 24, 32)


def convolve(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Segmenter(nn.Module):
    """Of each pixel, the logits of nothing, a disc and a square."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(map(convolve, (1, *WIDTHS[:-1]), WIDTHS))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(WIDTHS, WIDTHS[1:]))
        self.up = nn.ModuleList(convolve(2 * width, width) for width in WIDTHS[:-1])
        self.classify = nn.Conv2d(WIDTHS[0], 3, 1)

    def forward(self, image: Tensor) -> Tensor:
        x, skips = self.down[0](image), []
        for down in self.down[1:]:
            skips.append(x)
            x = down(nn.functional.max_pool2d(x, 2))
        for widen, up, skip in zip(reversed(self.widen), reversed(self.up), reversed(skips)):
            x = up(torch.cat([widen(x), skip], dim=1))
        return self.classify(x)


def train(model: Segmenter, steps: int = 160, batch: int = 8) -> None:
    random = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    model.train()
    for step in range(steps):
        images, shown = map(np.stack, zip(*(draw(64, 64, random) for _ in range(batch))))
        logits = model(torch.from_numpy(images[:, None]))
        loss = nn.functional.cross_entropy(logits, torch.from_numpy(shown))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 40 == 39:
            print(f"step {step + 1}: loss {loss.item():.3f}")
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more are hardly faster at steps as small as these
    model = Segmenter()
    train(model)
    sizes = {2: 8 * Dim("rows", min=2, max=128), 3: 8 * Dim("columns", min=2, max=128)}  # 16 to 1024
    program = torch.export.export(model, (torch.zeros(1, 1, 64, 48),), dynamic_shapes={"image": sizes})
    torch.export.save(program, sys.argv[1])


if __name__ == "__main__":
    main()

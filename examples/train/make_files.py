#!/usr/bin/env python3
"""Writes what this folder has beside the program (needs torch 2.11, scikit-learn): the digits as bytes, and the loss.

A digit is 65 bytes: 8 x 8 pixels of 0..16, then what it is. The split is that of ../digits/train.py.
"""

from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.export import Dim

HERE = Path(__file__).parent


class Loss(nn.Module):
    """Of probabilities, which the model of ../digits answers: the mean negative logarithm of the right one."""

    def forward(self, probabilities: Tensor, target: Tensor) -> Tensor:
        return nn.functional.nll_loss(torch.log(probabilities + 1e-9), target)


def main() -> None:
    data = load_digits()
    digits = torch.cat([torch.tensor(data.images).flatten(1), torch.tensor(data.target)[:, None]], 1).to(torch.uint8)
    order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(1))
    first = len(order) * 4 // 5
    (HERE / "training.bytes").write_bytes(digits[order[:first]].numpy().tobytes())
    (HERE / "test.bytes").write_bytes(digits[order[first:]].numpy().tobytes())
    example = torch.full((8, 10), 0.1), torch.zeros(8, dtype=torch.int64)
    batch = Dim("batch", min=1, max=4096)
    program = torch.export.export(Loss(), example, dynamic_shapes=({0: batch}, {0: batch}))
    (HERE / "loss.graph").write_text(f"{program}\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains the digit classifier of this folder and exports it (a minute; needs torch 2.11, scikit-learn, safetensors).

The images are scikit-learn's `load_digits`: 1,797 handwritten digits, scanned and reduced to 8x8 pixels of 0..16. Four
fifths train, the rest tests; the files that this writes are kept in the repository, so that nobody needs to train.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.export import Dim

HERE = Path(__file__).parent


class DigitNet(nn.Module):
    """Two convolution blocks and a two-layer classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(24)
        self.conv2 = nn.Conv2d(24, 48, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(48)
        self.hidden = nn.Linear(48 * 4 * 4, 64)
        self.dropout = nn.Dropout(0.3)
        self.classify = nn.Linear(64, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = images / 16.0
        x = torch.relu(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        x = nn.functional.max_pool2d(x, 2)
        x = torch.relu(self.hidden(x.flatten(1)))
        return torch.softmax(self.classify(self.dropout(x)), dim=1)


def train(model: DigitNet, images: Tensor, labels: Tensor, epochs: int = 30) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    model.train()
    for epoch in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            probabilities = model(images[batch])
            loss = nn.functional.nll_loss(torch.log(probabilities + 1e-9), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    train_part, test_part = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]

    model = DigitNet()
    train(model, images[train_part], labels[train_part])
    test_images, test_labels = images[test_part], labels[test_part]
    with torch.no_grad():
        expected = model(test_images)
    correct = int((expected.argmax(1) == test_labels).sum())
    print(f"{correct} of {len(test_labels)} test images right")

    batch = Dim("batch", min=1, max=4096)
    program = torch.export.export(model, (test_images,), dynamic_shapes={"images": {0: batch}})
    torch.export.save(program, HERE / "model.pt2")
    (HERE / "model.graph").write_text(f"{program}\n")
    save_file({name: value.contiguous() for name, value in program.state_dict.items()}, HERE / "model.safetensors")
    save_file({"images": test_images.contiguous()}, HERE / "images.safetensors")
    save_file({"0": expected.contiguous(), "labels": test_labels.contiguous()}, HERE / "expected.safetensors")


if __name__ == "__main__":
    main()

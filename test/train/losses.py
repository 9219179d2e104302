"""Losses that are models of their own (`--loss FILE`), against PyTorch: three steps, with sizes that calls choose.

losses.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path[:0] = [
    str(Path(__file__).resolve().parent.parent / "models"),
    str(Path(sys.argv[2]).resolve().parent.parent),
]
import ptc  # noqa: E402
from harness import Failed, check_rows  # noqa: E402
from harness import ptc as run_ptc  # noqa: E402


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.classes, self.value = nn.Linear(6, 8), nn.Linear(8, 5), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.body(x))
        return self.classes(h), self.value(h).squeeze(1)


class Weighted(nn.Module):
    """Of both outputs, with constants of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0]))

    def forward(self, logits: Tensor, value: Tensor, label: Tensor, wanted: Tensor) -> Tensor:
        return F.cross_entropy(logits, label, self.weight) + 0.3 * F.huber_loss(value, wanted)


class OfLogits(nn.Module):
    """Of a model's only output; a target of another type."""

    def forward(self, logits: Tensor, soft: Tensor) -> Tensor:
        return -(soft.double() * logits.double().log_softmax(1)).sum(1).mean().float()


@dataclass
class Row:
    name: str
    module: nn.Module
    loss: nn.Module
    targets: list[Tensor]
    is_dynamic: bool


ROWS = [
    Row("two outputs", TwoHeads(), Weighted(), [torch.tensor([0, 4, 2]), torch.randn(3)], False),
    Row("two outputs, open batch", TwoHeads(), Weighted(), [torch.tensor([0, 4, 2]), torch.randn(3)], True),
    Row("one output", nn.Linear(6, 5), OfLogits(), [torch.rand(3, 5).softmax(1)], True),
]


def check(program: Path, row: Row, folder: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 6)
    batch = Dim("batch", min=2, max=100) if row.is_dynamic else None
    of = lambda tensors: tuple({0: batch} for _ in tensors) if batch else None  # noqa: E731
    answers = row.module(x)
    answers = answers if isinstance(answers, tuple) else (answers,)
    inputs = (*(answer.detach() for answer in answers), *row.targets)
    torch.export.save(torch.export.export(row.module, (x,), dynamic_shapes=of([x])), folder / "model.pt2")
    torch.export.save(torch.export.export(row.loss, inputs, dynamic_shapes=of(inputs)), folder / "loss.pt2")
    step = ("--train", "--loss", folder / "loss.pt2", "--optimizer", "sgd", "--optimizer-options", "lr=0.1")
    run_ptc(program, "compile", folder / "model.pt2", "-o", folder / "step.so", *step)
    model = ptc.load(folder / "step.so")
    optimizer = torch.optim.SGD(row.module.parameters(), lr=0.1)
    for size in (3, 5, 2) if row.is_dynamic else (3, 3, 3):
        x = torch.randn(size, 6)
        targets = [torch.cat([target, target])[:size] for target in row.targets]
        answers = row.module(x)
        answers = answers if isinstance(answers, tuple) else (answers,)
        optimizer.zero_grad()
        loss = row.loss(*answers, *targets)
        loss.backward()
        optimizer.step()
        found = float(np.array(model(x, *targets)[0]))
        if abs(found - loss.item()) > 2e-5 * max(1.0, abs(loss.item())):
            raise Failed(f"{size} rows: the loss is {found}, not {loss.item()}")
    for name, value in row.module.named_parameters():
        if not np.allclose(model.get_state(name), value.detach().numpy(), rtol=1e-4, atol=1e-6):
            raise Failed(f"'{name}' differs after three steps")


if __name__ == "__main__":
    raise SystemExit(check_rows(ROWS, check, sys.argv[3:]))

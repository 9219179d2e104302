"""Steps that compute values of the forward pass again: against PyTorch, and against the step that saves them all. What a
budget and a limit make of planned memory, and what `ptc explain` says of it.

memory.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from optimizers import compare, ptc, run_ptc
from torch import Tensor, nn
from torch.nn import functional as F

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models")]
from harness import Failed, check_rows  # noqa: E402

STEPS = 3
TRAIN = ("--train", "--loss", "cross_entropy", "--optimizer", "sgd", "--optimizer-options", "lr=0.1,momentum=0.9")


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for channels in (3, 8, 8):
            layers += [nn.Conv2d(channels, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 36, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Text(nn.Module):
    """Layers of a transformer; with dropout, whose numbers are drawn again."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout, activation="gelu", batch_first=True)
        self.layers = nn.ModuleList([layer, nn.TransformerEncoderLayer(32, 4, 64, dropout, batch_first=True)])
        self.head = nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


@dataclass
class Row:
    name: str
    net: nn.Module
    batch: Tensor
    isLikeTorch: bool = True  # else numbers are drawn
    budgets: tuple[float, ...] = field(default=(1.0, 0.0))

    @property
    def target(self) -> Tensor:
        return torch.arange(len(self.batch)) % 5


def pictures() -> Tensor:
    return torch.randn(8, 3, 12, 12, generator=torch.Generator().manual_seed(0))


def tokens() -> Tensor:
    return torch.randint(0, 20, (4, 24), generator=torch.Generator().manual_seed(0))


ROWS = [
    Row("convolutions", Pictures(), pictures()),
    Row("transformer", Text(), tokens()),
    Row("dropout", Text(0.3), tokens(), isLikeTorch=False),
]


def train_with_torch(row: Row) -> dict[str, Tensor]:
    optimizer = torch.optim.SGD(row.net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.cross_entropy(row.net(row.batch), row.target).backward()
        optimizer.step()
    return {name: value for name, value in row.net.state_dict().items() if value.is_floating_point()}


def train(row: Row, program: Path, folder: Path, *options: str) -> dict[str, Tensor]:
    library = folder / "step.so"
    run_ptc(program, "compile", folder / "model.pt2", *TRAIN, *options, "-o", library)
    model = ptc.load(library)
    for _ in range(STEPS):
        model(row.batch, target=row.target)
    states = {name: torch.from_numpy(value.copy()) for name, value in model.state_dict().items()}
    library.unlink()
    return states


def check_limit(program: Path, model: Path, plans: dict[float, int]) -> None:
    """A limit is kept by repeating as much as it needs; one that no plan keeps is an error that says what can be."""
    least = min(plans.values())

    def explain(limit: int) -> dict:
        answer = run_ptc(program, "explain", model, *TRAIN, "--memory-limit", str(limit), "--json")
        return json.loads(answer)

    report = explain(least)
    if report["peak_bytes"] > least:
        raise Failed(f"with a limit of {least} the plan takes {report['peak_bytes']}")
    words = [program, "compile", model, *TRAIN, "--memory-limit", "1KiB", "-o", model.with_name("none.so")]
    found = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if found.returncode != 1 or f"--memory-limit {least} can be kept" not in found.stderr:
        raise Failed(f"an impossible limit: status {found.returncode}, {found.stderr}")


def check(program: Path, row: Row, folder: Path) -> None:
    torch.manual_seed(0)
    row.net.train()
    torch.export.save(torch.export.export(row.net, (row.batch,)), folder / "model.pt2")
    saved = train(row, program, folder)
    expected = train_with_torch(row) if row.isLikeTorch else saved
    for budget in row.budgets:
        states = train(row, program, folder, "--memory-budget", str(budget))
        for name, value in states.items():
            compare(f"{name}, by the step that saves all, at budget {budget}", value, saved[name], 1e-5)
        for name, value in expected.items():
            compare(f"{name} at budget {budget}", states[name], value, 1e-4)

    report = json.loads(run_ptc(program, "explain", folder / "model.pt2", *TRAIN, "--memory-budget", "0", "--json"))
    memory = report["training"]
    plans = {plan["budget"]: plan["peak_bytes"] for plan in memory["plans"]}
    if report["peak_bytes"] > plans[1.0]:
        raise Failed(f"planned bytes by budget: {plans}, and {report['peak_bytes']} chosen")
    if not memory["repeated"] or not all(value["because"] and value["bytes"] for value in memory["repeated"]):
        raise Failed(f"what is computed again: {memory['repeated']}")
    check_limit(program, folder / "model.pt2", plans)


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[3:]))

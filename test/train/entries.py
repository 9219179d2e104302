"""The entries of a library for training: steps and evaluations in turns, over the same states, as PyTorch has them.

entries.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path[:0] = [
    str(Path(__file__).resolve().parent.parent / "models"),
    str(Path(sys.argv[2]).resolve().parent.parent),
]
import ptc  # noqa: E402
from harness import Failed, check_rows  # noqa: E402
from harness import ptc as run_ptc  # noqa: E402


class Normalized(nn.Module):
    """In training it normalises by the batch, and in evaluation by what it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(F.dropout(self.norm(self.first(x)), 0.0, self.training))


class Embedded(nn.Module):
    """Whose input may be out of range, as its target may."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm, self.last = nn.Embedding(10, 8), nn.BatchNorm1d(8), nn.Linear(8, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.norm(self.table(tokens).mean(1)))


@dataclass
class Place:
    """Where a row compiles what."""

    program: Path
    folder: Path

    @property
    def library(self) -> Path:
        return self.folder / "step.so"

    def compile(self, module: nn.Module, example: Tensor, is_training: bool, options: Sequence[str] = ()) -> ptc.Model:
        module.train(is_training)
        torch.export.save(torch.export.export(module, (example,)), self.folder / "model.pt2")
        module.train()
        step = ("--train", "--loss", "cross_entropy", "--optimizer", "sgd", "--optimizer-options", "lr=0.1,momentum=0.9")
        run_ptc(self.program, "compile", self.folder / "model.pt2", "-o", self.library, *step, *options)
        return ptc.load(self.library)


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise Failed(what)


def expect_close(found, wanted: Tensor, what: str) -> None:
    found = torch.from_numpy(np.array(found))
    distance = (found - wanted.detach()).abs().max().item()
    expect(distance <= 2e-5 * max(1.0, wanted.abs().max().item()), f"{what} differs by {distance}")


def check_turns(place: Place, is_training: bool) -> None:
    """Step, evaluate, step, evaluate; of an export in evaluation and of one in training."""
    torch.manual_seed(0)
    module = Normalized()
    model = place.compile(module, torch.randn(4, 6), is_training)
    expect(model.entries == ["step", "eval"], f"entries are {model.entries}")
    expect([info.name for info in model.inputs] == ["x", "target"], "the step takes x and target")
    evaluate = model.entry("eval")
    expect([info.name for info in evaluate.inputs] == ["x"], "evaluation takes x alone")
    expect(len(evaluate.outputs) == len(model.outputs) - 1, "evaluation answers no loss")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    for turn in range(4):
        x, target = torch.randn(4, 6), torch.randint(5, (4,))
        module.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(module(x), target)
        loss.backward()
        optimizer.step()
        expect_close(model(x, target)[0], loss, f"loss {turn}")
        module.eval()
        expect_close(model.eval(x)[0], module(x), f"evaluation {turn}")
    before = model.state_dict()
    model.eval(torch.randn(4, 6))
    after = evaluate.state_dict()
    expect(all(np.array_equal(before[name], after[name]) for name in before), "evaluation changes a state")


def check_keep_mode(place: Place) -> None:
    """Both are as they were exported."""
    torch.manual_seed(0)
    module = Normalized()
    model = place.compile(module, torch.randn(4, 6), False, ("--keep-mode",))
    module.eval()
    x, target = torch.randn(4, 6), torch.randint(5, (4,))
    expect_close(model.eval(x)[0], module(x), "evaluation")
    expect_close(model(x, target)[0], F.cross_entropy(module(x), target), "loss")


def check_failure(place: Place) -> None:
    """A step that fails changes nothing; the next one works."""
    torch.manual_seed(0)
    module = Embedded()
    model = place.compile(module, torch.zeros(4, 3, dtype=torch.int64), False)
    tokens, target = torch.randint(10, (4, 3)), torch.randint(5, (4,))
    wrong_tokens, wrong_target = tokens.clone(), target.clone()
    wrong_tokens[3, 2], wrong_target[3] = 10, 5
    for threads in (1, 2):
        model.threads = threads
        for batch in ((wrong_tokens, target), (tokens, wrong_target)):
            before = model.state_dict()
            try:
                model(*batch)
                raise Failed("an index out of range is no error")
            except IndexError:
                pass
            for name, value in model.state_dict().items():
                expect(np.array_equal(before[name], value), f"{threads} threads: '{name}' is not as before the step")
        model(tokens, target)
        expect(any(not np.array_equal(before[name], value) for name, value in model.state_dict().items()), "no step")


def check_accumulation(place: Place) -> None:
    """Gradients of several batches, then an update by their mean; in between, parameters stay as they were."""
    torch.manual_seed(0)
    module = Normalized()
    model = place.compile(module, torch.randn(4, 6), False, ("--accumulate", "--clip-grad-norm", "0.5"))
    expect(model.entries == ["step", "eval", "accumulate", "apply"], f"entries are {model.entries}")
    expect([info.name for info in model.entry("apply").outputs] == ["grad_norm"], "apply answers the norm")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    for turn in range(3):
        optimizer.zero_grad()
        for _ in range(turn + 1):
            x, target = torch.randn(4, 6), torch.randint(5, (4,))
            loss = F.cross_entropy(module(x), target)
            (loss / (turn + 1)).backward()
            expect_close(model.accumulate(x, target)[0], loss, f"loss in turn {turn}")
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()
        expect_close(model.apply()[0], norm, f"norm of turn {turn}")
        for name, value in module.named_parameters():
            expect_close(model.get(name), value, f"'{name}' after turn {turn}")
    before = model.state_dict()
    model.apply()  # of nothing: momentum goes on, and nothing becomes NaN
    expect(all(np.isfinite(value).all() for value in model.state_dict().values()), "an update by no gradient is NaN")
    expect(not np.array_equal(before["first.weight"], model.get("first.weight")), "momentum does not go on")


def check_words(place: Place) -> None:
    """Entries are asked for by name."""
    model = place.compile(Normalized(), torch.randn(4, 6), False)
    for ask in (lambda: model.entry("train"), lambda: model.train):
        try:
            ask()
            raise Failed("there is no entry train")
        except (KeyError, AttributeError):
            pass
    x, inputs, outputs = torch.randn(4, 6), place.folder / "x.safetensors", place.folder / "y.safetensors"
    save_file({"x": x}, inputs)
    run = ("run", place.library, "--inputs", inputs, "--outputs", outputs, "--entry")
    run_ptc(place.program, *run, "eval")
    expect_close(load_file(outputs)["0"], torch.from_numpy(np.array(model.eval(x)[0])), "ptc run --entry eval")
    run_ptc(place.program, "bench", place.library, "--entry", "eval", "--repeat", "2")
    try:
        run_ptc(place.program, *run, "evaluate")
        raise Failed("there is no entry evaluate")
    except Failed as error:
        expect("has no entry 'evaluate' (its entries: step, eval)" in str(error), str(error))


@dataclass
class Row:
    name: str
    check: Callable[[Place], None]


ROWS = [
    Row("turns", lambda place: check_turns(place, False)),
    Row("turns of an export in training", lambda place: check_turns(place, True)),
    Row("keep-mode", check_keep_mode),
    Row("failure", check_failure),
    Row("accumulation", check_accumulation),
    Row("words", check_words),
]

if __name__ == "__main__":
    raise SystemExit(check_rows(ROWS, lambda program, row, folder: row.check(Place(program, folder)), sys.argv[3:]))

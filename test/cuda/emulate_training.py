"""Steps of training under the emulator (emulation.py), against the CPU's library: losses, and all states behind them.

python test/cuda/emulate_training.py PTC LIBCUDA

A step updates states in place while other threads read them, and its kernels have more parameters than others.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import parallel
from emulation import Emulated, Failed, execute

PTC, LIBCUDA = (Path(argument).resolve() for argument in sys.argv[1:3])
STEPS = 3
OPTIMIZERS = {"sgd": "lr=0.01,momentum=0.9", "adamw": "lr=1e-3,eps=1e-3"}
CLASSES = 10  # so few that one kernel has the classifier's bias and the number of the step


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 64), nn.Embedding(8, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.classifier = nn.Linear(64, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.classifier(self.layers(x)[:, 0])


def encoder() -> tuple[nn.Module, Tensor]:
    return Encoder(), torch.randint(0, 50, (4, 8))


def convolutions() -> tuple[nn.Module, Tensor]:
    body = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*body, nn.Linear(16, CLASSES)), torch.randn(3, 3, 8, 8)


@dataclass(frozen=True)
class Training:
    make: Callable[[], tuple[nn.Module, Tensor]]
    optimizer: str

    @property
    def name(self) -> str:
        return f"{self.make.__name__}, {self.optimizer}"


def export(training: Training, folder: Path) -> None:
    torch.manual_seed(0)
    module, x = training.make()
    torch.export.save(torch.export.export(module.train(), (x,)), folder / "model.pt2")
    save_file({"0": x, "1": torch.randint(0, CLASSES, (len(x),))}, folder / "inputs.safetensors")


def train(model: Emulated, target: str) -> tuple[list[float], dict[str, Tensor]]:
    """The loss of each step, and the states behind the last."""
    folder = model.folder
    said = execute(PTC, "run", folder / f"{target}.so", "--inputs", folder / "inputs.safetensors", "--outputs",
                   folder / "loss.safetensors", "--steps", STEPS, "--save", folder / f"{target}.safetensors",
                   **model.environment, FAKE_SEED="1")  # fmt: skip
    return [float(loss) for loss in re.findall(r"loss (\S+)", said)], load_file(folder / f"{target}.safetensors")


def compare(training: Training, folder: Path) -> None:
    options = ["--train", "--loss", "cross_entropy", "--optimizer", training.optimizer, "--optimizer-options",
               OPTIMIZERS[training.optimizer]]  # fmt: skip
    model = Emulated(PTC, LIBCUDA, folder / "model.pt2", folder, options=options)
    model.compile_for_cpu(options)
    (losses, states), (expected_losses, expected) = train(model, "cuda"), train(model, "cpu")
    if len(losses) != STEPS or max(abs(a - b) for a, b in zip(losses, expected_losses, strict=True)) > 1e-4:
        raise Failed(f"losses {losses}, the CPU's {expected_losses}")
    if states.keys() != expected.keys():
        raise Failed(f"states {sorted(states.keys() ^ expected.keys())} are of one device alone")
    for name, state in expected.items():
        error, largest = (states[name].double() - state.double()).abs().max().item(), state.double().abs().max().item()
        if error > 1e-4 * max(largest, 1e-2):
            raise Failed(f"{name} differs by {error:.3g}, where the largest is {largest:.3g}")


def attempt(training: Training, folder: Path) -> str:
    """What is wrong; nothing where all is well."""
    try:
        compare(training, folder)
    except (Failed, subprocess.TimeoutExpired) as error:
        return " ".join(str(error).split())
    return ""


def main() -> None:
    trainings = [Training(make, optimizer) for make in (encoder, convolutions) for optimizer in OPTIMIZERS]
    parallel.report(parallel.run(trainings, attempt, export))


if __name__ == "__main__":
    main()

"""Training on a real GPU: gradients and 20 losses of SGD and AdamW, as the same step has them on the CPU.

gpu_train.py PTC [NAME...], on a machine with a GPU and torch; the last line is `N passed, N failed`.

PyTorch in float64 judges: what a library of the GPU answers may be three times as far from it as the CPU's library, or
as PyTorch's own float32 with weights that are changed in their last digits, whichever is farther. In resnet18 a ReLU near
zero, or a tie of max pooling, sends a gradient another way, in PyTorch as in ours, so that its verdict is luck at times;
smooth_resnet18 is the same network without kinks, and tells an error from luck.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "tools" / folder) for folder in ("python", "gpu", "bench")]
import ptc  # noqa: E402
import training_models  # noqa: E402
from models import Residual  # noqa: E402
from training_models import Network  # noqa: E402

STEPS = 20
# Trainings of PyTorch in float32 that judge beside that of the CPU. Half of those of resnet18 come out a hundred times
# farther from float64 than the others.
PERTURBED = 8
OPTIMIZERS = {
    "sgd": ("lr=0.01,momentum=0.9", lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
    "adamw": ("lr=1e-4", lambda p: torch.optim.AdamW(p, lr=1e-4)),
}


def resnet18() -> Network:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    body = [layer for width in (64, 128, 256) for layer in (Residual(width), Residual(width, 2))]
    head = [Residual(512), Residual(512), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*stem, *body, *head), (torch.randn(4, 3, 96, 96),), torch.randint(0, 1000, (4,))


class SmoothResidual(Residual):
    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.second(self.first(x)) + self.skip(x))


def smooth_resnet18() -> Network:
    """Without kinks, so that rounding cannot send a gradient another way, and errors of ours show."""
    module, inputs, target = resnet18()
    for i, layer in enumerate(module):
        if isinstance(layer, Residual):
            layer.__class__, layer.first[2] = SmoothResidual, nn.SiLU()
        elif isinstance(layer, nn.ReLU):
            module[i] = nn.SiLU()
        elif isinstance(layer, nn.MaxPool2d):
            module[i] = nn.AvgPool2d(3, 2, 1)
    return module, inputs, target


class Encoder(nn.Module):
    """A small BERT: embeddings, layers of attention without dropout, a classifier of the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(1000, 256), nn.Embedding(64, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.classifier = nn.Linear(256, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.classifier(self.layers(x)[:, 0])


def bert() -> Network:
    return Encoder(), (torch.randint(0, 1000, (8, 64)),), torch.randint(0, 10, (8,))


NETWORKS: dict[str, Callable[[], Network]] = {
    f.__name__: f for f in (training_models.digits, training_models.mlp, resnet18, smooth_resnet18, bert)
}


def perturbed(module: nn.Module) -> nn.Module:
    """A copy whose weights differ in their last digits."""
    module = copy.deepcopy(module)
    with torch.no_grad():
        for p in module.parameters():
            p.mul_(1 + 1e-7 * torch.randn_like(p))
    return module


def gradients_of(module: nn.Module, x: Tensor, target: Tensor, dtype: torch.dtype) -> list[np.ndarray]:
    module = copy.deepcopy(module).to(dtype)
    F.cross_entropy(module(x.to(dtype) if x.is_floating_point() else x), target).backward()
    return [p.grad.double().numpy() for p in module.parameters()]


def losses_of(module: nn.Module, x: Tensor, target: Tensor, dtype: torch.dtype, make: Callable) -> list[np.ndarray]:
    module = copy.deepcopy(module).to(dtype)
    optimizer, losses = make(module.parameters()), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(module(x.to(dtype) if x.is_floating_point() else x), target)
        loss.backward()
        optimizer.step()
        losses.append(np.array([loss.item()]))
    return losses


def farthest(found: list[np.ndarray], exact: list[np.ndarray]) -> float:
    """The largest error of an array to its own largest element, or to a thousandth of the largest of all (what is before
    a batch norm has gradients of zero)."""
    least = max(np.abs(b).max() for b in exact) / 1000
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), least)) for a, b in zip(found, exact, strict=True))


class Training:
    """A network, exported once, and what its libraries answer."""

    def __init__(self, name: str, folder: Path) -> None:
        torch.manual_seed(0)
        module, (self.x,), self.target = NETWORKS[name]()
        self.module, self.folder = module.train(), folder
        self.names = [name for name, _ in module.named_parameters()]
        torch.export.save(torch.export.export(self.module, (self.x,)), folder / "model.pt2")

    def compile(self, target: str, **options: str) -> ptc.Model:
        library, before = self.folder / f"{target}.so", time.perf_counter()
        ptc.compile(self.folder / "model.pt2", library, target=target, train=True, loss="cross_entropy", **options)
        self.seconds = time.perf_counter() - before
        return ptc.load(library)

    def gradients(self, target: str) -> list[np.ndarray]:
        """By one step of SGD with a rate of one: what the parameters have lost."""
        model = self.compile(target, optimizer="sgd", optimizer_options="lr=1")
        before = {name: np.array(value, np.float64) for name, value in model.state_dict().items()}
        model(self.x, self.target)
        after = model.state_dict()
        return [before[name] - np.array(after[name], np.float64) for name in self.names]

    def losses(self, target: str, optimizer: str) -> list[np.ndarray]:
        model = self.compile(target, optimizer=optimizer, optimizer_options=OPTIMIZERS[optimizer][0])
        return [np.array(model(self.x, self.target)[0], np.float64).reshape(1) for _ in range(STEPS)]


def check(what: str, ours: Callable[[str], list], torchs: Callable[[nn.Module, torch.dtype], list], training: Training) -> bool:
    try:
        exact = torchs(training.module, torch.float64)
        others = [torchs(perturbed(training.module), torch.float32) for _ in range(PERTURBED)]
        allowed = max(farthest(found, exact) for found in (ours("cpu"), *others))
        found = farthest(ours("cuda"), exact)
    except Exception:  # whatever is raised is the answer
        print(f"FAIL {what}: {traceback.format_exc()}", flush=True)
        return False
    good = found <= max(3 * allowed, 1e-6)
    print(f"{'ok  ' if good else 'FAIL'} {what}: {found:.1e} from float64, others {allowed:.1e}; compiled in {training.seconds:.1f} s",
          flush=True)
    return good


def main() -> int:
    torch.set_num_threads(min(8, torch.get_num_threads()))  # more take longer where other work runs beside
    results = []
    for name in sys.argv[2:] or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            training = Training(name, Path(folder))
            x, target = training.x, training.target
            results.append(check(f"gradients of {name}", training.gradients,
                                 lambda m, dtype: gradients_of(m, x, target, dtype), training))
            for optimizer, (_, make) in OPTIMIZERS.items():
                results.append(check(f"{STEPS} losses of {name}, {optimizer}", lambda t: training.losses(t, optimizer),
                                     lambda m, dtype: losses_of(m, x, target, dtype, make), training))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

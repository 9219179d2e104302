"""Each optimizer against torch.optim: twenty steps of a small model, its parameters and what the optimizer keeps of them.

optimizers.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
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

STEPS = 20
# Of a difference, against the largest number of its tensor. A rule that differs in its formula does so in f64; in f32
# an update by a mean over a deviation makes much of how the gradient was rounded.
TOLERANCES = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float32: 1e-5}


class Net(nn.Module):
    """Parameters of two, one and no dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.scale


class Lion(torch.optim.Optimizer):
    """As google/automl's lion_pytorch.py has it."""

    def __init__(self, params, lr: float, betas: tuple[float, float], weight_decay: float = 0.0, foreach=None) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                mean = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((mean * beta1 + p.grad * (1 - beta1)).sign_(), alpha=-group["lr"])
                mean.mul_(beta2).add_(p.grad, alpha=1 - beta2)


KINDS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "adadelta": torch.optim.Adadelta,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "lion": Lion,
}


@dataclass
class Row:
    """An optimizer with options as ptc spells them: `beta1` and `beta2` in place of `betas`."""

    optimizer: str
    options: dict[str, float | bool] = field(default_factory=dict)
    dtype: torch.dtype = torch.float64

    @property
    def name(self) -> str:
        return "-".join([self.optimizer, *self.options, str(self.dtype).removeprefix("torch.")])

    @property
    def words(self) -> list[str]:
        options = ",".join(f"{name}={str(value).lower()}" for name, value in self.options.items())
        return ["--optimizer", self.optimizer, *(["--optimizer-options", options] if options else [])]

    def create(self, parameters) -> torch.optim.Optimizer:
        options = dict(self.options)
        if "beta1" in options:
            options["betas"] = (options.pop("beta1"), options.pop("beta2"))
        return KINDS[self.optimizer](parameters, foreach=False, **options)


BETAS = {"beta1": 0.8, "beta2": 0.95}
ROWS = [
    Row("sgd", {"lr": 0.05}),
    Row("sgd", {"lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    Row("sgd", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    Row("sgd", {"lr": 0.001, "maximize": True}),
    Row("adam", {"lr": 0.01, "weight_decay": 0.01}),
    Row("adam", {"lr": 0.01, "weight_decay": 0.01, "decoupled_weight_decay": True}),
    Row("adam", {"lr": 0.01, "beta1": 0.3, "beta2": 0.9, "eps": 1e-4, "amsgrad": True}),  # lerp's other formula
    Row("adamw"),
    Row("adamw", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    Row("adagrad", {"lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.01, "initial_accumulator_value": 0.1}),
    Row("rmsprop", {"lr": 0.01, "alpha": 0.9}),
    Row("rmsprop", {"lr": 0.01, "weight_decay": 0.01, "momentum": 0.9, "centered": True}),
    Row("adadelta", {"weight_decay": 0.01}),
    Row("adamax", {"lr": 0.01, "weight_decay": 0.01}),
    Row("nadam", {"lr": 0.01, "weight_decay": 0.01}),
    Row("nadam", {"lr": 0.01, "momentum_decay": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    Row("radam", {"lr": 0.01, "weight_decay": 0.01}),
    Row("radam", {"lr": 0.01, **BETAS, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    Row("lion", {"lr": 0.001, **BETAS, "weight_decay": 0.1}),
    *(Row(name, {"lr": 0.01, **(BETAS if name == "lion" else {})}, torch.float32) for name in KINDS),
]


def compile_step(program: Path, words: list[str], net: nn.Module, x: Tensor, folder: Path) -> ptc.Model:
    """A step of `net`, whose arguments are like `x`, by the options `words`."""
    torch.export.save(torch.export.export(net, (x,)), folder / "model.pt2")
    run_ptc(program, "compile", folder / "model.pt2", "--train", "--loss", "mse", *words, "-o", folder / "step.so")
    return ptc.load(folder / "step.so")


def compare(what: str, got: Tensor, expected: Tensor, tolerance: float | None = None) -> None:
    """Differences are against the largest number of `expected`; where it is not finite, `got` is the same."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise Failed(f"{what}: {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}")
    dtype = expected.dtype
    if expected.is_complex():
        got, expected = torch.view_as_real(got), torch.view_as_real(expected)
    is_finite = expected.isfinite()
    torch.testing.assert_close(got[~is_finite], expected[~is_finite], rtol=0, atol=0, equal_nan=True)
    got, expected = got[is_finite].double(), expected[is_finite].double()
    distance = (got - expected).abs().max() / expected.abs().max().clamp(min=1e-30) if got.numel() else 0.0
    if not distance <= (TOLERANCES[dtype] if tolerance is None else tolerance):
        raise Failed(f"{what}: differs by {distance:.1e} of its largest number")


def check(program: Path, row: Row, folder: Path) -> None:
    torch.manual_seed(0)
    net = Net().to(row.dtype)
    batches = [(torch.randn(8, 6, dtype=row.dtype), torch.randn(8, 4, dtype=row.dtype)) for _ in range(STEPS)]
    model = compile_step(program, row.words, net, batches[0][0], folder)
    optimizer = row.create(net.parameters())
    lr = optimizer.param_groups[0]["lr"]
    for index, (x, target) in enumerate(batches):
        if index == STEPS // 2:  # hyperparameters are set without compiling again
            optimizer.param_groups[0]["lr"] = lr / 2
            model.set_state("optimizer.lr", lr / 2)
        optimizer.zero_grad()
        F.mse_loss(net(x), target).backward()
        optimizer.step()
        model(x=x, target=target)

    states = {name: torch.from_numpy(value) for name, value in model.state_dict().items()}
    if states["optimizer.step"] != STEPS:
        raise Failed(f"optimizer.step is {states['optimizer.step']} after {STEPS} steps")
    for name, parameter in net.named_parameters():
        compare(name, states[name], parameter.detach())
        for kind, value in optimizer.state[parameter].items():
            if kind == "mu_product":
                compare(kind, states["optimizer.mu_product"], value)
            elif kind != "step" and value is not None:
                compare(f"{kind} of {name}", states[f"optimizer/{kind}/{name}"], value)
    model.reset_states()
    if model.get_state("optimizer.step") != 0 or model.get_state("optimizer.lr") != lr:
        raise Failed("a reset does not bring first values back")


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[3:]))

"""What a step does with gradients beside an optimizer's rule, against PyTorch: groups, clipping, averages, schedules and
the loss's scale. All states are compared after each step.

recipes.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from optimizers import Net, compare, compile_step, ptc
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, AdamW, NAdam, Optimizer, lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "models")]
from harness import Failed, check_rows  # noqa: E402

# A program that trains as PyTorch's documents have it skips steps of the scaler, of which schedulers warn.
warnings.filterwarnings("ignore", message="Detected call of `lr_scheduler.step")


class Norm(nn.Module):
    """With running statistics, which a step that changes nothing else updates."""

    def __init__(self) -> None:
        super().__init__()
        # Of a bias in front of the norm there would be nothing but rounding.
        self.linear, self.norm, self.head = nn.Linear(6, 5, bias=False), nn.BatchNorm1d(5), nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.linear(x)).relu())


class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 4, dtype=torch.complex128))
        self.unused = nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(self.weight.dtype) @ self.weight).abs()


class Trainer:
    """The program that a step of ptc stands for."""

    def __init__(self, row: Row, net: nn.Module) -> None:
        self.row, self.net = row, net
        self.optimizer = row.optimizer(net)
        self.schedule = row.schedule(self.optimizer) if row.schedule else None
        self.average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(row.ema)) if row.ema else None
        self.scaler = torch.amp.GradScaler("cpu", **row.scaler) if row.scaler is not None else None
        self.clip_norm, self.clip_value = row.clip_norm, row.clip_value

    def step(self, batches: list[tuple[Tensor, Tensor]]) -> Tensor | None:
        """By the mean of the batches' gradients; their norm, where they are clipped by it."""
        self.optimizer.zero_grad()
        for x, target in batches:
            with torch.autocast("cpu", dtype=self.row.amp, enabled=self.row.amp is not None):
                loss = F.mse_loss(self.net(x), target)
            (self.scaler.scale(loss) if self.scaler else loss).backward()
        for p in self.net.parameters():
            if p.grad is not None:
                p.grad /= len(batches)
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        parameters = [p for p in self.net.parameters() if p.grad is not None]
        isGood = not self.scaler or all(p.grad.isfinite().all() for p in parameters)
        norm = nn.utils.clip_grad_norm_(parameters, self.clip_norm) if self.clip_norm else None
        if self.clip_value:
            clip_value(parameters, self.clip_value)
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update(self.row.scaler["init_scale"] if self.row.is_scale_fixed else None)
        else:
            self.optimizer.step()
        if isGood and self.schedule:
            self.schedule.step()
        if isGood and self.average:
            self.average.update_parameters(self.net)
        return norm


def clip_value(parameters: list[nn.Parameter], limit: float) -> None:
    """clip_grad_value_ knows no complex numbers: their parts are clipped, as they are updated."""
    for p in parameters:
        if p.is_complex():
            torch.view_as_real(p.grad).clamp_(-limit, limit)
        else:
            nn.utils.clip_grad_value_([p], limit)


@dataclass
class Row:
    name: str
    words: list[str]
    optimizer: Callable[[nn.Module], Optimizer] = lambda net: SGD(net.parameters(), lr=0.05, foreach=False)
    net: type[nn.Module] = Net
    schedule: Callable[[Optimizer], lr_scheduler.LRScheduler] | None = None
    clip_norm: float | None = None
    clip_value: float | None = None
    ema: float | None = None
    scaler: dict[str, float] | None = None
    is_scale_fixed: bool = False
    amp: torch.dtype | None = None
    dtype: torch.dtype = torch.float64
    # What happens before a step: a state of the library, and the same of the trainer.
    events: dict[int, tuple[dict[str, float], Callable[[Trainer], object]]] = field(default_factory=dict)
    overflows: tuple[int, ...] = ()  # steps whose target is so far away that gradients are not finite
    accumulated: int = 0  # batches to a step, by the entries `accumulate` and `apply`
    steps: int = 20
    every: int = 1  # after how many of them states are compared
    tolerance: float | None = None


def sgd(*options: str) -> list[str]:
    return ["--optimizer", "sgd", "--optimizer-options", "lr=0.05", *options]


def grouped(kind: Callable[..., Optimizer], lr: float, *groups: dict, **options) -> Callable[[nn.Module], Optimizer]:
    """A group for each of `groups`, of the parameters whose name ends with its `ends`; before them those of none."""

    def create(net: nn.Module) -> Optimizer:
        rest = dict(net.named_parameters())
        parts = []
        for group in groups:
            group = dict(group)
            ends = group.pop("ends")
            parts.append({"params": [rest.pop(name) for name in list(rest) if name.endswith(ends)], **group})
        return kind([{"params": list(rest.values())}, *parts], lr=lr, foreach=False, **options)

    return create


def scheduled(text: str, schedule: Callable[[Optimizer], lr_scheduler.LRScheduler], steps: int = 30) -> Row:
    return Row(text, sgd("--schedule", text), schedule=schedule, steps=steps)


def warm(t: int) -> float:
    return t / 5 if t < 5 else (1 + math.cos(math.pi * min(t - 5, 20) / 20)) / 2


def set_scale(value: float) -> tuple[dict[str, float], Callable[[Trainer], object]]:
    def set(trainer: Trainer) -> None:
        trainer.scaler.scale(torch.zeros(1))  # makes the tensor
        trainer.scaler._scale.fill_(value)

    return {"scaler.scale": value}, set


def set_interval(value: int) -> tuple[dict[str, float], Callable[[Trainer], object]]:
    return {"scaler.growth_interval": value}, lambda trainer: trainer.scaler.set_growth_interval(value)


SCALES = {0: set_interval(3), 5: set_scale(2.0**30), 16: set_scale(2.0**90)}
OVERFLOWS = (0, 4, 15, 16, 17, 25)

ROWS = [
    # Groups: the first that matches counts, what a group does not say is everyone's, and a group may have other states.
    Row(
        "groups",
        ["--optimizer", "adamw", "--optimizer-options", "lr=0.01", "--group", "bias$: weight_decay=0,lr=0.02"]
        + ["--group", "bias|^scale: weight_decay=0.3, beta2=0.5, amsgrad=true"],
        grouped(
            AdamW,
            0.01,
            {"ends": "bias", "weight_decay": 0, "lr": 0.02},
            {"ends": "scale", "weight_decay": 0.3, "betas": (0.9, 0.5), "amsgrad": True},
        ),
    ),
    Row(
        "groups-set",
        ["--optimizer", "sgd", "--optimizer-options", "lr=0.05", "--group", "[[:alpha:]]+.weight: momentum=0.9"]
        + ["--group", "scale: lr=0.01,maximize"],
        grouped(SGD, 0.05, {"ends": "weight", "momentum": 0.9}, {"ends": "scale", "lr": 0.01, "maximize": True}),
        events={
            7: (
                {"optimizer.lr": 0.02, "optimizer.1.momentum": 0.5},
                lambda t: (
                    t.optimizer.param_groups[0].update(lr=0.02),
                    t.optimizer.param_groups[1].update(lr=0.02, momentum=0.5),
                ),
            ),
            9: ({"optimizer.2.lr": 0.002}, lambda t: t.optimizer.param_groups[2].update(lr=0.002)),
        },
    ),
    Row(
        "groups-nadam",  # which keeps a product of beta1 that is the group's
        ["--optimizer", "nadam", "--optimizer-options", "lr=0.01", "--group", "bias: beta1=0.7,momentum_decay=0.1"],
        grouped(NAdam, 0.01, {"ends": "bias", "betas": (0.7, 0.999), "momentum_decay": 0.1}),
    ),
    # Clipping: some steps are, some are not; limits are set on the way.
    *(
        Row(
            f"clip-norm-{dtype}",
            sgd("--clip-grad-norm", "0.5"),
            clip_norm=0.5,
            dtype=dtype,
            tolerance=tolerance,
            events={8: ({"clip.norm": 100.0}, lambda t: setattr(t, "clip_norm", 100.0))},
        )
        for dtype, tolerance in [(torch.float64, 1e-9), (torch.float32, 1e-6)]
    ),
    Row(
        "clip-value",
        sgd("--clip-grad-value", "0.1"),
        clip_value=0.1,
        events={8: ({"clip.value": 0.02}, lambda t: setattr(t, "clip_value", 0.02))},
    ),
    Row(
        "clip-norm-complex",
        ["--optimizer", "adam", "--optimizer-options", "lr=0.01", "--clip-grad-norm", "0.3", "--ema", "0.8"],
        lambda net: Adam(net.parameters(), lr=0.01, foreach=False),
        net=Complex,
        clip_norm=0.3,
        ema=0.8,
    ),
    Row("clip-value-complex", sgd("--clip-grad-value", "0.05"), net=Complex, clip_value=0.05),
    # Averages; the other formula of lerp.
    *(
        Row(
            f"ema-{decay}-{dtype}",
            sgd("--ema", str(decay)),
            ema=decay,
            dtype=dtype,
            tolerance=tolerance,
        )
        for decay, dtype, tolerance in [(0.9, torch.float64, 1e-9), (0.3, torch.float64, 1e-9), (0.9, torch.float32, 1e-6)]
    ),
    Row(
        "ema-set",
        ["--optimizer", "adamw", "--ema", "0.99"],
        lambda net: AdamW(net.parameters(), foreach=False),
        ema=0.99,
        events={9: ({"ema.decay": 0.5}, lambda t: setattr(t.average, "multi_avg_fn", get_ema_multi_avg_fn(0.5)))},
    ),
    # Schedules.
    scheduled("cosine:steps=25", lambda o: lr_scheduler.CosineAnnealingLR(o, 25), steps=26),
    scheduled("cosine:steps=25,end=0.1", lambda o: lr_scheduler.CosineAnnealingLR(o, 25, eta_min=0.005), steps=26),
    scheduled("cosine:warmup=5,steps=25", lambda o: lr_scheduler.LambdaLR(o, warm)),
    scheduled(
        "linear:warmup=4,warmup_start=0.2,steps=20,end=0.25",
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.LinearLR(o, 0.2, total_iters=4), lr_scheduler.LinearLR(o, 1.0, 0.25, total_iters=16)],
            [4],
        ),
    ),
    scheduled("linear:steps=20,start=0.25,end=1", lambda o: lr_scheduler.LinearLR(o, 0.25, total_iters=20)),
    scheduled("constant:warmup=10", lambda o: lr_scheduler.LambdaLR(o, lambda t: min(t / 10, 1))),
    scheduled("polynomial:steps=25,power=2", lambda o: lr_scheduler.PolynomialLR(o, 25, 2.0)),
    scheduled("exponential:gamma=0.93", lambda o: lr_scheduler.ExponentialLR(o, 0.93)),
    scheduled("step:size=7,gamma=0.5", lambda o: lr_scheduler.StepLR(o, 7, 0.5)),
    scheduled("multistep:milestones=6/12/13", lambda o: lr_scheduler.MultiStepLR(o, [6, 12, 13], 0.1)),
    Row(
        "schedule-of-groups",
        ["--optimizer", "adamw", "--optimizer-options", "lr=0.01", "--group", "bias: lr=0.03"]
        + ["--schedule", "cosine:warmup=5,steps=25"],
        grouped(AdamW, 0.01, {"ends": "bias", "lr": 0.03}),
        schedule=lambda o: lr_scheduler.LambdaLR(o, warm),
    ),
    # The loss's scale.
    Row(
        "scaler",
        ["--optimizer", "adamw", "--optimizer-options", "lr=0.01,amsgrad=true", "--loss-scale", "dynamic"]
        + ["--clip-grad-norm", "0.5", "--ema", "0.9", "--schedule", "cosine:warmup=5,steps=25"],
        lambda net: AdamW(net.parameters(), lr=0.01, amsgrad=True, foreach=False),
        net=Norm,
        schedule=lambda o: lr_scheduler.LambdaLR(o, warm),
        clip_norm=0.5,
        ema=0.9,
        scaler={},
        dtype=torch.float32,
        events=SCALES,
        overflows=OVERFLOWS,
        steps=30,
    ),
    Row(
        "scaler-nadam",  # whose shared number stays too
        ["--optimizer", "nadam", "--optimizer-options", "lr=0.01", "--loss-scale", "dynamic"],
        lambda net: NAdam(net.parameters(), lr=0.01, foreach=False),
        scaler={},
        dtype=torch.float32,
        events=SCALES,
        overflows=OVERFLOWS,
        steps=30,
    ),
    Row(
        "scaler-accumulated",
        ["--optimizer", "adamw", "--optimizer-options", "lr=0.01", "--loss-scale", "dynamic", "--accumulate"]
        + ["--clip-grad-norm", "0.5", "--ema", "0.9", "--group", "bias: weight_decay=0"],
        grouped(AdamW, 0.01, {"ends": "bias", "weight_decay": 0}),
        clip_norm=0.5,
        ema=0.9,
        scaler={},
        dtype=torch.float32,
        events=SCALES,
        overflows=OVERFLOWS,
        accumulated=3,
        steps=30,
    ),
    Row(
        "scaler-long",
        sgd("--loss-scale", "dynamic"),
        scaler={},
        overflows=(1234, 1235),
        steps=4500,
        every=500,
    ),
    Row(
        "scaler-fixed",
        sgd("--loss-scale", "1024"),
        scaler={"init_scale": 1024.0},
        is_scale_fixed=True,
        dtype=torch.float32,
        overflows=(3,),
    ),
    Row(
        "amp-fp16",
        ["--optimizer", "adamw", "--optimizer-options", "lr=0.01", "--amp", "fp16"],
        lambda net: AdamW(net.parameters(), lr=0.01, foreach=False),
        net=Norm,
        scaler={},
        amp=torch.float16,
        dtype=torch.float32,
        events={0: set_interval(3)},
        overflows=OVERFLOWS,
        tolerance=3e-2,
        steps=30,
    ),
    Row("amp-bf16", sgd("--amp", "bf16"), net=Norm, amp=torch.bfloat16, dtype=torch.float32, tolerance=3e-2),
]


def expected_states(trainer: Trainer) -> dict[str, Tensor]:
    states = {}
    for name, tensor in trainer.net.state_dict().items():
        if name != "unused" and not name.endswith("num_batches_tracked"):
            states[name] = tensor
    groups = {id(p): i for i, group in enumerate(trainer.optimizer.param_groups) for p in group["params"]}
    for name, parameter in trainer.net.named_parameters():
        for kind, value in trainer.optimizer.state[parameter].items():
            if kind == "step":
                states["optimizer.step"] = value.to(torch.int64)
            elif kind == "mu_product":
                group = groups[id(parameter)]
                states[f"optimizer.{group}.{kind}" if group else f"optimizer.{kind}"] = value
            elif value is not None:
                states[f"optimizer/{kind}/{name}"] = value
    if trainer.average:
        trained = {name for name, p in trainer.net.named_parameters() if p.grad is not None}
        states |= {f"ema/{name}": p for name, p in trainer.average.module.named_parameters() if name in trained}
        states["ema.n_averaged"] = trainer.average.n_averaged
    if trainer.scaler:
        states["scaler.scale"] = torch.tensor(trainer.scaler.get_scale(), dtype=torch.float32)
        if not trainer.row.is_scale_fixed:
            states["scaler.growth_tracker"] = torch.tensor(trainer.scaler._get_growth_tracker())
    return states


def compare_states(row: Row, index: int, model: ptc.Model, trainer: Trainer) -> None:
    got = {name: torch.from_numpy(value) for name, value in model.state_dict().items()}
    for name, value in expected_states(trainer).items():
        if name not in got:
            raise Failed(f"there is no state {name}")
        is_exact = name.startswith("scaler.") or value.dtype == torch.int64
        compare(f"step {index}: {name}", got[name], value.detach(), 0.0 if is_exact else row.tolerance)


def make_batch(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return torch.randn(8, 6, dtype=dtype), torch.randn(8, 4, dtype=dtype)


def accumulate(model: ptc.Model, batches: list[tuple[Tensor, Tensor]]):
    for batch in batches:
        model.accumulate(*batch)
    return model.apply()


def check(program: Path, row: Row, folder: Path) -> None:
    torch.manual_seed(0)
    net = row.net()
    net = net if row.net is Complex else net.to(row.dtype)
    model = compile_step(program, row.words, net, torch.randn(8, 6, dtype=row.dtype), folder)
    trainer = Trainer(row, net)
    compare_states(row, -1, model, trainer)
    for index in range(row.steps):
        batches = [make_batch(row.dtype) for _ in range(max(row.accumulated, 1))]
        if index in row.events:
            states, change = row.events[index]
            for name, value in states.items():
                model.set_state(name, value)
            change(trainer)
        if index in row.overflows:
            batches[0][1].mul_(1e38)
        norm = trainer.step(batches)
        outputs = accumulate(model, batches) if row.accumulated else model(*batches[0])
        if norm is not None:
            compare(f"step {index}: grad_norm", torch.as_tensor(outputs[-1]), norm, row.tolerance)
        if index % row.every == 0 or index == row.steps - 1:
            compare_states(row, index, model, trainer)
    # More of them in float16, of which the states tell.
    if model.get_state("optimizer.step") > row.steps - len(row.overflows):
        raise Failed("a step did not overflow that was made to")


if __name__ == "__main__":
    sys.exit(check_rows(ROWS, check, sys.argv[3:]))

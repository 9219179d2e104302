"""Reduced precision against PyTorch: what --amp bf16 loses beside what torch.autocast does, what --quantize computes,
and what it loses beside PyTorch's dynamic quantization.

python precision.py PTC [NAME …]
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from harness import Failed, ptc
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(64) for _ in range(2))
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norms[0](x)).view(*x.shape[:2], 3, 4, 16).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 24, 3, 2, 1), nn.BatchNorm2d(24)
        self.second, self.wide = nn.Conv2d(24, 40, 3, padding=1), nn.Conv2d(24, 40, 1)
        self.head = nn.Linear(40, 7)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.silu(self.second(F.pad(x, (1, 1, 1, 1), mode="reflect")[..., 1:-1, 1:-1]) + self.wide(x))
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


class Loss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, 5)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self.linear(x)
        return F.cross_entropy(z, y), z.prod(1), torch.cat([z, x[:, :5]]).exp()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(24, 32, batch_first=True), nn.Linear(32, 9)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, (h, _) = self.lstm(x)
        return self.head(y), h


def models() -> list[tuple[str, nn.Module, tuple[Tensor, ...]]]:
    return [
        ("block", Block(), (torch.randn(2, 19, 64),)),
        ("images", Images(), (torch.randn(2, 3, 18, 22),)),
        ("loss", Loss(), (torch.randn(6, 12), torch.arange(6) % 5)),
        ("recurrent", Recurrent(), (torch.randn(3, 5, 24),)),
    ]


def distance(value: Tensor, exact: Tensor) -> float:
    return float((value.double() - exact.double()).norm() / exact.double().norm())


def run(program: Path, folder: Path, args: tuple[Tensor, ...], *options: str) -> list[Tensor]:
    ptc(program, "compile", folder / "model.pt2", "-o", folder / "model.so", *options)
    save_file({str(i): x.contiguous() for i, x in enumerate(args)}, folder / "inputs.safetensors")
    ptc(program, "run", folder / "model.so", "--inputs", folder / "inputs.safetensors", "--outputs", folder / "outputs")
    outputs = load_file(folder / "outputs")
    return [outputs[str(i)] for i in range(len(outputs))]


def check_amp(program: Path, folder: Path, model: nn.Module, args: tuple[Tensor, ...]) -> None:
    """As near to the model in float64 as PyTorch is under autocast, and no nearer than bfloat16 can be."""
    got = run(program, folder, args, "--amp", "bf16")
    # oneDNN has no LSTM in bfloat16 where the processor has no instructions for it.
    flags = torch.backends.mkldnn.flags(enabled=False)
    with torch.no_grad(), flags, torch.autocast("cpu", torch.bfloat16):
        theirs = tree_leaves(model(*args))
    with torch.no_grad():
        exact = tree_leaves(model.double()(*(x.double() if x.is_floating_point() else x for x in args)))
    for i, (ours, other, value) in enumerate(zip(got, theirs, exact, strict=True)):
        if ours.dtype != torch.float32:
            raise Failed(f"output {i} is {ours.dtype}: the model's outputs keep their types")
        lost, may = distance(ours, value), distance(other, value)
        if not 1e-6 < lost < 1.5 * may:
            raise Failed(f"output {i}: {lost:.2e} from float64, PyTorch under autocast {may:.2e}")
    report = json.loads(ptc(program, "explain", folder / "model.pt2", "--amp", "bf16", "--json"))
    if not report["bfloat16_ops"] or not any(k.get("elements") == "bfloat16" for k in report["kernels"]):
        raise Failed("explain names nothing that runs in bfloat16")


def to_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as whole numbers from -127 to 127, and their scales."""
    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale.where(scale > 0, 1)).round(), scale


class Quantized(nn.Module):
    """What --quantize makes of a linear layer."""

    def __init__(self, linear: nn.Linear, is_dynamic: bool) -> None:
        super().__init__()
        self.weight, self.bias, self.is_dynamic = to_bytes(linear.weight), linear.bias, is_dynamic

    def forward(self, x: Tensor) -> Tensor:
        values, scale = to_bytes(x) if self.is_dynamic else (x, 1.0)
        return values @ self.weight[0].T * scale * self.weight[1][:, 0] + self.bias


def quantized(model: nn.Module, is_dynamic: bool) -> nn.Module:
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear) and min(child.weight.shape) >= 16:
                setattr(module, name, Quantized(child, is_dynamic))
    return model


def check_quantized(program: Path, folder: Path, model: nn.Module, args: tuple[Tensor, ...], kind: str) -> None:
    """The same as the formula in PyTorch, but for a few values that are rounded the other way."""
    got = run(program, folder, args, "--quantize", kind)
    linear = [m for m in model.modules() if isinstance(m, nn.Linear) and min(m.weight.shape) >= 16]
    report = json.loads(ptc(program, "explain", folder / "model.pt2", "--quantize", kind, "--json"))
    recurrent = 2 * sum(isinstance(m, nn.LSTM) for m in model.modules())
    if len(report["quantized"]) != len(linear) + recurrent:
        raise Failed(f"explain names {len(report['quantized'])} quantized weights, not {len(linear) + recurrent}")
    if recurrent:
        return  # the formula knows no recurrent layers
    for layer, entry in zip(linear, report["quantized"], strict=True):
        values, scale = to_bytes(layer.weight)
        error = distance(values * scale, layer.weight)
        if abs(entry["error"] / error - 1) > 1e-3:
            raise Failed(f"explain says {entry['error']:.3e} for {entry['weight']}, PyTorch {error:.3e}")
    is_dynamic = kind == "int8-dynamic"
    theirs = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {nn.Linear}, torch.qint8)(*args)
    formula, exact = quantized(model, is_dynamic)(*args), model.double()(*(x.double() for x in args))
    ours, model_loss = tree_leaves(got), distance(formula, exact)
    if distance(ours[0], formula) > 1e-6 + (0.2 * model_loss if is_dynamic else 0):
        raise Failed(f"{distance(ours[0], formula):.2e} from the formula, which is {model_loss:.2e} from float64")
    if linear and not distance(ours[0], exact) < 1.2 * distance(theirs, exact):
        raise Failed(f"{distance(ours[0], exact):.2e} from float64, PyTorch {distance(theirs, exact):.2e}")


def check_int8_weight(program: Path, folder: Path, model: nn.Module, args: tuple[Tensor, ...]) -> None:
    check_quantized(program, folder, model, args, "int8-weight")


def check_int8_dynamic(program: Path, folder: Path, model: nn.Module, args: tuple[Tensor, ...]) -> None:
    check_quantized(program, folder, model, args, "int8-dynamic")


CHECKS: dict[str, Callable[[Path, Path, nn.Module, tuple[Tensor, ...]], None]] = {
    "amp": check_amp,
    "int8-weight": check_int8_weight,
    "int8-dynamic": check_int8_dynamic,
}


def main() -> int:
    program, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    passed = failed = 0
    for kind, check in CHECKS.items():
        torch.manual_seed(0)
        for name, model, args in models():
            if (chosen and name not in chosen) or (kind != "amp" and name == "loss"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                model.eval().requires_grad_(False)
                torch.export.save(torch.export.export(model, args), Path(folder) / "model.pt2")
                try:
                    check(program, Path(folder), model, args)
                    passed += 1
                except Failed as error:
                    failed += 1
                    print(f"FAIL {name} ({kind}): {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Tuning: what --mode max-autotune writes, that every value of every knob computes the same, and that files are checked.

python tuning.py PTC
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from harness import Failed, compare, ptc
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import run_cases  # noqa: E402

VALUES = {"winograd": (0, 2, 4), "vectors": (1, 2, 3, 4), "rows": (1, 5, 28), "grain": (-8, -1, 1, 8), "bands": (1, 3, 64)}


class Model(nn.Module):
    """A kernel of each kind that has knobs: 3 x 3, 1 x 1, strided and depthwise convolutions, products, reductions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.depthwise = nn.Conv2d(32, 48, 3, padding=1), nn.Conv2d(48, 48, 3, padding=1, groups=48)
        self.second, self.third = nn.Conv2d(48, 40, 1), nn.Conv2d(40, 32, 3, stride=2)
        self.up, self.down = nn.Linear(32, 250), nn.Linear(250, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        x = self.third(torch.sigmoid(self.second(self.depthwise(x))))
        return torch.softmax(self.down(torch.tanh(self.up(x.flatten(2).transpose(1, 2)))), -1)


class Bench:
    """The model in a folder, to be compiled in several ways."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.model, self.tuning = folder / "model.pt2", folder / "tuning.json"
        torch.manual_seed(0)
        module, x = Model().eval().requires_grad_(False), torch.randn(2, 32, 19, 21)
        torch.export.save(torch.export.export(module, (x,)), self.model)
        save_file({"0": x}, folder / "inputs.safetensors")
        self.expected = module(x)

    def compile(self, *options: object) -> None:
        """Compiles with the tuning file and compares what the library answers."""
        library, outputs = self.folder / "model.so", self.folder / "outputs"
        ptc(self.program, "compile", self.model, "-o", library, "--tuning-file", self.tuning, *options)
        ptc(self.program, "run", library, "--inputs", self.folder / "inputs.safetensors", "--outputs", outputs)
        compare(0, load_file(outputs)["0"], self.expected, 2e-5)

    def kernels(self) -> list[dict]:
        report = ptc(self.program, "explain", self.model, "--tuning-file", self.tuning, "--json")
        return json.loads(report)["kernels"]

    def write(self, content: object) -> None:
        self.tuning.write_text(content if isinstance(content, str) else json.dumps(content))


def check_search(bench: Bench) -> None:
    bench.compile("--mode", "max-autotune")
    written = bench.tuning.read_text()
    entries = json.loads(written)["kernels"].values()
    if len(entries) != len(bench.kernels()) or not all(entry["ns_by_rules"] > 0 for entry in entries):
        raise Failed(f"kernels are missing, or were not measured: {written}")
    if sorted(path.name for path in bench.folder.glob("*.ptc-*")):
        raise Failed("candidates were left behind")
    bench.compile("--mode", "max-autotune")
    if bench.tuning.read_text() != written:
        raise Failed("kernels that the file has were measured again")


def check_values(bench: Bench) -> None:
    content = json.loads(bench.tuning.read_text())
    for knob, values in VALUES.items():
        for value in values:
            for entry in content["kernels"].values():
                entry["tuning"] = {knob: value}
            bench.write(content)
            bench.compile()
            if any(kernel["tuning"] != f"{knob} {value}" for kernel in bench.kernels()):
                raise Failed(f"explain does not show {knob} {value}")
            if knob == "winograd":
                said = {kernel.get("algorithm") for kernel in bench.kernels()}
                if ("winograd F(2x2, 3x3)" in said, "winograd F(4x4, 3x3)" in said) != (value == 2, value == 4):
                    raise Failed(f"{knob} {value} has no effect: {said}")


def check_files(bench: Bench) -> None:
    def refused(content: object, message: str) -> None:
        bench.write(content)
        try:
            bench.compile()
        except Failed as failed:
            if message not in str(failed):
                raise
        else:
            raise Failed(f"a file was accepted that should be refused: {message}")

    one = lambda entry: {"ptc_tuning": 2, "kernels": {"abc": entry}}  # noqa: E731
    refused("{", "not a tuning file")
    refused([], "not a tuning file of version 2")
    refused({"ptc_tuning": 1, "kernels": {}}, "not a tuning file of version 2")
    refused(one(3), "kernel abc: it has no 'tuning'")
    refused(one({"tuning": {"unrolling": 3}}), "kernel abc: there is no knob 'unrolling'")
    refused(one({"tuning": {"vectors": 1 << 40}}), "kernel abc: 'vectors' has a value that it cannot have")
    refused(one({"tuning": {"winograd": "4"}}), "kernel abc: 'winograd' has a value that it cannot have")


def search_and_values(program: Path, folder: Path) -> None:
    bench = Bench(program, folder)
    check_search(bench)
    check_values(bench)


def files(program: Path, folder: Path) -> None:
    check_files(Bench(program, folder))


if __name__ == "__main__":
    run_cases([search_and_values, files], Path(sys.argv[1]).resolve())

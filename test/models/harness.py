"""Exports small torch modules in every form that ptc reads, compiles and runs them, and compares with eager PyTorch."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves


@dataclass
class Case:
    """One module with the arguments that it is exported with and others that it must take too."""

    name: str
    module: nn.Module
    args: tuple
    dynamic: object = None  # torch.export's dynamic_shapes
    others: list[tuple] = field(default_factory=list)
    tolerance: float = 2e-5
    kernels: int | None = None  # how many it must become
    algorithm: str | None = None  # what a kernel must run for x86-64-v4
    replayed: bool = False  # compared with PyTorch running the exported program: its decomposition changes shapes

    def exports(self):
        """The forms of the exported program: as it is, and after decomposition."""
        program = torch.export.export(self.module, copy.deepcopy(self.args), dynamic_shapes=self.dynamic)
        yield "training", program
        yield "core", program.run_decompositions()


class Failed(Exception):
    pass


def ptc(program: Path, *arguments: object) -> str:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failed(f"ptc {arguments[0]}: exit {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


def weights(program: torch.export.ExportedProgram) -> dict[str, Tensor]:
    signature = program.graph_signature
    targets = [
        *signature.inputs_to_parameters.values(),
        *signature.inputs_to_buffers.values(),
        *signature.inputs_to_lifted_tensor_constants.values(),
    ]
    values = {**program.constants, **program.state_dict}
    return {target: values[target].detach().contiguous().clone() for target in dict.fromkeys(targets)}


def save(program: torch.export.ExportedProgram, folder: Path) -> list[Path]:
    torch.export.save(program, folder / "model.pt2")
    (folder / "model.graph").write_text(f"{program}\n")
    save_file(weights(program), folder / "model.safetensors")
    return [folder / "model.pt2", folder / "model.graph"]


def compare(index: int, got: Tensor, expected: Tensor, tolerance: float) -> None:
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise Failed(
            f"output {index}: {got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}"
        )
    try:
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        raise Failed(f"output {index}: {' '.join(str(error).split())[:200]}") from None


def check(program: Path, case: Case, exported: torch.export.ExportedProgram, folder: Path) -> None:
    """One exported program in both of its forms, with every set of arguments."""
    reference = exported.module() if case.replayed else case.module
    for model in save(exported, folder):
        library = folder / f"{model.suffix[1:]}.so"
        if case.kernels is not None:
            kernels = len(json.loads(ptc(program, "explain", model, "--json"))["kernels"])
            if kernels != case.kernels:
                raise Failed(f"{model.suffix}: {kernels} kernels instead of {case.kernels}")
        if case.algorithm is not None:
            report = json.loads(ptc(program, "explain", model, "--march", "x86-64-v4", "--json"))
            algorithms = [kernel.get("algorithm") for kernel in report["kernels"]]
            if case.algorithm not in algorithms:
                raise Failed(f"{model.suffix}: {algorithms} instead of {case.algorithm}")
        ptc(program, "compile", model, "-o", library)
        for args in [case.args, *case.others]:
            leaves = tree_leaves(copy.deepcopy(args))
            names = exported.graph_signature.user_inputs
            tensors = {str(n): torch.as_tensor(v).contiguous() for n, v in zip(names, leaves, strict=True)}
            save_file(tensors, folder / "inputs.safetensors")
            with torch.no_grad():
                expected = tree_leaves(copy.deepcopy(reference)(*copy.deepcopy(args)))
            arguments = ["--inputs", folder / "inputs.safetensors", "--outputs", folder / "outputs.safetensors"]
            ptc(program, "run", library, *arguments)
            got = load_file(folder / "outputs.safetensors")
            if len(got) != len(expected):
                raise Failed(f"{model.suffix}: {len(got)} outputs instead of {len(expected)}")
            for index, value in enumerate(expected):
                compare(index, got[str(index)], torch.as_tensor(value), case.tolerance)


def check_rows(rows: Sequence[Any], check: Callable[[Path, Any, Path], None], chosen: Sequence[str]) -> int:
    """Calls check(PTC, row, a folder) for each row, or for those of the CHOSEN names; prints a line for each failure and
    the totals. Answers the exit status."""
    program = Path(sys.argv[1]).resolve()
    passed = failed = 0
    for row in rows:
        if chosen and row.name not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(program, row, Path(folder))
                passed += 1
            except (Failed, AssertionError) as error:
                failed += 1
                print(f"FAIL {row.name}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main(cases: list[Case]) -> None:
    """harness PTC [NAME…]: prints a line for each failure and the totals."""
    program, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    passed = failed = 0
    for case in cases:
        if chosen and case.name not in chosen:
            continue
        try:
            forms = list(case.exports())
        except Exception as error:  # what torch cannot export tests nothing
            raise SystemExit(f"{case.name}: torch.export: {error}") from error
        for form, exported in forms:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(program, case, exported, Path(folder))
                    passed += 1
                except (Failed, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"FAIL {case.name} ({form}): {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)

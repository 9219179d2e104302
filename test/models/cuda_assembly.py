"""NVIDIA's assembler takes the PTX of every network of nets.py, with hardly a spill.

triton, which comes with torch, brings a ptxas, so that this needs no toolkit. A network that there is no code for yet is
refused by name, and most must not be.

python test/models/cuda_assembly.py PTC
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nets
import torch
import triton

PTXAS = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
ARCHS = ["sm_80", "sm_90a"]
MOST_BYTES = 64  # of a thread's stack frame, and of spills


def spills(report: str) -> list[str]:
    """Functions whose values do not fit into registers, by what `ptxas -v` says."""
    found, function = [], ""
    for line in report.splitlines():
        if named := re.search(r"Compiling entry function '(\S+)'", line):
            function = named[1]
        if sizes := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if any(int(size) > MOST_BYTES for size in sizes.groups()):
                found.append(f"{function}: {line.strip()}")
    return found


def assemble(ptc: str, model: Path, arch: str, folder: Path) -> list[str] | None:
    """What is wrong; None where there is no code for the model."""
    ptx = folder / "kernels.ptx"
    compiled = subprocess.run([ptc, "compile", model, "--target", "cuda", "--gpu-arch", arch, "--emit", "ptx", "-o", ptx],
                              capture_output=True, text=True)  # fmt: skip
    if compiled.returncode:
        return None if "no CUDA code for" in compiled.stderr else [compiled.stderr.strip()]
    run = subprocess.run([PTXAS, "-v", f"-arch={arch}", ptx, "-o", folder / "cubin"], capture_output=True, text=True)
    return [run.stderr.strip()] if run.returncode else spills(run.stderr)


def main() -> None:
    (ptc,) = sys.argv[1:]
    failures, assembled, refused = [], 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in nets.cases():
            *_, (_, program) = case.exports()
            torch.export.save(program, folder / "model.pt2")
            for arch in ARCHS:
                found = assemble(ptc, folder / "model.pt2", arch, folder)
                if found is None:
                    refused.append(case.name)
                    break
                assembled += 1
                failures += [f"{case.name} for {arch}: {one}" for one in found]
    print(*failures, f"{assembled} assembled; refused: {', '.join(refused) or 'none'}", sep="\n")
    if failures or 4 * len(refused) > assembled:
        sys.exit(1)


main()

"""NVIDIA's assembler takes the PTX of every network of nets.py, or of random programs, with hardly a spill.

triton, which comes with torch, brings a ptxas, so that this needs no toolkit. A network that there is no code for yet is
refused by name, and most must not be.

python test/models/cuda_assembly.py PTC [RANDOM_PRIMS [FIRST COUNT]]      # seeds
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nets
import torch
import triton

PTXAS = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
ARCHS = ["sm_80", "sm_90a"]
MOST_BYTES = {".pt2": 64, ".mlir": 256}  # of a thread's stack frame, and of spills; random kernels may be long


def spills(report: str, most: int) -> list[str]:
    """Functions whose values do not fit into registers, by what `ptxas -v` says."""
    found, function = [], ""
    for line in report.splitlines():
        if named := re.search(r"Compiling entry function '(\S+)'", line):
            function = named[1]
        if sizes := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if any(int(size) > most for size in sizes.groups()):
                found.append(f"{function}: {line.strip()}")
    return found


def assemble(ptc: str, model: Path, arch: str) -> list[str] | None:
    """What is wrong; None where there is no code for the model."""
    ptx = model.with_suffix(f".{arch}.ptx")
    compiled = subprocess.run([ptc, "compile", model, "--target", "cuda", "--gpu-arch", arch, "--emit", "ptx", "-o", ptx],
                              capture_output=True, text=True)  # fmt: skip
    if compiled.returncode:
        return None if "no CUDA code for" in compiled.stderr else [compiled.stderr.strip()]
    run = subprocess.run([PTXAS, "-v", f"-arch={arch}", ptx, "-o", ptx.with_suffix(".cubin")], capture_output=True, text=True)
    return [run.stderr.strip()] if run.returncode else spills(run.stderr, MOST_BYTES[model.suffix])


def networks(folder: Path) -> Iterator[tuple[str, Path]]:
    for index, case in enumerate(nets.cases()):
        *_, (_, program) = case.exports()
        path = folder / f"{index}.pt2"
        torch.export.save(program, path)
        yield case.name, path


def random_programs(folder: Path, random_prims: str, first: str = "1", count: str = "60") -> Iterator[tuple[str, Path]]:
    subprocess.run([random_prims, "--save", folder, "--seed", first, "--count", count], check=True)
    for path in sorted(folder.glob("*.mlir")):
        yield path.stem, path


def main() -> None:
    ptc, *chosen = sys.argv[1:]
    failures, assembled, refused, running = [], 0, set(), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, path in random_programs(Path(folder), *chosen) if chosen else networks(Path(folder)):
            running += [(name, arch, pool.submit(assemble, ptc, path, arch)) for arch in ARCHS]
        for name, arch, future in running:
            found = future.result()
            if found is None:
                refused.add(name)
                continue
            assembled += 1
            failures += [f"{name} for {arch}: {one}" for one in found]
    print(*failures, f"{assembled} assembled; refused: {', '.join(sorted(refused)) or 'none'}", sep="\n")
    if failures or 4 * len(refused) > assembled:
        sys.exit(1)


main()

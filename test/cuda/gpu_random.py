"""Random programs of prims on a real GPU, against the reference's answers; the same bits in every call.

random_prims --save FOLDER --count 1000         # where ptc is built (//test/random); 70 MB
python test/cuda/gpu_random.py PTC FOLDER       # where the GPU is: a line for each failure, the totals

PTC is a program that runs there (bazel build --config=release). Of Python's packages it needs torch and NumPy. Programs
are compiled on all cores, and one process calls them: with tensors of the host, and at once from two contexts on two
streams with tensors of the GPU, those too whose values decide sizes. What a GPU's functions may lose is in the bounds
(random_programs.py). `--target cpu` tries the script itself where there is no GPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools/python")]

import ptc  # noqa: E402
import random_programs  # noqa: E402

REFUSALS = ("not supported", "no lowering to loops", "no CUDA code for")


def compile_program(program: Path, base: Path, target: str, folder: Path) -> str:
    """The error, if there is one."""
    command = [program, "compile", f"{base}.mlir", "--target", target, "-o", folder / f"{base.name}.so"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def call_on_host(model: ptc.Model, inputs: list[Tensor]) -> list[Tensor]:
    return [torch.from_dlpack(result).clone() for result in model(*inputs)]


def call_at_once(models: list[ptc.Model], inputs: list[Tensor]) -> list[list[Tensor]]:
    """The results of several contexts, each on a stream of its own, all of which work at the same time."""
    inputs = [x.cuda() for x in inputs]
    torch.cuda.synchronize()
    results = []
    for model in models:
        with torch.cuda.stream(torch.cuda.Stream()):
            results.append([torch.from_dlpack(result) for result in model(*inputs)])
    torch.cuda.synchronize()
    return [[result.cpu() for result in one] for one in results]


def are_same(one: list[Tensor], other: list[Tensor]) -> bool:
    def bits(x: Tensor) -> bytes:
        return x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()

    return all(x.shape == y.shape and bits(x) == bits(y) for x, y in zip(one, other, strict=True))


def check(base: Path, library: Path, is_cuda: bool) -> str:
    """What is wrong with a program's calls; nothing where all is well."""
    models = [ptc.load(library), ptc.load(library)]
    for index, (inputs, expected, _) in enumerate(random_programs.calls(base)):
        answers = call_on_host(models[0], inputs)
        for output, (answer, bounds) in enumerate(zip(answers, expected, strict=True)):
            if found := random_programs.difference(answer, bounds):
                return f"call {index}, output {output}: {found}"
        repeated = [call_on_host(model, inputs) for model in models]
        if is_cuda:
            repeated += call_at_once(models, inputs)
        for attempt, again in enumerate(repeated):
            if not are_same(answers, again):
                return f"call {index}: other bits when it is repeated ({attempt})"
    return ""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PTC", type=Path)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("--target", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilations at a time")
    parser.add_argument("--seconds", type=float, default=540, help="after which no program begins")
    return parser.parse_args()


def main() -> None:
    options = parse()
    program, is_cuda = options.program.resolve(), options.target == "cuda"
    bases, begun = random_programs.programs(options.folder), time.monotonic()
    passed = failed = refused = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(name)
        running = [pool.submit(compile_program, program, base, options.target, folder) for base in bases]
        for base, future in zip(bases, running, strict=True):
            if time.monotonic() - begun > options.seconds:
                pool.shutdown(cancel_futures=True)
                break
            library = folder / f"{base.name}.so"
            try:
                found = future.result() or check(base, library, is_cuda)
            except ptc.Error as error:
                found = str(error)
            library.unlink(missing_ok=True)
            if any(text in found for text in REFUSALS):
                refused += 1
            elif found:
                failed += 1
                print(f"FAIL {base.name}: {found}", flush=True)
            else:
                passed += 1
    where = torch.cuda.get_device_name() if is_cuda else "the CPU"
    print(f"{passed + failed + refused} of {len(bases)} programs on {where} in {time.monotonic() - begun:.0f} s")
    print(f"{refused} refused\n{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()

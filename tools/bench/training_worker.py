"""One contender with one network that it trains, in a process of its own: steps of AdamW on one batch.

python training_worker.py CONTENDER NETWORK FOLDER THREADS BATCH IMAGE TOKENS PTC

As worker.py: prepares, writes the losses of its first steps to FOLDER/CONTENDER.safetensors, says so, and runs for as
many seconds as each line asks for. BATCH, IMAGE and TOKENS are not used: the networks have sizes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from worker import run_for, set_threads

CONTENDERS = ["ptc", "eager", "inductor", "torch.compile(ptc)"]
STEPS = 5  # whose losses are compared
RATE = 1e-4


@dataclass
class Contender:
    """Ready to train: `step` answers the loss, `seconds` compiling took, and training takes `peak` bytes."""

    step: Callable[[], object]
    seconds: float
    peak: Callable[[], int]


def prepare_ptc(module, inputs, target, folder: Path, threads: int, ptc: str) -> Contender:
    import torch
    from ptc import Model

    torch.export.save(torch.export.export(module, inputs), folder / "model.pt2")
    options = ["--train", "--loss", "cross_entropy", "--optimizer", "adamw", "--optimizer-options", f"lr={RATE}"]
    start = time.perf_counter()
    subprocess.run([ptc, "compile", folder / "model.pt2", *options, "-o", folder / "step.so"], check=True)
    seconds = time.perf_counter() - start
    step = Model(folder / "step.so", threads=threads)
    buffers = [torch.from_dlpack(result).clone() for result in step(*inputs, target)]
    step.reset_states()

    def train() -> object:
        step(*inputs, target, out=buffers)
        return buffers[0]

    def peak() -> int:
        memory = step.memory  # the first values of states lie in the library's file, which nothing reads again
        return memory.states + memory.peak + sum(tensor.nbytes for tensor in (*inputs, target, *buffers))

    return Contender(train, seconds, peak)


def prepare_torch(module, inputs, target, backend: str | Callable | None, before: int) -> Contender:
    import torch

    import training_models

    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, fused=True)
    run = torch.compile(module, backend=backend) if backend else module

    def train() -> object:
        optimizer.zero_grad()
        loss = training_models.loss_of(run, inputs, target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    start = time.perf_counter()
    training_models.loss_of(run, inputs, target).backward()  # compiles, and changes running statistics alone
    seconds = time.perf_counter() - start

    def peak() -> int:
        Path("/proc/self/clear_refs").write_text("5")  # the process's peak begins anew
        train()
        return resident("VmHWM") - before

    return Contender(train, seconds, peak)


def prepare(contender: str, network: str, folder: Path, threads: int, program: str) -> Contender:
    import training_models

    backends: dict[str, str | Callable | None] = {"eager": None, "inductor": "inductor"}
    if contender == "torch.compile(ptc)":
        backends[contender] = ptc_backend(folder, program)
    warm_up()
    before = resident("VmRSS")
    ready = training_models.load(network)
    if contender == "ptc":
        return prepare_ptc(*ready, folder, threads, program)
    return prepare_torch(*ready, backends[contender], before)


def ptc_backend(folder: Path, program: str) -> Callable:
    """This checkout's; one that runs in eager mode is no contender."""
    os.environ |= {"PTC_EXECUTABLE": program, "PTC_CACHE_DIR": f"{folder}/ptc-libraries"}
    from ptc.dynamo import FallbackWarning, backend

    warnings.simplefilter("error", FallbackWarning)
    return backend


def warm_up() -> None:
    """A step of something tiny, so that PyTorch's code is in memory before memory is measured."""
    import torch

    module = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3), torch.nn.Flatten(), torch.nn.Linear(4, 1))
    module(torch.ones(1, 1, 4, 4)).sum().backward()
    torch.optim.AdamW(module.parameters(), fused=True).step()


def resident(key: str) -> int:
    """What this process has (VmRSS) or had at most (VmHWM) in memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def main() -> None:
    contender, network, folder, threads, *_, ptc = sys.argv[1:]
    set_threads(int(threads))
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/{contender}-cache"  # compiles, and finds nothing
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
    warnings.filterwarnings("ignore")
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)

    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(int(threads))
    ready = prepare(contender, network, Path(folder), int(threads), ptc)
    losses = [torch.as_tensor(ready.step()).clone().reshape(()) for _ in range(STEPS)]
    save_file({"losses": torch.stack(losses)}, Path(folder, f"{contender}.safetensors"))
    ready.step()
    about = {"seconds": ready.seconds, "machine": None, "peak": ready.peak()}
    print(json.dumps(about), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(run_for(ready.step, float(line.split()[0]))), file=answers, flush=True)


if __name__ == "__main__":
    main()

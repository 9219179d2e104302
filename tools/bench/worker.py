"""One contender with one network, in a process of its own.

python worker.py CONTENDER NETWORK FOLDER THREADS BATCH IMAGE TOKENS PTC

Prepares, writes its results to FOLDER/CONTENDER.safetensors and says so in a line of JSON on stdout; then, for every
line "SECONDS [PAUSE]" that it reads, runs for that long, with a pause of so many milliseconds before each call, and
answers the times of the calls in milliseconds. Ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

CONTENDERS = ["ptc", "eager", "inductor", "inductor-freezing", "onnxruntime", "openvino"]


def set_threads(threads: int) -> None:
    """The same thread counts for all; before anything starts threads."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)


def prepare_ptc(module, inputs, folder: Path, threads: int, ptc: str) -> Callable[[], list]:
    import subprocess

    import torch

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
    from ptc import Model

    library = folder / "model.so"
    leaves = flat(inputs)
    export(module, inputs, folder)

    def tell(command: str, *options: str) -> str:
        done = subprocess.run(
            [ptc, command, folder / "model.pt2", *options], check=True, capture_output=True, text=True
        )
        return done.stdout

    start = time.perf_counter()
    if not library.exists():  # on other numbers of threads it is the same
        tell("compile", "-o", str(library))
    prepare_ptc.seconds = time.perf_counter() - start
    model = Model(library, threads=threads)
    buffers = [torch.from_dlpack(result).clone() for result in model(*leaves)]

    def profile() -> None:
        with model.profile(folder / "trace.json"):
            for _ in range(50):
                model(*leaves, out=buffers)

    def compare() -> None:
        """For plain.py."""
        import plain

        plain_library = folder / "plain.so"
        tell("compile", "--opt", "0", "-o", str(plain_library))
        both = {"model": (model, ()), "plain": (Model(plain_library, threads=threads), ("--opt", "0"))}
        for name, (one, options) in both.items():
            (folder / f"{name}.explain.json").write_text(tell("explain", "--json", *options))
            run_for(lambda one=one: one(*leaves, out=buffers), 0.2)
        for i in range(plain.ROUNDS):
            for name, (one, _) in both.items():
                with one.profile(folder / f"{name}{i}.trace.json"):
                    for _ in range(20):
                        one(*leaves, out=buffers)

    prepare_ptc.commands = {"profile": profile, "compare": compare}
    prepare_ptc.machine = model.machine
    return lambda: model(*leaves, out=buffers)


def export(module, inputs, folder: Path):
    import torch

    program = torch.export.export(module, inputs)
    if not (folder / "model.pt2").exists():
        torch.export.save(program, folder / "model.pt2")
    return program


def prepare_eager(module, inputs, *_) -> Callable[[], list]:
    return lambda: module(*inputs)


def prepare_inductor(module, inputs, *_) -> Callable[[], list]:
    import torch

    compiled = torch.compile(module)
    return lambda: compiled(*inputs)


def prepare_inductor_freezing(module, inputs, *_) -> Callable[[], list]:
    import torch._inductor.config

    torch._inductor.config.freezing = True
    return prepare_inductor(module, inputs)


def prepare_onnxruntime(module, inputs, folder: Path, threads: int, _) -> Callable[[], list]:
    import onnxruntime
    import torch

    torch.onnx.export(module, inputs, folder / "model.onnx", dynamo=True, verbose=False)
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    prepare_onnxruntime.seconds = time.perf_counter() - start
    given = {spec.name: value.numpy() for spec, value in zip(session.get_inputs(), flat(inputs), strict=True)}
    return lambda: session.run(None, given)


def prepare_openvino(module, inputs, folder: Path, threads: int, _) -> Callable[[], list]:
    import openvino

    program = export(module, inputs, folder)
    start = time.perf_counter()
    # f32 like all others: where there are instructions for bf16 it would take these.
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.compile_model(openvino.convert_model(program, example_input=inputs), "CPU", settings)
    prepare_openvino.seconds = time.perf_counter() - start
    request, given = compiled.create_infer_request(), [value.numpy() for value in flat(inputs)]
    return lambda: list(request.infer(given, share_inputs=True, share_outputs=True).values())


PREPARE = {name: globals()["prepare_" + name.replace("-", "_")] for name in CONTENDERS}


def flat(nested) -> list:
    """The tensors in nested lists, as compiled models take and answer them."""
    import torch

    return torch.utils._pytree.tree_leaves(nested)


def tensors(results) -> dict:
    import torch

    return {str(i): torch.as_tensor(leaf).contiguous().clone() for i, leaf in enumerate(flat(results))}


def run_for(call: Callable[[], list], seconds: float, pause: float = 0) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        if pause:
            time.sleep(pause / 1e3)
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def main() -> None:
    contender, network, folder, threads, *sizes, ptc = sys.argv[1:]
    set_threads(int(threads))
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/{contender}-cache"  # compiles, and finds nothing
    warnings.filterwarnings("ignore")
    # What packages print must not come between our lines.
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)

    import torch
    from safetensors.torch import save_file

    import models

    torch.set_num_threads(int(threads))
    with torch.no_grad():
        module, inputs = models.load(network, models.Sizes(*map(int, sizes)))
        prepare = PREPARE[contender]
        start = time.perf_counter()
        call = prepare(module, inputs, Path(folder), int(threads), ptc)
        results = call()
        seconds = getattr(prepare, "seconds", time.perf_counter() - start)
        save_file(tensors(results), Path(folder, f"{contender}.safetensors"))
        run_for(call, 0.2)
        print(json.dumps({"seconds": seconds, "machine": getattr(prepare, "machine", None)}), file=answers, flush=True)
        for line in sys.stdin:
            if command := getattr(prepare, "commands", {}).get(line.strip()):
                run_for(call, 0.3)
                command()
                print("{}", file=answers, flush=True)
            else:
                print(json.dumps(run_for(call, *map(float, line.split()))), file=answers, flush=True)


if __name__ == "__main__":
    main()

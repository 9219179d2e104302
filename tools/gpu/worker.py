"""One model or kernel in a process of its own, which nothing that went wrong in another has touched.

python tools/gpu/worker.py models|bandwidth NAME PTC SIZE           prints a JSON object

Without a GPU the model is exported and compiled, and that is all.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1] / "python")]

import ptc  # noqa: E402
import torch  # noqa: E402
from kernels import KERNELS  # noqa: E402
from models import MODELS  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402


class Failed(Exception):
    pass


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


def compile_model(program: str, model: Path) -> tuple[Path, dict[str, Any]]:
    """The library, and what it cost."""
    library, start = model.with_suffix(".so"), time.perf_counter()
    command = [program, "compile", model, "-o", library, "--target", "cuda"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"exit {done.returncode}: {done.stderr.strip()[:300]}")
    return library, {"compile_s": time.perf_counter() - start, "library_bytes": library.stat().st_size}


def load(library: Path) -> tuple[ptc.Model, dict[str, Any]]:
    """The model, and the time without the driver's own start."""
    torch.zeros(1, device="cuda").item()
    start = time.perf_counter()
    model = ptc.load(library)
    return model, {"load_ms": 1e3 * (time.perf_counter() - start), "code": model.machine}


def to_gpu(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.cuda() for tensor in tensors]


def compare(results: Sequence[Any], expected: Sequence[torch.Tensor], tolerance: float) -> float:
    """The largest difference as a part of the largest number of its result."""
    if len(results) != len(expected):
        raise Failed(f"{len(results)} results instead of {len(expected)}")
    worst = 0.0
    for index, (got, want) in enumerate(zip(results, expected)):
        got = torch.from_dlpack(got)
        if got.dtype != want.dtype or got.shape != want.shape:
            raise Failed(f"result {index}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
        if not want.is_floating_point():
            if not torch.equal(got, want):
                raise Failed(f"result {index} differs")
            continue
        if not want.numel():
            continue
        error = ((got - want).abs().amax() / want.abs().amax().clamp_min(1e-3)).item()
        if not error <= tolerance:
            raise Failed(f"result {index} differs by {error:.1e} of its largest number")
        worst = max(worst, error)
    return worst


def measure(functions: dict[str, Callable[[], Any]], rounds: int = 9) -> dict[str, float]:
    """Milliseconds of a call, by the GPU's clock: medians of batches, which take turns."""
    batch_ms, counts = 20.0, {}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def run(function: Callable[[], Any], count: int) -> float:
        begin.record()
        for _ in range(count):
            function()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count

    for name, function in functions.items():
        run(function, 3)
        counts[name] = max(1, min(1000, int(batch_ms / max(run(function, 3), 1e-3))))
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(run(function, counts[name]))
    return {name: statistics.median(found) for name, found in times.items()}


def run_model(name: str, program: str, folder: Path) -> dict[str, Any]:
    torch.manual_seed(0)
    subject = MODELS[name]()
    module = subject.module.eval()
    exported = torch.export.export(module, subject.inputs, dynamic_shapes=subject.dynamic)
    torch.export.save(exported, folder / "model.pt2")
    library, result = compile_model(program, folder / "model.pt2")
    if not torch.cuda.is_available():
        return result
    model, loaded = load(library)
    module.cuda()
    errors = []
    for inputs in filter(None, (subject.inputs, subject.other)):
        tensors = to_gpu(inputs)
        results = [torch.from_dlpack(one).clone() for one in model(*tensors)]
        errors.append(compare(results, tree_leaves(module(*tensors)), subject.tolerance))
        again = [torch.from_dlpack(one) for one in model(*tensors)]
        if not all(torch.equal(one, other) for one, other in zip(results, again)):
            raise Failed("a second call answers other bits")
    tensors = to_gpu(subject.inputs)
    times = measure({"ptc": lambda: model(*tensors), "torch": lambda: module(*tensors)})
    return {**result, **loaded, "error": max(errors), "ms": times["ptc"], "torch_ms": times["torch"]}


def run_kernel(name: str, program: str, size: int, folder: Path) -> dict[str, Any]:
    kernel = KERNELS[name](size)
    # Neither their memory nor their numbers are asked for: the graph's text has no example inputs.
    examples = tuple(torch.empty(shape, dtype=kernel.dtype) for shape in kernel.inputs)
    exported = torch.export.export(Function(kernel.function), examples)
    (folder / "model.graph").write_text(f"{exported}\n")
    library, result = compile_model(program, folder / "model.graph")
    if not torch.cuda.is_available():
        return result
    model, loaded = load(library)
    tensors = [torch.randn(shape, dtype=kernel.dtype, device="cuda") for shape in kernel.inputs]
    expected = kernel.function(*tensors)
    out = torch.empty_like(expected, memory_format=torch.contiguous_format)
    model(*tensors, out=[out])
    error = compare([out], [expected], 2e-3 if kernel.dtype == torch.float16 else 1e-4)
    moved = sum(tensor.nbytes for tensor in (*tensors, out))
    source = torch.empty(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = measure({
        "copy": lambda: target.copy_(source),
        "ptc": lambda: model(*tensors, out=[out]),
        "torch": lambda: kernel.function(*tensors),
    })  # fmt: skip
    speed, copy_speed = moved / times["ptc"] / 1e6, 2 * size / times["copy"] / 1e6
    speeds = {"gbs": speed, "copy_gbs": copy_speed, "part_of_copy": speed / copy_speed}
    return {**result, **loaded, **speeds, "error": error, "ms": times["ptc"], "torch_ms": times["torch"]}


def main() -> None:
    kind, name, program, size = sys.argv[1:]
    # As ptc computes: float32 is float32.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with tempfile.TemporaryDirectory() as text, torch.no_grad():
        folder = Path(text)
        try:
            if kind == "models":
                result = run_model(name, program, folder)
            else:
                result = run_kernel(name, program, int(size), folder)
        except (Failed, ptc.Error, RuntimeError) as error:
            result = {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:400]}
    print(json.dumps(result))


main()

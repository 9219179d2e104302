"""Attention of compiled models on a GPU beside PyTorch's, in results and in time.

python test/cuda/attention.py PTC [--quick] [--seconds S] [--json FILE] [NAME…]

PTC is a program that runs there (bazel build --config=release).

Each model is exported here, compiled by PTC, and called with torch's tensors and `out=`. Results are compared with
scaled_dot_product_attention of some of the heads in float64, and with those of a second call. Times are of CUDA's
events, ours and those of each of torch's backends in turns, with operands in turns so that what L2 holds of one call
does not help the next. Where there are few queries, the keys and values that are read are set against the bandwidth of
torch's copy. Exit status 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "python"))
import ptc

sdpa = nn.functional.scaled_dot_product_attention
BACKENDS = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
# Relative to the norm of the result: weights are rounded once, and so is their sum with the values.
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1e-2}
# What several calls read, so that L2 does not hold the next one's operands.
TURN_BYTES = 2e8
MOST_CHECKED = 2e8  # scores in float64
# Of a batch of calls: so many are enqueued at most, while the GPU sleeps for 10 ms.
MOST_ENQUEUED, HOST_CYCLES = 150, 20_000_000

# Batch, heads, length, features: those of BERT, GPT-2, LLaMA, and long ones.
PREFILL = [(16, 12, 512, 64), (8, 12, 512, 64), (4, 32, 1024, 64), (4, 16, 4096, 64), (4, 16, 1024, 128),
           (2, 16, 4096, 128), (1, 16, 16384, 128)]  # fmt: skip


class Attention(nn.Module):
    def __init__(self, causal: bool, is_grouped: bool):
        super().__init__()
        self.options = {"is_causal": causal, "enable_gqa": is_grouped}

    def forward(self, q, k, v, mask=None):
        return sdpa(q, k, v, mask, **self.options)


@dataclass
class Case:
    name: str
    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    features: int
    causal: bool = False
    mask: str = ""  # "keys": of a caller's cache, which keys are there; "bias": of f16 or bf16
    dtype: torch.dtype = torch.bfloat16
    group: str = ""  # of cases whose times are summed up; without one it is only checked

    def inputs(self) -> list[torch.Tensor]:
        def make(*shape):
            return torch.randn(*shape, device="cuda", dtype=self.dtype)

        inputs = [make(self.batch, self.heads, self.queries, self.features)]
        inputs += [make(self.batch, self.key_heads, self.keys, self.features) for _ in range(2)]
        if self.mask == "keys":
            inputs.append((torch.arange(self.keys, device="cuda") < self.keys * 7 // 8)[None, None, None])
        if self.mask == "bias":
            inputs.append(make(1, self.heads, self.queries, self.keys))
        return inputs

    def model(self) -> Attention:
        return Attention(self.causal, self.heads != self.key_heads)

    def flops(self) -> float:
        return 4 * self.batch * self.heads * self.queries * self.keys * self.features * (0.5 if self.causal else 1)

    def key_bytes(self) -> int:
        return 2 * self.batch * self.key_heads * self.keys * self.features * self.dtype.itemsize

    def bytes(self) -> int:
        return self.key_bytes() + 2 * self.batch * self.heads * self.queries * self.features * self.dtype.itemsize


def prefill():
    for batch, heads, length, features in PREFILL:
        for causal in (False, True):
            name = f"{batch} x {heads} x {length} x {features}{' causal' if causal else ''}"
            yield Case(name, batch, heads, heads, length, length, features, causal, group="prefill")


def wide():
    for features in (192, 256):
        for causal in (False, True):
            name = f"4 x 8 x 2048 x {features}{' causal' if causal else ''}"
            yield Case(name, 4, 8, 8, 2048, 2048, features, causal, group="wide")


def decode():
    for batch in (1, 16):
        for keys in (1024, 4096, 16384):
            yield Case(f"decode {batch} x {keys}", batch, 32, 8, 1, keys, 128, group="decode")
    yield Case("decode 16 x 4096, mask", 16, 32, 8, 1, 4096, 128, mask="keys", group="decode")
    yield Case("decode 16 x 4096, 64 features", 16, 32, 8, 1, 4096, 64, group="decode")
    yield Case("decode 16 x 4096, 256 features", 16, 16, 4, 1, 4096, 256, group="decode")
    yield Case("decode 16 x 4096, 4 queries", 16, 32, 8, 4, 4096, 128, group="decode")
    yield Case("decode 16 x 4096, 8 queries", 16, 32, 8, 8, 4096, 128, group="decode")
    yield Case("decode 16 x 4096, no groups", 16, 8, 8, 1, 4096, 128, group="decode")


def checked():
    half = torch.float16
    for features in (32, 48, 64, 128, 160, 256):
        for queries, keys in ((1, 77), (3, 1000), (8, 515), (77, 51), (200, 333)):
            yield Case("odd", 2, 4, 2, queries, keys, features, dtype=half)
            yield Case("odd, bias", 2, 4, 4, queries, keys, features, mask="bias", dtype=half)
            yield Case("odd, causal", 2, 4, 4, queries, keys, features, causal=True)


def compile_case(program: Path, case: Case, folder: Path) -> Path:
    model, library = folder / "model.pt2", folder / "model.so"
    torch.export.save(torch.export.export(case.model(), tuple(x.cpu() for x in case.inputs())), model)
    subprocess.run([program, "compile", model, "--target", "cuda", "-o", library], check=True)
    return library


def error_of(got: torch.Tensor, inputs: list[torch.Tensor], case: Case) -> float:
    """Of as many batches, and of those of as many groups of heads, as there is time for."""
    group = case.heads // case.key_heads
    scores = case.queries * case.keys
    key_heads = int(max(1, min(case.key_heads, MOST_CHECKED // (scores * group))))
    batches = int(max(1, min(case.batch, MOST_CHECKED // (scores * group * key_heads))))
    q, k, v, *mask = inputs
    heads = key_heads * group
    # The last ones: what a grid leaves out is often there.
    q, k, v = q[-batches:, -heads:].double(), k[-batches:, -key_heads:].double(), v[-batches:, -key_heads:].double()
    if mask and mask[0].shape[1] > 1:
        mask = [mask[0][:, -heads:].double()]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    with sdpa_kernel(SDPBackend.MATH):
        expected = sdpa(q, k, v, *mask, is_causal=case.causal)
    return ((got[-batches:, -heads:].double() - expected).norm() / expected.norm()).item()


def time_of(call, context, sets: int, count: int) -> float:
    """Milliseconds of a call. The GPU waits until all calls are enqueued, so that the host's time is not in them."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with context():
        torch.cuda._sleep(HOST_CYCLES)
        begin.record()
        for i in range(count):
            call(i % sets)
        end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def measure(calls: dict, sets: int, seconds: float) -> dict[str, float]:
    """Median milliseconds of each call with its context, which take turns, in batches of about 5 ms."""
    counts = {}
    for name, (call, context) in calls.items():
        time_of(call, context, sets, 3)
        once = max(time_of(call, context, sets, 2 * sets), 1e-3)
        counts[name] = min(MOST_ENQUEUED, sets * max(1, round(5 / once / sets)))
    times = {name: [] for name in calls}
    for _ in range(max(5, round(seconds * 200))):
        for name, (call, context) in calls.items():
            times[name].append(time_of(call, context, sets, counts[name]))
    return {name: statistics.median(found) for name, found in times.items()}


def find_backends(inputs: list[torch.Tensor], model: Attention) -> list[SDPBackend]:
    """Those that take the case; the plain one where no other does."""
    found = []
    for backend in BACKENDS:
        if backend == SDPBackend.MATH and found:
            continue
        try:
            with sdpa_kernel(backend):
                model(*inputs)
            found.append(backend)
        except RuntimeError:
            pass
    return found


def try_case(program: Path, case: Case, seconds: float) -> dict:
    with tempfile.TemporaryDirectory() as name:
        model = ptc.load(compile_case(program, case, Path(name)))
    sets = max(1, min(8, int(TURN_BYTES / case.bytes()) + 1)) if seconds else 1
    inputs = [case.inputs() for _ in range(sets)]
    outs = [torch.full_like(one[0], math.nan) for one in inputs]
    model(*inputs[0], out=[outs[0]])
    torch.cuda.synchronize()
    row = {"name": case.name, "group": case.group, "dtype": str(case.dtype)}
    row["error"] = error_of(outs[0], inputs[0], case)
    again = torch.full_like(outs[0], math.nan)
    model(*inputs[0], out=[again])
    row["wrong"] = not row["error"] <= TOLERANCES[case.dtype] or not torch.equal(again, outs[0])
    if not seconds:
        return row
    eager = case.model()
    calls = {"ptc": (lambda i: model(*inputs[i], out=[outs[i]]), contextlib.nullcontext)}
    for backend in find_backends(inputs[0], eager):
        calls[backend.name] = (lambda i: eager(*inputs[i]), functools.partial(sdpa_kernel, backend))
    times = measure(calls, sets, seconds)
    row["ms"] = times.pop("ptc")
    row["torch_ms"], row["by"] = min((time, name) for name, time in times.items())
    row["ratio"] = row["torch_ms"] / row["ms"]
    return row


def copy_bandwidth() -> float:
    """Bytes a millisecond, read and written."""
    x, y = (torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(2))
    return 2 * x.numel() / measure({"copy": (lambda i: y.copy_(x), contextlib.nullcontext)}, 1, 0.2)["copy"]


def show(row: dict, case: Case, bandwidth: float) -> None:
    text = f"{row['name']:32} {case.queries:5} x {case.keys:5} x {case.features:3} {row['dtype'][6:]:8}"
    text += f" error {row['error']:.1e}"
    if "ms" in row:
        text += f"  {row['ms']:8.4f} ms  {row['ratio']:6.3f} of torch's speed ({row['torch_ms']:.4f} {row['by']})"
        text += f"  {case.flops() / row['ms'] / 1e9:6.1f} TFLOP/s"
        if case.group == "decode":
            row["bandwidth"] = case.key_bytes() / row["ms"] / bandwidth
            text += f"  {row['bandwidth']:.2f} of the copy's bandwidth"
    print(text + ("   WRONG" if row["wrong"] else ""), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ptc", type=Path)
    parser.add_argument("names", nargs="*", help="groups or names of cases; all without")
    parser.add_argument("--quick", action="store_true", help="check some sizes, measure nothing")
    parser.add_argument("--seconds", type=float, default=0.2, help="of measuring, for each time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, copy {bandwidth / 1e9:.2f} TB/s", flush=True)
    cases = [*checked()] if options.quick else [*decode(), *prefill(), *wide(), *checked()]
    rows = []
    for case in cases:
        if not options.names or {case.name, case.group} & set(options.names):
            row = try_case(options.ptc.resolve(), case, options.seconds if case.group else 0)
            show(row, case, bandwidth)
            rows.append(row)
    for group in ("decode", "prefill", "wide"):
        of_group = [row for row in rows if row["group"] == group]
        if of_group:
            ratios = [row["ratio"] for row in of_group]
            text = f"{group}: {statistics.geometric_mean(ratios):.3f} of torch's speed, the least {min(ratios):.3f}"
            if group == "decode":
                parts = [row["bandwidth"] for row in of_group]
                text += f"; {statistics.geometric_mean(parts):.2f} of the copy's bandwidth, the least {min(parts):.2f}"
            print(text)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    wrong = sum(row["wrong"] for row in rows)
    print(f"{len(rows)} attentions, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

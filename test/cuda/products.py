"""Products of compiled models on a GPU beside PyTorch's (cuBLAS), in results and in time.

python test/cuda/products.py PTC [--quick] [--types NAME,...] [--seconds S]

PTC is a program that runs there (bazel build --config=release).

Each model is exported here, compiled by PTC, and called with torch's tensors and `out=`. Results are compared with
float64 where that is quick, else with float32. Times are of CUDA's events around many calls, with operands in turns so
that what L2 holds of one call does not help the next. Exit status 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "python"))
import ptc

F = nn.functional
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
# Relative to the norm of the result: sums of products in f32, rounded once; those of bytes are exact.
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 6e-3, torch.float32: 1e-5, torch.float64: 1e-13, torch.int8: 0.0}
TF32_TOLERANCE = 1e-3

# Rows of tokens by features: BERT and ViT, GPT-2, LLaMA; squares; few rows.
SHAPES = {
    "bert qkv": (8192, 2304, 768), "bert out": (8192, 768, 768), "bert up": (8192, 3072, 768),
    "bert down": (8192, 768, 3072), "vit up": (12608, 3072, 768), "gpt2 up": (4096, 3072, 768),
    "gpt2 down": (4096, 768, 3072), "gpt2 logits": (512, 50257, 768), "llama qkv": (4096, 2048, 2048),
    "llama up": (4096, 11264, 2048), "llama down": (4096, 2048, 5632), "llama logits": (4096, 32000, 2048),
    "short up": (512, 3072, 768), "short down": (512, 768, 3072), "shorter": (128, 3072, 768),
    "4096^3": (4096, 4096, 4096), "8192^3": (8192, 8192, 8192),
}  # fmt: skip
FEW = {"1 row": (1, 4096, 4096), "1 row, long": (1, 11264, 4096), "4 rows": (4, 4096, 4096), "8 rows": (8, 4096, 11264)}
ODD = [(77, 51, 45), (131, 70, 38), (1000, 333, 777), (257, 129, 65), (9, 1031, 511), (64, 64, 20000), (3, 99, 1001)]


class Linear(nn.Module):
    def __init__(self, form: str):
        super().__init__()
        self.form = form

    def forward(self, x, w, bias=None):
        if self.form == "gelu":
            return F.gelu(F.linear(x, w, bias), approximate="tanh")
        if self.form == "bytes":
            return x.int() @ w.int().mT
        if self.form == "xwT":
            return x @ w.mT
        return x.mT @ w if self.form == "xTw" else x @ w


@dataclass
class Case:
    name: str
    m: int
    n: int
    k: int
    dtype: torch.dtype
    form: str = "xwT"
    batch: tuple[int, ...] = ()
    tf32: bool = False

    def inputs(self) -> list[torch.Tensor]:
        if self.form == "bytes":  # of x those that torch's int8 has too
            x = torch.randint(0, 128, (self.m, self.k), device="cuda", dtype=torch.uint8)
            return [x, torch.randint(-128, 128, (self.n, self.k), device="cuda", dtype=torch.int8)]

        def make(*shape):
            return torch.randn(*shape, device="cuda", dtype=self.dtype)

        deep = self.form in ("xwT", "gelu")
        x = make(*self.batch, *((self.k, self.m) if self.form == "xTw" else (self.m, self.k)))
        w = make(*self.batch, *((self.n, self.k) if deep else (self.k, self.n)))
        return [x, w, make(self.n)] if self.form == "gelu" else [x, w]

    def eager(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        """What PyTorch does on a GPU, with `allow_tf32` as it is."""
        if self.form == "bytes":
            return torch._int_mm(x.view(torch.int8), others[0].mT)
        return Linear(self.form)(x, *others)

    def tolerance(self) -> float:
        return TF32_TOLERANCE if self.tf32 else TOLERANCES[self.dtype]

    def type_name(self) -> str:
        return "tf32" if self.tf32 else str(self.dtype).removeprefix("torch.")

    def flops(self) -> int:
        return 2 * self.m * self.n * self.k * math.prod(self.batch)

    def bytes(self) -> int:
        elements = self.m * self.k + self.n * self.k + self.m * self.n
        return elements * math.prod(self.batch) * self.dtype.itemsize


def compile_case(program: Path, case: Case, folder: Path) -> Path:
    inputs = tuple(x.cpu() for x in case.inputs())
    model, library = folder / "model.pt2", folder / "model.so"
    torch.export.save(torch.export.export(Linear(case.form), inputs), model)
    precision = "tf32" if case.tf32 else "ieee"
    command = [program, "compile", model, "--target", "cuda", "--fp32-precision", precision, "-o", library]
    subprocess.run(command, check=True)
    return library


def measure(call, sets: int, seconds: float) -> float:
    """Median milliseconds of a call."""
    for i in range(3):
        call(i % sets)
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(), call(0), end.record()
    end.synchronize()
    once = max(begin.elapsed_time(end), 1e-3)
    count = sets * max(1, round(5 / once / sets))
    times = []
    while sum(times) * count < seconds * 1e3 or len(times) < 5:
        begin.record()
        for i in range(count):
            call(i % sets)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    return statistics.median(times)


def error_of(got: torch.Tensor, inputs: list[torch.Tensor], case: Case) -> float:
    if case.form == "bytes":
        return (got - case.eager(*inputs)).double().norm().item()
    exact = torch.float64 if case.flops() < 1e11 or case.dtype == torch.float64 else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = False
    expected = Linear(case.form)(*(x.to(exact) for x in inputs))
    return ((got.to(exact) - expected).norm() / expected.norm()).item()


def try_case(program: Path, case: Case, seconds: float) -> dict:
    with tempfile.TemporaryDirectory() as name:
        model = ptc.load(compile_case(program, case, Path(name)))
    sets = 1 if not seconds else max(1, min(8, int(2e8 / case.bytes()) + 1))
    inputs = [case.inputs() for _ in range(sets)]

    def make_outs() -> list[torch.Tensor]:
        outs = [torch.empty_like(case.eager(*one)) for one in inputs]
        return [out.fill_(math.nan if out.is_floating_point() else -1) for out in outs]

    outs = make_outs()
    model(*inputs[0], out=[outs[0]])
    torch.cuda.synchronize()
    row = {"name": case.name, "m": case.m, "n": case.n, "k": case.k, "dtype": case.type_name(), "form": case.form}
    row["error"] = error_of(outs[0], inputs[0], case)
    again = make_outs()[0]
    model(*inputs[0], out=[again])
    row["same"] = torch.equal(again, outs[0])
    row["wrong"] = not row["error"] <= case.tolerance() or not row["same"]
    if seconds:
        torch.backends.cuda.matmul.allow_tf32 = case.tf32
        calls = [lambda i: case.eager(*inputs[i]), lambda i: model(*inputs[i], out=[outs[i]])]
        row["torch_ms"], row["ms"], row["torch_again"] = (measure(calls[i], sets, seconds) for i in (0, 1, 0))
        row["ratio"] = min(row["torch_ms"], row["torch_again"]) / row["ms"]
    return row


def show(row: dict, case: Case) -> None:
    text = f"{row['name']:24} {case.m:6} x {case.n:6} x {case.k:6} {row['dtype']:9} {row['form']:5}"
    text += f" error {row['error']:.1e}"
    if "ms" in row:
        text += f"  {row['ms']:9.4f} ms  {case.flops() / row['ms'] / 1e9:7.1f} TFLOP/s  "
        text += f"{case.bytes() / row['ms'] / 1e6:7.0f} GB/s  {row['ratio']:.3f} of torch ({row['torch_ms']:.4f})"
    print(text + ("   WRONG" if row["wrong"] else ""), flush=True)


def cases(quick: bool):
    """Those that are checked, then those that are measured too."""
    for form in ("xwT", "xw", "xTw", "gelu"):
        for dtype in TYPES.values():
            for m, n, k in ODD[:3] if quick else ODD:
                yield Case("odd", m, n, k, dtype, form), False
    for m, n, k in ODD[:3] if quick else ODD:
        for form in ("xwT", "xw", "xTw", "gelu"):
            yield Case("odd", m, n, k, torch.float32, form, tf32=True), False
        if m > 16 and n % 8 == 0 and k % 8 == 0:  # what torch multiplies
            yield Case("odd", m, n, k, torch.int8, "bytes"), False
    yield Case("odd", 1000, 328, 776, torch.int8, "bytes"), False
    for dtype in (torch.float16, torch.float32):
        yield Case("batch", 96, 80, 64, dtype, "xw", (6,)), False
        yield Case("batch", 50, 77, 33, dtype, "xwT", (2, 3)), False
    for name, (m, n, k) in list(SHAPES.items())[: 4 if quick else None]:
        for dtype in (torch.float16, torch.bfloat16):
            yield Case(name, m, n, k, dtype), True
        yield Case(name + ", gelu", m, n, k, torch.bfloat16, "gelu"), True
    for name in ("bert up", "gpt2 down", "4096^3", "short up"):
        yield Case(name, *SHAPES[name], torch.float32), True
        yield Case(name, *SHAPES[name], torch.float32, tf32=True), True
        yield Case(name + ", xw", *SHAPES[name], torch.float32, "xw", tf32=True), True
        yield Case(name, *SHAPES[name], torch.float64), True
        yield Case(name, *SHAPES[name], torch.int8, "bytes"), True
        yield Case(name + ", xw", *SHAPES[name], torch.float16, "xw"), True
    yield Case("8192^3", *SHAPES["8192^3"], torch.float32), True
    yield Case("4096^3, xw", *SHAPES["4096^3"], torch.float64, "xw"), True
    for name, (m, n, k) in FEW.items():
        for form in ("xwT", "xw"):
            yield Case(name, m, n, k, torch.float16, form), True
    yield Case("heads", 512, 512, 64, torch.float16, "xwT", (8, 12)), True
    yield Case("heads", 512, 64, 512, torch.float16, "xw", (8, 12)), True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ptc", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--types", default="", metavar="NAME,...", help="of operands, as the lines show them")
    parser.add_argument("--seconds", type=float, default=0.2, help="of measuring, for each time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    rows = []
    for case, is_timed in cases(options.quick):
        if options.types and case.type_name() not in options.types.split(","):
            continue
        row = try_case(options.ptc.resolve(), case, options.seconds if is_timed else 0)
        show(row, case)
        rows.append(row)
    groups = {"16 bits": lambda r: "float16" in r["dtype"] and r["form"] != "gelu" and "row" not in r["name"],
              "gelu": lambda r: r["form"] == "gelu", "few rows": lambda r: "row" in r["name"]}  # fmt: skip
    groups |= {name: lambda r, name=name: r["dtype"] == name for name in ("float32", "tf32", "float64", "int8")}
    for name, belongs in groups.items():
        ratios = [row["ratio"] for row in rows if "ratio" in row and belongs(row)]
        if ratios:
            print(f"{name}: {statistics.geometric_mean(ratios):.3f} of torch, the least {min(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    wrong = sum(row["wrong"] for row in rows)
    print(f"{len(rows)} products, {wrong} wrong")
    sys.exit(wrong > 0)


main()

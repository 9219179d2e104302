"""Tables and a chart of results."""

from __future__ import annotations

import math
import statistics
from html import escape
from pathlib import Path

from plain import NOISE_US, slower
from roofline import limits

LABELS = {"ptc": "ptc", "eager": "PyTorch eager", "inductor": "inductor", "inductor-freezing": "inductor, freezing",
          "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
COLOURS = {"ptc": "#d62728", "eager": "#7f7f7f", "inductor": "#1f77b4", "inductor-freezing": "#17becf",
           "onnxruntime": "#2ca02c", "openvino": "#9467bd"}


def present(results: dict) -> list[str]:
    return [name for name in LABELS if any(name in model["contenders"] for model in results["models"].values())]


def time_of(model: dict, contender: str) -> float | None:
    """The lowest of the blocks: what else runs on a machine only ever adds."""
    blocks = model["contenders"].get(contender, {}).get("blocks_ms")
    return min(blocks) if blocks else None


def geomean_ratio(results: dict, contender: str) -> float | None:
    """Of its times to ptc's, over the networks that both ran."""
    pairs = [(time_of(model, contender), time_of(model, "ptc")) for model in results["models"].values()]
    logs = [math.log(theirs / ours) for theirs, ours in pairs if theirs and ours]
    return math.exp(sum(logs) / len(logs)) if logs else None


def table(results: dict) -> str:
    names = present(results)
    lines = ["| ms, lowest block (middle block) | " + " | ".join(LABELS[name] for name in names) + " |",
             "| --- |" + " ---: |" * len(names)]
    for title, model in results["models"].items():
        cells = []
        for name in names:
            found = model["contenders"].get(name)
            cells.append(f"{time_of(model, name):.2f} ({statistics.median(found['blocks_ms']):.2f})" if found else "-")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    ratios = [geomean_ratio(results, name) for name in names]
    if "ptc" in names and len(names) > 1:
        lines.append("| **time / ptc's, geometric mean** | " + " | ".join(f"**{r:.2f}**" if r else "-" for r in ratios) + " |")
    return "\n".join(lines) + "\n"


def preparation(results: dict) -> str:
    names = [name for name in present(results) if name != "eager"]
    lines = ["| seconds to compile | " + " | ".join(LABELS[name] for name in names) + " |", "| --- |" + " ---: |" * len(names)]
    for title, model in results["models"].items():
        cells = [f"{model['contenders'][name]['seconds']:.1f}" if name in model["contenders"] else "-" for name in names]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def roofline(model: dict, machine: dict, rows: int = 8) -> str:
    found = model["kernels"]
    lines = ["| kernel | times | us | share | limit | of the roofline |", "| --- | ---: | ---: | ---: | --- | ---: |"]
    best = [limits(row, machine) for row in found["rows"]]
    for row, (ideal, limit) in list(zip(found["rows"], best))[:rows]:
        lines.append(f"| {row['kernel']} | {row['count']} | {row['us']:.0f} | {row['us'] / found['call_us']:.0%} | "
                     f"{limit} | {ideal / row['us']:.0%} |")
    rest = found["rows"][rows:]
    if rest:
        time, count = sum(row["us"] for row in rest), sum(row["count"] for row in rest)
        ideal = sum(ideal for ideal, _ in best[rows:])
        lines.append(f"| others | {count} | {time:.0f} | {time / found['call_us']:.0%} | | {ideal / time:.0%} |")
    waiting = max(found["call_us"] - found["busy_us"], 0)
    lines.append(f"| threads waiting | | {waiting:.0f} | {waiting / found['call_us']:.0%} | | |")
    whole = sum(ideal for ideal, _ in best) / found["call_us"]
    lines.append(f"| **a call** | | **{found['call_us']:.0f}** | | | **{whole:.0%}** |")
    return "\n".join(lines) + "\n"


def against_plain(results: dict) -> str:
    """Each network's kernels beside those of `--opt 0`, and every group of kernels that is slower than its plain ones."""
    lines = ["| network | groups of kernels | us | plain us | slower than plain |", "| --- | ---: | ---: | ---: | --- |"]
    for title, model in results["models"].items():
        if "plain" not in model:
            continue
        groups, losers = model["plain"], slower(model["plain"])
        said = "; ".join(f"{' '.join(g['kernels'])}: {g['us']:.0f}, plain {g['plain_us']:.0f}" for g in losers) or "none"
        us, plain_us = (sum(group[key] for group in groups) for key in ("us", "plain_us"))
        lines.append(f"| {title} | {len(groups)} | {us:.0f} | {plain_us:.0f} | {said} |")
    return "\n".join(lines) + "\n"


def document(results: dict, command: str) -> str:
    machine = results["machine"]
    parts = [f"""# Benchmarks

Written by `{command}`.

![times](benchmarks.svg)

{machine['cpu']}, {machine['threads']} threads, all pinned to the same processors; f32; random weights. Each contender is a process of its own,
is ready before the first measurement, and runs in {results['blocks']} blocks of {results['seconds']} s that take turns with the others';
a block's time is the median of its calls. What else runs on the machine only ever adds, so the lowest block counts; the middle one tells
how much was added. A contender that answers something else than PyTorch's eager mode is no contender. Versions: {', '.join(f'{k} {v}' for k, v in results['versions'].items())}.

{table(results)}
{preparation(results)}
Compiling is `ptc compile`, `InferenceSession(...)`, `convert_model` and `compile_model`, and for inductor everything until the first answer;
`torch.export` and `torch.onnx.export` are not counted.

## Of the roofline

Measured in the same run: {machine['gflops']:.0f} GFLOP/s of multiply-adds in registers, {machine['gbytes']:.1f} GB/s of copies between
buffers that no cache holds (bytes read and written). A kernel's best time is the larger of its operations by the one and the bytes of
its tensors by the other; more than 100 % of a limit by memory says that they came from a cache.
"""]
    for title, model in results["models"].items():
        if "kernels" in model:
            parts.append(f"\n### {title}\n\n{roofline(model, machine)}")
    if any("plain" in model for model in results["models"].values()):
        parts.append(f"""
## Against plain code

Does every rewrite and every fusion pay? `ptc compile --opt 0` makes a kernel of each elementary operation. Kernels of the same
operators of the model, fused and plain, are one group; a group is slower if it takes a tenth and {NOISE_US:.0f} us more than its plain kernels.

{against_plain(results)}""")
    parts.append("""
## Running it

```
bazel build //:ptc //tools/bench:peak
python tools/bench --write docs                     # standard networks, against all that is installed
python tools/bench resnet50 timm/resnet18 my.pt2 --against eager,onnxruntime --threads 4 --write docs
python tools/bench --conditions my.pt2              # quiet, one core taken, 20 ms between calls
python tools/bench --train                          # steps of training instead
```

A network is a name of torchvision, timm or transformers (a class, with its default configuration) or a `.pt2` that was exported with
example inputs. Contenders whose packages are not there are left out, with a word about it. `--write DIR` writes this page, the chart
(`benchmarks.svg`; `benchmarks.png` too where matplotlib is there) and the numbers (`benchmarks.json`) to DIR. Networks that are not
measured again keep their numbers as long as the machine and the settings are the same.

`--conditions` prints another table: each contender's median and 90th percentile on a machine that is otherwise idle, beside a process
that computes all the time, and with a pause before each call, as a service has them; and those of ptc on one thread, which
more threads should never be slower than.

`--train` measures steps of AdamW: the digits and an MLP of 64 rows, ResNet-18 of 8 images, GPT-2 of 1 x 128 tokens, BERT (4 layers of 512)
of 8 x 128 (`tools/bench/training_models.py`). `ptc compile --train` stands beside eager, inductor and `torch.compile(backend="ptc")`, whose
optimizer is PyTorch's fused one; who has other losses than eager in five steps is no contender. A cell has the median of a step's time, the seconds
that compiling took, and memory: of PyTorch the most that a step held beyond what the process had before it loaded the network, of ptc
states, working memory, the batch and results. The last columns say how far the better of eager and inductor is behind ptc, how far inductor is
behind `torch.compile(backend="ptc")`, and what part of eager's memory ptc needs.
""")
    return "".join(parts)


def bars(results: dict) -> list[tuple[str, list[tuple[str, float]]]]:
    """For each network the speed of all relative to eager's (or the slowest's)."""
    groups = []
    for title, model in results["models"].items():
        times = {name: time_of(model, name) for name in present(results) if time_of(model, name)}
        base = times.get("eager", max(times.values()))
        groups.append((title, [(name, base / time) for name, time in times.items()]))
    return groups


def svg(results: dict) -> str:
    groups, names = bars(results), present(results)
    bar, gap, left, top, height = 14, 24, 48, 64, 220
    highest = max(value for _, group in groups for _, value in group)
    width = left + sum(bar * len(group) + gap for _, group in groups) + gap
    width = max(width, 640)
    scale = height / (highest * 1.1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + 44}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{top + height + 44}" fill="white"/>',
           f'<text x="{left}" y="18" font-size="14">Speed relative to PyTorch eager (more is better)</text>']
    x = left
    for name in names:
        out.append(f'<rect x="{x}" y="30" width="10" height="10" fill="{COLOURS[name]}"/><text x="{x + 14}" y="39">{escape(LABELS[name])}</text>')
        x += 26 + 6.2 * len(LABELS[name])
    step = max(1, math.ceil(highest / 6))
    for tick in range(0, math.ceil(highest) + 1, step):
        y = top + height - tick * scale
        if y >= top:
            out.append(f'<line x1="{left}" x2="{width - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/><text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    x = left + gap / 2
    for title, group in groups:
        start = x
        for name, value in group:
            y = top + height - value * scale
            out.append(f'<rect x="{x}" y="{y:.1f}" width="{bar - 2}" height="{value * scale:.1f}" fill="{COLOURS[name]}">'
                       f'<title>{escape(title)}, {escape(LABELS[name])}: {value:.2f}</title></rect>')
            if name == "ptc":
                out.append(f'<text x="{x + bar / 2 - 1}" y="{y - 3:.1f}" text-anchor="middle" font-size="9">{value:.1f}</text>')
            x += bar
        out.append(f'<text x="{(start + x) / 2:.1f}" y="{top + height + 16}" text-anchor="middle" font-size="10">{escape(title)}</text>')
        x += gap
    machine = results["machine"]
    out.append(f'<text x="{left}" y="{top + height + 36}" fill="#555">{escape(machine["cpu"])}, {machine["threads"]} threads, f32, batch {results["batch"]}</text></svg>')
    return "\n".join(out) + "\n"


def png(results: dict, path: Path) -> bool:
    """False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = bars(results)
    figure, axes = pyplot.subplots(figsize=(2 + 1.6 * len(groups), 4))
    for index, (_, group) in enumerate(groups):
        for at, (name, value) in enumerate(group):
            axes.bar(index + 0.13 * at, value, 0.12, color=COLOURS[name], label=LABELS[name] if index == 0 else None)
    axes.set_xticks([i + 0.13 * (len(g) - 1) / 2 for i, (_, g) in enumerate(groups)], [title for title, _ in groups])
    axes.set_ylabel("speed relative to PyTorch eager")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=144)
    return True

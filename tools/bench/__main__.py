"""ptc beside PyTorch eager, inductor, ONNX Runtime and OpenVINO, in one run.

python tools/bench [NETWORK ...] [--against NAME,...] [--threads N] [--write DIR]

See docs/benchmarks.md for what is measured and how.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import conditions  # noqa: E402
import models  # noqa: E402
import plain  # noqa: E402
import report  # noqa: E402
import roofline  # noqa: E402
import training  # noqa: E402
import training_models  # noqa: E402
from contest import Contest  # noqa: E402
from worker import CONTENDERS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

def measure(network: str, contenders: list[str], options: argparse.Namespace, results: dict) -> dict:
    """All contenders with one network."""
    model: dict = {"contenders": {}}
    with Contest(network, contenders, options) as contest:
        for name, ready in contest.ready.items():
            model["contenders"][name] = {"seconds": ready["seconds"], "blocks_ms": []}
            if ready["machine"]:
                model["machine"] = ready["machine"]
        for name, times in contest.blocks(options.blocks, f"{options.seconds}"):
            model["contenders"][name]["blocks_ms"].append(statistics.median(times))
        if "ptc" in contest.ready and results["machine"]["gflops"]:
            contest.ask("ptc", "profile")
            model["kernels"] = roofline.kernels(contest.folder / "trace.json", options.threads)
        if "ptc" in contest.ready:
            contest.ask("ptc", "compare")
            model["plain"] = plain.compare(contest.folder, options.threads)
    return model


def measure_peak(options: argparse.Namespace, before: dict | None = None) -> dict | None:
    """The most that was seen so far: another program may have taken part of the machine before."""
    program = ROOT / "bazel-bin/tools/bench/peak"
    program = Path(options.peak) if options.peak else program
    if not program.exists():
        print(f"without the roofline: {program} is not there (bazel build //tools/bench:peak)", file=sys.stderr)
        return None
    done = subprocess.run([program, str(options.threads)], check=True, stdout=subprocess.PIPE)
    now = json.loads(done.stdout)
    return {key: max(now[key], before[key]) if before else now[key] for key in ("gflops", "gbytes")}


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def versions(ptc: str) -> dict:
    found = {"ptc": subprocess.run([ptc, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]}
    for package in ("torch", "onnxruntime", "openvino"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK",
                        help=f"of torchvision, timm or transformers, or a .pt2 (default: {', '.join(models.STANDARD)})")
    parser.add_argument(
        "--against", help=f"contenders besides ptc (default: all of {', '.join(CONTENDERS[1:])}; "
        f"with --train of {', '.join(training.CONTENDERS[1:])})"
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--image", type=int, default=224, help="width and height of images")
    parser.add_argument("--tokens", type=int, default=128, help="length of texts")
    parser.add_argument("--blocks", type=int, default=10, help="how often the contenders take turns")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a block")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write benchmarks.md, .svg and .json there")
    parser.add_argument(
        "--conditions",
        action="store_true",
        help="instead: a quiet machine, one with a core taken, and calls with pauses; ptc on one thread, too",
    )
    parser.add_argument(
        "--pause", type=float, default=20, metavar="MS", help="between calls, in that condition (default: %(default)s)"
    )
    parser.add_argument("--train", action="store_true", help="instead: steps of training, of "
                        f"{', '.join(training_models.NETWORKS)}")
    parser.add_argument("--json", action="store_true", help="the results as JSON on stdout instead of tables")
    parser.add_argument("--ptc", default=str(ROOT / "bazel-bin/tools/ptc/ptc"))
    parser.add_argument("--peak", help="the program that measures the machine (default: the one that Bazel built)")
    options = parser.parse_args()
    options.contenders = training.CONTENDERS if options.train else CONTENDERS
    options.networks = options.networks or list(training_models.NETWORKS if options.train else models.STANDARD)
    if options.against is None:
        options.against = ",".join(options.contenders[1:])
    unknown = sorted(set(options.against.split(",")) - set(options.contenders) - {""})
    if unknown:
        parser.error(f"--against: unknown: {', '.join(unknown)} (there are {', '.join(options.contenders[1:])})")
    if options.train and (wrong := set(options.networks) - set(training_models.NETWORKS)):
        parser.error(f"--train: unknown: {', '.join(sorted(wrong))} (there are {', '.join(training_models.NETWORKS)})")
    if not 0 < options.threads <= len(os.sched_getaffinity(0)):
        parser.error(f"--threads: there are {len(os.sched_getaffinity(0))} processors")
    return options


def earlier(options: argparse.Namespace, results: dict) -> tuple[dict, dict]:
    """Networks and machine of the last run, if it was like this one."""
    path = options.write / "benchmarks.json" if options.write else None
    if not path or not path.exists():
        return {}, {}
    old = json.loads(path.read_text())
    same = all(old.get(key) == results[key] for key in ("batch", "blocks", "seconds", "versions"))
    same = same and all(old["machine"].get(key) == results["machine"][key] for key in ("cpu", "threads"))
    return (old["models"], old["machine"]) if same else ({}, {})


def main() -> None:
    options = parse()
    contenders = ["ptc", *(name for name in options.contenders[1:] if name in options.against.split(","))]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])  # all that runs here, too
    if options.train:
        measured = {network: training.measure(network, contenders, options) for network in options.networks}
        print(json.dumps(measured, indent=1) if options.json else training.table(measured))
        return
    if options.conditions:
        measured = {
            models.title(network): conditions.measure(network, contenders, options) for network in options.networks
        }
        print(json.dumps(measured, indent=1) if options.json else conditions.table(measured))
        return
    peak = measure_peak(options)
    results = {
        "machine": {"cpu": cpu_name(), "threads": options.threads, **(peak or {"gflops": 0.0, "gbytes": 0.0})},
        "batch": options.batch,
        "blocks": options.blocks,
        "seconds": options.seconds,
        "versions": versions(options.ptc),
    }
    results["models"], machine = earlier(options, results)
    for network in options.networks:
        results["models"][models.title(network)] = measure(network, contenders, options, results)
        if peak:
            peak = measure_peak(options, peak)
    if peak:
        results["machine"].update({key: max(peak[key], machine.get(key, 0)) for key in peak})
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print(report.table(results))
        print(report.preparation(results))
        for title, model in results["models"].items():
            if "kernels" in model:
                print(f"{title}: {model['machine']} code\n{report.roofline(model, results['machine'])}")
        print(report.against_plain(results))
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        (options.write / "benchmarks.json").write_text(json.dumps(results, indent=1) + "\n")
        (options.write / "benchmarks.md").write_text(report.document(results, "python tools/bench --write docs"))
        (options.write / "benchmarks.svg").write_text(report.svg(results))
        if not report.png(results, options.write / "benchmarks.png"):
            print("without benchmarks.png: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()

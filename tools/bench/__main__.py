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
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import models  # noqa: E402
import plain  # noqa: E402
import report  # noqa: E402
import roofline  # noqa: E402
from worker import CONTENDERS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
DIFFERENCE = 1e-3  # of the largest value; sums in another order stay far below


class Worker:
    """A contender's process."""

    def __init__(self, contender: str, network: str, folder: Path, options: argparse.Namespace) -> None:
        self.contender, self.log = contender, folder / f"{contender}.log"
        sizes = [str(options.threads), str(options.batch), str(options.image), str(options.tokens)]
        command = [sys.executable, Path(__file__).with_name("worker.py"), contender, network, folder, *sizes, options.ptc]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log.open("w"), text=True)

    def answer(self) -> dict | list | None:
        """None when the process has ended."""
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, what: object) -> dict | list | None:
        try:
            self.process.stdin.write(f"{what}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        return self.answer()

    def why(self) -> str:
        """The last thing that it said."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return (lines[-1] if lines else "it ended without a word")[:200]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def difference(folder: Path, contender: str) -> float:
    """Of a contender's results from eager's, by the largest value."""
    from safetensors.torch import load_file

    expected, got = load_file(folder / "eager.safetensors"), load_file(folder / f"{contender}.safetensors")
    if expected.keys() != got.keys():
        return float("inf")
    return max(((got[k].double() - v.double()).abs().max() / v.double().abs().max().clamp(min=1e-30)).item() for k, v in expected.items())


def measure(network: str, contenders: list[str], options: argparse.Namespace, results: dict) -> dict:
    """All contenders with one network."""
    workers: dict[str, Worker] = {}
    model: dict = {"contenders": {}}
    with tempfile.TemporaryDirectory(prefix="ptc-bench-") as scratch:
        folder = Path(scratch)
        try:
            # Eager goes first even if nobody asked for it: the others are compared with its results.
            for contender in sorted({*contenders, "eager"}, key=lambda name: name != "eager"):
                worker = Worker(contender, network, folder, options)
                workers[contender] = worker
                ready = worker.answer()
                wrong = ready and difference(folder, contender) > DIFFERENCE
                if not ready or wrong:
                    why = f"its results differ by {difference(folder, contender):.1e} of the largest" if wrong else worker.why()
                    print(f"{models.title(network)}: without {contender}: {why}", file=sys.stderr)
                    workers.pop(contender).close()
                    if contender == "eager":
                        raise SystemExit(f"bench: error: {network} does not run in eager mode")
                    continue
                model["contenders"][contender] = {"seconds": ready["seconds"], "blocks_ms": []}
                if ready["machine"]:
                    model["machine"] = ready["machine"]
            if "eager" not in contenders:
                workers.pop("eager").close()
                del model["contenders"]["eager"]
            order = [name for name in CONTENDERS if name in workers]
            if not order:
                raise SystemExit(f"bench: error: no contender is left for {network}")
            for block in range(options.blocks):
                for name in order[block % len(order) :] + order[: block % len(order)]:
                    times = workers[name].ask(options.seconds)
                    if times is None:
                        raise SystemExit(f"bench: error: {name} ended while it was measured: {workers[name].why()}")
                    model["contenders"][name]["blocks_ms"].append(statistics.median(times))
            if "ptc" in workers and results["machine"]["gflops"]:
                workers["ptc"].ask("profile")
                model["kernels"] = roofline.kernels(folder / "trace.json", options.threads)
            if "ptc" in workers:
                if workers["ptc"].ask("compare") is None:
                    raise SystemExit(f"bench: error: ptc ended beside its plain code: {workers['ptc'].why()}")
                model["plain"] = plain.compare(folder, options.threads)
        finally:
            for worker in workers.values():
                worker.close()
    return model


def measure_peak(options: argparse.Namespace, before: dict | None = None) -> dict | None:
    """The most that was seen so far: another program may have taken part of the machine before."""
    program = ROOT / "bazel-bin/tools/bench/peak"
    program = Path(options.peak) if options.peak else program
    if not program.exists():
        print(f"without the roofline: {program} is not there (bazel build //tools/bench:peak)", file=sys.stderr)
        return None
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[: options.threads]))
    done = subprocess.run(["taskset", "-c", cpus, program, str(options.threads)], check=True, stdout=subprocess.PIPE)
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
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=models.STANDARD, metavar="NETWORK",
                        help="of torchvision, timm or transformers, or a .pt2 (default: %(default)s)")
    parser.add_argument("--against", default=",".join(CONTENDERS[1:]), help="contenders besides ptc (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--image", type=int, default=224, help="width and height of images")
    parser.add_argument("--tokens", type=int, default=128, help="length of texts")
    parser.add_argument("--blocks", type=int, default=10, help="how often the contenders take turns")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a block")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write benchmarks.md, .svg and .json there")
    parser.add_argument("--json", action="store_true", help="the results as JSON on stdout instead of tables")
    parser.add_argument("--ptc", default=str(ROOT / "bazel-bin/tools/ptc/ptc"))
    parser.add_argument("--peak", help="the program that measures the machine (default: the one that Bazel built)")
    options = parser.parse_args()
    unknown = set(options.against.split(",")) - set(CONTENDERS) - {""}
    if unknown:
        parser.error(f"--against: unknown: {', '.join(sorted(unknown))} (there are {', '.join(CONTENDERS[1:])})")
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
    contenders = ["ptc", *(name for name in CONTENDERS[1:] if name in options.against.split(","))]
    peak = measure_peak(options)
    results = {"machine": {"cpu": cpu_name(), "threads": options.threads, **(peak or {"gflops": 0.0, "gbytes": 0.0})},
               "batch": options.batch, "blocks": options.blocks, "seconds": options.seconds, "versions": versions(options.ptc)}
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

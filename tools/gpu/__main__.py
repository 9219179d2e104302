"""ptc on this machine's GPU: models and operators compared with PyTorch, kernels with the speed of its memory.

python tools/gpu --ptc PTC [--parts models,operators,bandwidth] [--json FILE] [--size MIB] [--jobs N] [NAME ...]

Needs torch with CUDA and the project's folder: torch exports on the spot what is compiled. PTC is the static program
(`bazel build --config=release //:ptc`). NAMEs, or parts of names, choose models, kernels and operators.

With --compile-only, which needs no GPU, models and kernels are exported and compiled, and not run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ["models", "operators", "bandwidth"]

sys.path.insert(0, str(HERE))

import report  # noqa: E402
import torch  # noqa: E402
from kernels import KERNELS  # noqa: E402
from models import MODELS  # noqa: E402


def run_worker(part: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """What a process for this model or kernel alone has found."""
    command = [sys.executable, HERE / "worker.py", part, name, options.ptc, str(options.size << 20)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""} if options.compile_only else None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    except subprocess.TimeoutExpired:
        return {"failed": "takes more than 15 minutes"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return {"failed": f"exit {done.returncode}: {done.stderr.strip()[-300:]}"}


def run_operators(options: argparse.Namespace) -> dict[str, Any]:
    """The operator suite, which compares with PyTorch on the CPU."""
    command = [sys.executable, ROOT / "test/ops", "--ptc", options.ptc, "--target", "cuda", "--jobs", str(options.jobs)]
    done = subprocess.run([*command, *options.names], capture_output=True, text=True)
    totals = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.MULTILINE)
    if not totals:
        return {"passed": 0, "failures": {"the suite": f"exit {done.returncode}: {done.stderr.strip()[-300:]}"}}
    failures = dict(re.findall(r"^FAIL (.+?): (.*)$", done.stdout, re.MULTILINE))
    return {"passed": int(totals[1]), "failures": failures}


def describe_machine(options: argparse.Namespace) -> dict[str, Any]:
    """By `ptc doctor`: GPU, driver, assembler."""
    done = subprocess.run([options.ptc, "doctor", "--json"], capture_output=True, text=True)
    doctor = json.loads(done.stdout)
    checks = {check["name"]: check for check in doctor["checks"]}
    found = {"ptc": doctor["version"], "commit": doctor["commit"]}
    found |= {key: checks["gpu"].get(key) for key in ("gpu", "compute_capability", "driver", "cuda", "newest_ptx")}
    return found | {"ptxas": checks.get("ptxas", {}).get("version"), "torch": torch.__version__}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", default=os.environ.get("PTC", "ptc"), help="the compiler (default: $PTC, then ptc)")
    parser.add_argument("--parts", default=",".join(PARTS), help="which of models, operators and bandwidth")
    parser.add_argument("--size", type=int, default=1024, metavar="MIB", help="of the largest tensor of each kernel")
    parser.add_argument("--jobs", type=int, default=2, help="operators that are compiled at a time")
    parser.add_argument("--json", metavar="FILE", help="write all results here")
    parser.add_argument("--compile-only", action="store_true", help="run nothing; of models and bandwidth")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    if os.sep in options.ptc:
        options.ptc = str(Path(options.ptc).resolve())

    machine = describe_machine(options)
    if not machine["gpu"] and not options.compile_only:
        sys.exit("tools/gpu: no GPU here (ptc doctor says why); --compile-only does without")
    print(report.line(machine))
    results: dict[str, Any] = {"machine": machine}
    failed = 0
    for part, names in (("models", list(MODELS)), ("bandwidth", list(KERNELS))):
        chosen = [name for name in names if not options.names or any(one in name for one in options.names)]
        if part not in parts or not chosen:
            continue
        print(report.heading(part, options.size), flush=True)
        results[part] = {}
        for name in chosen:
            result = results[part][name] = run_worker(part, name, options)
            print(report.row(part, name, result), flush=True)
        failures = sum("failed" in result for result in results[part].values())
        print(f"{part}: {len(chosen) - failures} passed, {failures} failed", flush=True)
        failed += failures
    if "operators" in parts and not options.compile_only:
        result = results["operators"] = run_operators(options)
        for name, why in sorted(result["failures"].items()):
            print(f"FAIL {name}: {why}")
        print(f"operators: {result['passed']} passed, {len(result['failures'])} failed")
        failed += len(result["failures"])
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")
    return 1 if failed or len(results) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())

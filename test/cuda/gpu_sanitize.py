"""compute-sanitizer's memcheck, racecheck, initcheck and synccheck of six models on a real GPU.

python test/cuda/gpu_sanitize.py PTC [--tools memcheck,racecheck] [NAME…]   # a line for each run, the totals

PTC is a program that runs there (bazel build --config=release); compute-sanitizer is CUDA's toolkit's. NAMEs are cases
of test/models/nets.py, emulated_cases.py and product_cases.py.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import emulated_cases
import nets
import product_cases
from emulate import export

MODELS = ["conv_net", "transformer", "attention, causal", "topk, long rows", "index_add",
          "many tiles, in turns, half of the last one"]  # fmt: skip
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards?)")


def sanitize(tool: str, ptc: Path, folder: Path) -> str:
    """What the tool finds; nothing where all is well."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "3", ptc, "run", folder / "model.so",
               "--inputs", folder / "inputs0.safetensors", "--outputs", folder / "outputs.safetensors"]  # fmt: skip
    run = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    summary = SUMMARY.search(run.stdout + run.stderr)
    if run.returncode or not summary or int(summary[1]):
        return (run.stdout + run.stderr).strip()[-2000:] or f"exit {run.returncode}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptc", metavar="PTC", type=lambda path: Path(path).resolve())
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("names", metavar="NAME", nargs="*")
    options = parser.parse_args()
    chosen, clean, bad = set(options.names or MODELS), 0, 0
    with tempfile.TemporaryDirectory() as name:
        for case in [*nets.cases(), *emulated_cases.cases(), *product_cases.cases()]:
            if case.name not in chosen:
                continue
            chosen.discard(case.name)
            folder = Path(name) / re.sub(r"\W+", "_", case.name)
            folder.mkdir()
            export(case, folder)
            compiling = [options.ptc, "compile", folder / "model.pt2", "--target", "cuda", "-o", folder / "model.so"]
            subprocess.run(compiling, check=True)
            for tool in options.tools.split(","):
                found = sanitize(tool, options.ptc, folder)
                clean, bad = clean + (not found), bad + bool(found)
                print(f"FAIL {tool} of {case.name}:\n{found}" if found else f"ok   {tool} of {case.name}", flush=True)
    if chosen:
        print(f"no model has the name {', '.join(chosen)}")
    print(f"{clean} runs without findings, {bad} with")
    sys.exit(1 if bad or chosen or not clean else 0)


if __name__ == "__main__":
    main()

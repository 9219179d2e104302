"""tools/bench with one tiny network against eager: runs, agrees, and writes what it says.

bench_test.py BENCH PTC PEAK
"""

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import torch

bench, ptc, peak = (str(Path(argument).resolve()) for argument in sys.argv[1:])
sys.path.insert(0, str(Path(bench).parent))
import training  # noqa: E402

passed = failed = 0


def check(what: str, holds: bool) -> None:
    global passed, failed
    passed, failed = passed + holds, failed + (not holds)
    if not holds:
        print(f"FAIL {what}")


with tempfile.TemporaryDirectory() as folder:
    module = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).eval()
    torch.export.save(torch.export.export(module, (torch.randn(16, 64),)), f"{folder}/tiny.pt2")
    # A package that is not there.
    Path(folder, "onnxruntime.py").write_text("raise ImportError('No module named onnxruntime')\n")
    command = [sys.executable, bench, "--ptc", ptc, "--peak", peak, "--threads", "1", "--blocks", "2", "--seconds", "0.05"]
    environment = dict(os.environ, PYTHONPATH=folder)

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)

    done = run(f"{folder}/tiny.pt2", "--against", "eager,onnxruntime", "--write", folder)
    print(done.stderr, end="")
    check("it ends well", done.returncode == 0)
    check("what is missing is left out with a word", "tiny: without onnxruntime: " in done.stderr)
    check("the table has both", "ptc | PyTorch eager |" in done.stdout and "| tiny |" in done.stdout)
    results = json.loads(Path(folder, "benchmarks.json").read_text())
    tiny = results["models"]["tiny"]
    check("the contenders are ptc and eager", list(tiny["contenders"]) == ["eager", "ptc"])
    check("every block has a time", all(len(c["blocks_ms"]) == 2 and min(c["blocks_ms"]) > 0 for c in tiny["contenders"].values()))
    check("the machine was measured", results["machine"]["gflops"] > 1 and results["machine"]["gbytes"] > 0.1)
    kernels = tiny["kernels"]["rows"]
    check("kernels have times", len(kernels) > 0 and all(k["us"] > 0 for k in kernels))
    check("and their part of the roofline", "| of the roofline |" in done.stdout)
    check("the flops are the network's", sum(k["flops"] * k["count"] for k in kernels) >= 2 * 16 * (64 * 128 + 128 * 8))
    groups = tiny["plain"]
    named = [name for group in groups for name in group["kernels"]]
    check("every kernel is compared with plain ones", len(set(named)) == len(named) == sum(k["count"] for k in kernels))
    check("which take time, too", all(group["us"] > 0 and group["plain_us"] > 0 for group in groups))
    check("the page says which are slower", "## Against plain code" in Path(folder, "benchmarks.md").read_text())
    chart = xml.etree.ElementTree.parse(f"{folder}/benchmarks.svg")
    check("the chart names the network", "tiny" in "".join(chart.getroot().itertext()))
    check("the page has the table", "| tiny |" in Path(folder, "benchmarks.md").read_text())

    done = run(f"{folder}/tiny.pt2", "--against", "eager", "--conditions", "--pause", "1", "--json")
    check("conditions are measured", done.returncode == 0)
    for condition, measured in json.loads(done.stdout)["tiny"].items():
        check(f"{condition}: all contenders have times", set(measured) == {"ptc", "ptc-1", "eager"})
        check(f"{condition}: in order", all(0 < times["median_ms"] <= times["p90_ms"] for times in measured.values()))
    done = run(f"{folder}/tiny.pt2", "--against", "eager", "--conditions")
    check("and have a table", "| tiny | ptc" in done.stdout and "| geometric mean |" in done.stdout)

    peers = ["ptc", "eager", "torch.compile(ptc)"]
    done = run("--train", "mlp", "--against", ",".join(peers[1:]), "--json")
    print(done.stderr, end="")
    check("steps of training are measured", done.returncode == 0 and "| mlp |" in done.stderr)
    steps = json.loads(done.stdout)["mlp"] if done.returncode == 0 else {}
    check("of all contenders, whose losses are eager's", list(steps) == peers)
    check("each with numbers", all(min(found.values()) > 0 for found in steps.values()))
    check("and what a step must hold in memory", all(found["peak_mb"] > 12 * 0.67 for found in steps.values()))
    table = training.table({"mlp": {name: {"median_ms": ms, "seconds": 1.0, "peak_mb": 8 * ms}
                                    for name, ms in zip(training.CONTENDERS, (2, 4, 6, 3), strict=True)}})
    check("ratios are of the better peer, of inductor, and of memory", table.splitlines()[2].endswith("| 2.00 | 2.00 | 0.50 |"))
    check("and have means", table.splitlines()[3].endswith("| **2.00** | **2.00** | **0.50** |"))
    check("what is no network of training is an error", run("--train", "resnet50").returncode == 2)

    overhead = [sys.executable, Path(bench).with_name("overhead.py"), "--rounds", "2", "--json"]
    environment |= {"PTC_EXECUTABLE": ptc, "PTC_CACHE_DIR": folder}
    calls = json.loads(subprocess.run(overhead, capture_output=True, text=True, env=environment, check=True).stdout)
    check("Python adds to C's calls", calls["NumPy"]["least_us"] > calls["C, ptc_call_new"]["least_us"] > 0)

    done = run("no_such_network")
    check("an unknown network is an error", done.returncode == 1 and "no network 'no_such_network'" in done.stderr)
    check("an unknown contender is an error", run("--against", "magic").returncode == 2)

print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)

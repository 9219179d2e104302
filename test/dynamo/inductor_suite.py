"""Runs PyTorch's own tests of inductor with ptc's backend in inductor's place; a yardstick, not a test.

    inductor_suite.py PYTORCH_SOURCE [PATTERN...]             # ptc; the source must fit the torch that is installed
    inductor_suite.py PYTORCH_SOURCE --baseline [PATTERN...]  # inductor itself: which tests pass on this machine at all
    inductor_suite.py PYTORCH_SOURCE --baseline --only FILE   # of the tests in a file of results, what did not pass

Of test/inductor/test_torchinductor.py the classes CpuTests and SweepInputsCpuTest are run, in processes that are
begun anew when one dies or a test takes too long. Tests that want no gradients run under torch.no_grad(). What becomes
of a test:

    passed   all its graphs were compiled by ptc, and its results are eager's
    eager    it passes, but a graph ran in eager mode (the reason is given)
    code     it asks for the code that inductor writes, counts its kernels, or calls what only inductor has (its test
             operators, AOTInductor for single operators): nothing for another backend
    failed, skipped, crashed
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fnmatch
import functools
import io
import json
import os
import random
import select
import subprocess
import sys
import traceback
import unittest
import warnings
from pathlib import Path

CLASSES = ("CpuTests", "SweepInputsCpuTest")
# Functions of torch._inductor.utils that a test calls to see inductor's code.
LOOKS_AT_CODE = (
    "run_and_get_code",
    "run_and_get_cpp_code",
    "run_and_get_kernels",
    "run_and_get_triton_code",
    "run_fw_bw_and_get_code",
)
# What else the failure of a test that is about inductor says.
OF_INDUCTOR = ("LooksAtCode", "GeneratedKernelCount", "_inductor_test", "aoti_")
SECONDS = 180


class LooksAtCode(Exception):
    pass


def install() -> list[str]:
    """Puts ptc in inductor's place; answers the list that reasons for eager mode will be in."""
    import torch._inductor.compile_fx
    import torch._inductor.utils

    import ptc.dynamo

    def compile_fx(model, example_inputs, *_, **__):
        return ptc.dynamo.backend(model, example_inputs)

    def refuse(*_, **__):
        raise LooksAtCode

    torch._inductor.compile_fx.compile_fx = compile_fx
    for name in LOOKS_AT_CODE:
        setattr(torch._inductor.utils, name, refuse)
    reasons: list[str] = []
    show = warnings.showwarning

    def keep(message, category, *rest):
        reasons.append(str(message)) if category is ptc.dynamo.FallbackWarning else show(message, category, *rest)

    warnings.showwarning = keep
    return reasons


def without_gradients(check):
    """check_model, under no_grad unless gradients are what it compares."""
    import torch

    @functools.wraps(check)
    def checked(self, *arguments, check_gradient=False, **named):
        with contextlib.nullcontext() if check_gradient else torch.no_grad():
            return check(self, *arguments, check_gradient=check_gradient, **named)

    return checked


def load(source: Path):
    sys.path[:0] = [str(source / "test" / "inductor"), str(source / "test")]
    import test_torchinductor

    return test_torchinductor


def counts_kernels(test: unittest.TestCase) -> bool:
    """Whether a test reads inductor's counters."""
    function = getattr(test, test._testMethodName)
    function = getattr(function, "__defaults__", None) or (function,)
    names: set[str] = set()
    todo = [getattr(f, "__code__", None) for f in function]
    while todo:
        code = todo.pop()
        if code is not None:
            names.update(code.co_names)
            todo += [constant for constant in code.co_consts if hasattr(constant, "co_names")]
    return bool(names & {"metrics", "counters"})


def run_one(test: unittest.TestCase, reasons: list[str]) -> tuple[str, str]:
    reasons.clear()
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            test.run(result)
    if result.skipped or result.expectedFailures:
        return "skipped", ""
    problems = result.errors + result.failures
    if problems:
        text = problems[0][1]
        if any(word in text + " ".join(reasons) for word in OF_INDUCTOR):
            return "code", ""
        lines = [line for line in text.splitlines() if line.strip()]
        advice = (" ", "To execute", "This message", "Set TORCH")
        said = next((line for line in reversed(lines) if not line.startswith(advice)), "")
        return ("code" if counts_kernels(test) else "failed"), (said[:300] + " | " + " | ".join(reasons))[:600]
    if any("_inductor_test" in reason for reason in reasons):
        return "code", ""
    return ("eager", reasons[0]) if reasons else ("passed", "")


def work(source: Path, baseline: bool) -> None:
    """The child: a test's name on each line of stdin, its result on each line of stdout."""
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)
    reasons = [] if baseline else install()
    module = load(source)
    if not baseline:
        module.CpuTests.common = without_gradients(module.CpuTests.common)
        module.check_model = without_gradients(module.check_model)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        owner, name = line.split()
        try:
            status, note = run_one(getattr(module, owner)(name), reasons)
        except Exception:
            status, note = "failed", traceback.format_exc()[-300:]
        print(json.dumps([status, note]), file=answers, flush=True)


def names_of(source: Path) -> list[str]:
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import inductor_suite, pathlib\n"
    script += f"m = inductor_suite.load(pathlib.Path({str(source)!r}))\n"
    script += f"names = [c + ' ' + n for c in {CLASSES} for n in dir(getattr(m, c)) if n.startswith('test_')]\n"
    script += "print('NAMES', *names, sep='\\n')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the tests cannot be imported:\n{done.stderr[-2000:]}")
    return done.stdout.split("NAMES\n")[1].splitlines()


class Worker:
    def __init__(self, source: Path, baseline: bool) -> None:
        command = [sys.executable, "-W", "ignore", __file__, str(source), "--child"] + ["--baseline"] * baseline
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("the tests cannot be imported")

    def run(self, name: str) -> tuple[str, str]:
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return tuple(json.loads(line))
        self.process.kill()
        return "crashed", f"exit {self.process.wait()}" if ready else f"over {SECONDS} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--sample", type=int, help="this many tests, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", help="I/N: only every Nth test, from the Ith on")
    parser.add_argument("--only", type=Path, help="what did not pass in this file of results")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return work(options.source, options.baseline)
    names = names_of(options.source)
    if options.patterns:
        names = [n for n in names if any(fnmatch.fnmatch(n.split()[1], p) for p in options.patterns)]
    if options.only:
        before = json.loads(options.only.read_text())
        names = [n for n in names if before.get(n, ["passed"])[0] in ("failed", "crashed", "eager", "code")]
    if options.sample:
        names = sorted(random.Random(options.seed).sample(names, min(options.sample, len(names))))
    if options.part:
        first, step = map(int, options.part.split("/"))
        names = names[first::step]
    results, worker = {}, None
    for name in names:
        worker = worker or Worker(options.source, options.baseline)
        results[name] = status, note = worker.run(name)
        if status == "crashed":
            worker = None
        if status not in ("passed", "skipped"):
            print(f"{status} {name.split()[1]}: {note}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=0))
    print(dict(collections.Counter(status for status, _ in results.values())))


if __name__ == "__main__":
    main()

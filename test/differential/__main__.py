"""Random modules, exported and compiled, against eager PyTorch, on values and sizes that models rarely see.

    python test/differential --ptc PTC [--seed FIRST] [--seconds S] [--cases N] [--calls N] [--jobs N] [--keep FOLDER]
    python test/differential --ptc PTC --replay FOLDER/seed-N

A case is one call of a compiled module whose results are compared. A failing module is made small and kept as seed-N.py, to
read, and seed-N.pickle, to replay, with seed-N.pt2 for ptc itself.
"""

from __future__ import annotations

import argparse
import logging
import os
import pickle
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).absolute().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools/python")]

import torch  # noqa: E402

import values  # noqa: E402
from apart import Child  # noqa: E402
from check import Checker, Verdict, collect  # noqa: E402
from generate import Generator  # noqa: E402
from program import Program, Tensors  # noqa: E402
from shrink import shrink  # noqa: E402
from vocabulary import VOCABULARY  # noqa: E402


def make_calls(program: Program, seed: int, count: int) -> list[Tensors]:
    """Every mixture of values, at sizes that are mostly the least or the largest that there are."""
    r = random.Random(seed)
    calls = []
    for i in range(count):
        sizes = {
            name: r.choice((least, min(least + 1, most), most, most, r.randint(least, most), r.randint(least, most)))
            for name, (least, most) in program.symbols.items()
        }
        kind = values.NAMES[i % len(values.NAMES)]
        kinds = {name: kind if r.random() < 0.7 else r.choice(values.NAMES) for name in program.inputs}
        shapes = program.sizes(sizes)
        calls.append({name: values.fill(program.inputs[name].dtype, shapes[name], kinds[name], r) for name in shapes})
    return calls


class Hunt:
    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder = args, folder
        self.checker = Checker(args.ptc.resolve(), folder)
        self.counts: Counter[str] = Counter()
        self.programs = self.failures = 0
        self.start = time.monotonic()

    def program(self, seed: int) -> Program:
        return Generator(seed, VOCABULARY).run()

    def work(self, seed: int) -> Verdict:
        program = self.program(seed)
        if not program.outputs:
            return Verdict()
        return self.checker.check(program, lambda p: make_calls(p, seed, self.args.calls))

    def run(self) -> int:
        """Keeps `jobs` processes at work until time, cases or patience are at an end."""
        args, seed, running, said = self.args, self.args.seed, {}, self.start
        while True:
            is_over = time.monotonic() - self.start > args.seconds or self.counts["passed"] >= args.cases or self.failures >= args.failures
            while not is_over and len(running) < args.jobs:
                result = self.folder / f"{seed}.pickle"
                child = Child(lambda: self.work(seed), result)  # noqa: B023: forked at once
                running[child.pid] = (seed, child)
                seed += 1
            if not running:
                break
            pid, status = os.wait()
            number, child = running.pop(pid)
            verdict = collect(child, status)
            self.programs += 1
            self.counts += verdict.counts
            if verdict.why is not None:
                self.failures += 1
                self.report(number, verdict)
            if args.log and time.monotonic() - said > 60:
                said = time.monotonic()
                self.summary()
        self.summary()
        return 1 if self.failures or not self.counts["passed"] else 0

    def fails(self, program: Program, inputs: Tensors) -> Verdict | None:
        """Whether `program` fails with `inputs`, tried apart."""
        verdict = collect(Child(lambda: self.checker.check(program, lambda _: [inputs]), self.folder / "shrink.pickle"))
        return verdict if verdict.why is not None else None

    def report(self, seed: int, verdict: Verdict) -> None:
        program = verdict.program or self.program(seed)
        candidates = [verdict.inputs] if verdict.inputs else make_calls(program, seed, self.args.calls)
        inputs = next((tensors for tensors in candidates if self.fails(program, tensors)), None)
        if inputs is None:
            print(f"FAIL seed {seed}: {verdict.why}; no single call repeats it\n{program.source()}", flush=True)
            return
        if self.args.shrink:
            program, inputs = shrink(program, inputs, lambda p, t: self.fails(p, t) is not None)
        why = (self.fails(program, inputs) or verdict).why
        base = self.args.keep / f"seed-{seed}"
        base.with_suffix(".pickle").write_bytes(pickle.dumps((program, inputs)))
        torch.set_printoptions(threshold=64, precision=9)
        tensors = {**program.weights, **inputs}
        comments = "".join(f"# {name}: {t.dtype}{list(t.shape)} {t.tolist() if t.numel() <= 64 else '...'}\n" for name, t in tensors.items())
        text = f"# {why}\n{comments}import torch\nfrom torch.nn import functional as F\n\n\n{program.source()}"
        base.with_suffix(".py").write_text(text)
        try:
            torch.export.save(self.checker.export(program), base.with_suffix(".pt2"))
        except Exception as error:  # then the text must do
            print(error)
        print(f"FAIL seed {seed}: --replay {base}\n{text}", flush=True)

    def summary(self) -> None:
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()) if what != "passed")
        seconds = time.monotonic() - self.start
        print(f"{self.programs} modules from seed {self.args.seed} on in {seconds:.0f} s: {counts}", flush=True)
        print(f"{self.counts['passed']} passed, {self.failures} failed", flush=True)

    def replay(self, base: Path) -> int:
        program, inputs = pickle.loads(base.with_suffix(".pickle").read_bytes())
        verdict = self.fails(program, inputs)
        print(verdict.why if verdict else "passes")
        return 1 if verdict else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", type=Path, required=True, help="the compiler")
    parser.add_argument("--seed", default="random", help="of the first module, a number or `random`")
    parser.add_argument("--seconds", type=float, default=60, help="after which no module is started")
    parser.add_argument("--cases", type=float, default=float("inf"), help="after which no module is started")
    parser.add_argument("--calls", type=int, default=64, help="of each module")
    parser.add_argument("--jobs", type=int, default=2, help="modules at a time")
    parser.add_argument("--failures", type=int, default=5, help="after which it ends")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()), help="where failing modules are left")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="leave failing modules as they are")
    parser.add_argument("--log", action="store_true", help="the totals every minute")
    parser.add_argument("--replay", type=Path, metavar="FOLDER/seed-N", help="one failing module again")
    args = parser.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    args.seed = random.SystemRandom().randrange(10**9) if args.seed == "random" else int(args.seed)
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)  # the exporter's, of what it refuses
    if not args.replay:
        print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        hunt = Hunt(args, Path(folder))
        return hunt.replay(args.replay) if args.replay else hunt.run()


if __name__ == "__main__":
    sys.exit(main())

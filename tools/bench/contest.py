"""The contenders of a network, each in a process of its own, that take turns."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import models

DIFFERENCE = 1e-3  # of the largest value; sums in another order stay far below
SINGLE = "ptc-1"  # ptc on one thread


class Worker:
    """A contender's process."""

    def __init__(self, name: str, network: str, folder: Path, options: argparse.Namespace) -> None:
        self.log = folder / f"{name}.log"
        self.contender, threads = ("ptc", 1) if name == SINGLE else (name, options.threads)
        sizes = [str(threads), str(options.batch), str(options.image), str(options.tokens)]
        command = [
            sys.executable,
            Path(__file__).with_name("training_worker.py" if options.train else "worker.py"),
            self.contender,
            network,
            folder,
            *sizes,
            options.ptc,
        ]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log.open("w"), text=True)

    def answer(self) -> dict | list | None:
        """None when the process has ended."""
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, what: str) -> dict | list | None:
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
    return max(
        ((got[k].double() - v.double()).abs().max() / v.double().abs().max().clamp(min=1e-30)).item()
        for k, v in expected.items()
    )


class Contest:
    """Starts the contenders; `ready` has what those said that answer what eager does."""

    def __init__(self, network: str, contenders: Sequence[str], options: argparse.Namespace) -> None:
        self.network, self.options = network, options
        self.scratch = tempfile.TemporaryDirectory(prefix="ptc-bench-")
        self.folder = Path(self.scratch.name)
        self.workers: dict[str, Worker] = {}
        self.ready: dict[str, dict] = {}
        try:
            # Eager goes first even if nobody asked for it: the others are compared with its results.
            for name in dict.fromkeys(["eager", *contenders]):
                self.start(name)
        except BaseException:
            self.__exit__()
            raise
        if "eager" not in contenders:
            self.drop("eager")
        if not self.workers:
            raise SystemExit(f"bench: error: no contender is left for {network}")
        self.order = [name for name in contenders if name in self.workers]

    def start(self, name: str) -> None:
        worker = self.workers[name] = Worker(name, self.network, self.folder, self.options)
        self.ready[name] = ready = worker.answer()
        wrong = ready and difference(self.folder, worker.contender)
        if ready and wrong <= DIFFERENCE:
            return
        why = f"its results differ by {wrong:.1e} of the largest" if wrong else worker.why()
        print(f"{models.title(self.network)}: without {name}: {why}", file=sys.stderr)
        self.drop(name)
        if name == "eager":
            raise SystemExit(f"bench: error: {self.network} does not run in eager mode")

    def drop(self, name: str) -> None:
        self.workers.pop(name).close()
        del self.ready[name]

    def ask(self, name: str, what: str) -> dict | list:
        answer = self.workers[name].ask(what)
        if answer is None:
            raise SystemExit(f"bench: error: {name} ended while it was measured: {self.workers[name].why()}")
        return answer

    def blocks(self, count: int, what: str) -> Iterator[tuple[str, list[float]]]:
        """Each contender's times in its turns; another one begins each round."""
        for block in range(count):
            first = block % len(self.order)
            for name in self.order[first:] + self.order[:first]:
                yield name, self.ask(name, what)

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()
        self.scratch.cleanup()

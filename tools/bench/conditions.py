"""Times as users have them: on a quiet machine, with one core taken, and with a pause before each call."""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

import models
from contest import SINGLE, Contest

CONDITIONS = ["quiet", "one core taken", "pauses"]


@contextlib.contextmanager
def computing() -> Iterator[None]:
    """A process that computes all the time."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure(network: str, contenders: Sequence[str], options: argparse.Namespace) -> dict:
    """By condition and contender: median and 90th percentile of the calls, in milliseconds."""
    found: dict = {}
    with Contest(network, [*contenders, SINGLE], options) as contest:
        for condition in CONDITIONS:
            pause = options.pause if condition == "pauses" else 0
            times = defaultdict(list)
            with computing() if condition == "one core taken" else contextlib.nullcontext():
                for name, block in contest.blocks(options.blocks, f"{options.seconds} {pause}"):
                    times[name] += block
            found[condition] = {name: {"median_ms": statistics.median(values), "p90_ms": percentile(values, 0.9)}
                                for name, values in times.items()}
    print(row(models.title(network), found), file=sys.stderr)
    return found


def percentile(values: Sequence[float], fraction: float) -> float:
    """The smallest value that at least this part of all keep to."""
    return sorted(values)[math.ceil(fraction * len(values)) - 1]


def against_single(measured: dict) -> list[float] | None:
    """Median and 90th percentile on all threads to those on one."""
    if not {"ptc", SINGLE} <= measured.keys():
        return None
    return [measured["ptc"][key] / measured[SINGLE][key] for key in ("median_ms", "p90_ms")]


def against_best(measured: dict) -> float | None:
    """The best of the others' median to ptc's."""
    others = [times["median_ms"] for name, times in measured.items() if name not in ("ptc", SINGLE)]
    return min(others) / measured["ptc"]["median_ms"] if others and "ptc" in measured else None


def row(title: str, found: dict) -> str:
    cells = []
    for condition in CONDITIONS:
        measured = found[condition]
        single, best = against_single(measured), against_best(measured)
        times = [f"{name} {value['median_ms']:.3f} ({value['p90_ms']:.3f})" for name, value in measured.items()]
        cells.append("<br>".join(times))
        cells.append("-" if single is None else f"{single[0]:.2f} ({single[1]:.2f})")
        cells.append("-" if best is None else f"{best:.2f}")
    return f"| {title} | " + " | ".join(cells) + " |"


def geometric_mean(values: Sequence[float | None]) -> str:
    logs = [math.log(value) for value in values if value]
    return f"**{math.exp(sum(logs) / len(logs)):.2f}**" if logs else "-"


def table(found: dict) -> str:
    """A row for each network: times, those on all threads to those on one, and the best peer's to ptc's."""
    heads = [f"{condition}: ms (90th percentile) | to one thread | best peer to ptc" for condition in CONDITIONS]
    lines = ["| | " + " | ".join(heads) + " |", "| --- |" + " --- | ---: | ---: |" * len(CONDITIONS)]
    lines += [row(title, model) for title, model in found.items()]
    means = []
    for condition in CONDITIONS:
        single = [against_single(model[condition]) for model in found.values()]
        means += ["", geometric_mean([ratio and ratio[0] for ratio in single]),
                  geometric_mean([against_best(model[condition]) for model in found.values()])]
    return "\n".join([*lines, "| geometric mean | " + " | ".join(means) + " |"])

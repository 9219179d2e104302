"""Steps of training: ptc's library beside PyTorch, in turns (training_models.py says of what)."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence

from conditions import geometric_mean
from contest import Contest
from training_worker import CONTENDERS

PEERS = ["eager", "inductor"]
THROUGH = "torch.compile(ptc)"


def measure(network: str, contenders: Sequence[str], options: argparse.Namespace) -> dict:
    """By contender: a step's median time in milliseconds, the seconds before the first, and the peak of memory."""
    with Contest(network, contenders, options) as contest:
        times = defaultdict(list)
        for name, block in contest.blocks(options.blocks, f"{options.seconds}"):
            times[name] += block
        found = {
            name: {
                "median_ms": statistics.median(values),
                "seconds": contest.ready[name]["seconds"],
                "peak_mb": contest.ready[name]["peak"] / 1e6,
            }
            for name, values in times.items()
        }
    print(row(network, found), file=sys.stderr)
    return found


def ratio(found: dict, key: str, whose: str, peers: Sequence[str]) -> float | None:
    """The least of the peers' to that of `whose`."""
    others = [found[name][key] for name in peers if name in found]
    return min(others) / found[whose][key] if others and whose in found else None


def ratios(found: dict) -> list[float | None]:
    memory = ratio(found, "peak_mb", "ptc", ["eager"])
    return [ratio(found, "median_ms", "ptc", PEERS), ratio(found, "median_ms", THROUGH, ["inductor"]),
            1 / memory if memory else None]


def row(network: str, found: dict) -> str:
    times = [f"{found[name]['median_ms']:.2f} ({found[name]['seconds']:.1f} s, {found[name]['peak_mb']:.0f} MB)"
             if name in found else "-" for name in CONTENDERS]
    return f"| {network} | " + " | ".join([*times, *(f"{r:.2f}" if r else "-" for r in ratios(found))]) + " |"


def table(measured: dict) -> str:
    """A row for each network, with how far ahead ptc is, and geometric means of that."""
    heads = [*CONTENDERS, "better peer to ptc", f"inductor to {THROUGH}", "memory to eager's"]
    lines = ["| ms a step (compilation, memory) | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(heads)]
    lines += [row(network, found) for network, found in measured.items()]
    columns = zip(*(ratios(found) for found in measured.values()), strict=True)
    means = [geometric_mean(column) for column in columns]
    return "\n".join([*lines, "| geometric mean |" + " |" * len(CONTENDERS) + " " + " | ".join(means) + " |"])

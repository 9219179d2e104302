"""Whether rewrites and fusion pay, kernel by kernel: times beside those of `--opt 0`, where each elementary operation
is a kernel of its own."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import roofline

ROUNDS = 5  # the two take turns
SLOWER, NOISE_US = 1.1, 2.0  # what is called slower: by both


def measured(folder: Path, name: str, threads: int) -> list[tuple[str, set[str], float]]:
    """Kernels with the graph's operations that they compute and their microseconds: the median of the rounds."""
    rounds = [roofline.times(folder / f"{name}{i}.trace.json", threads)[0] for i in range(ROUNDS)]
    said = json.loads((folder / f"{name}.explain.json").read_text())["kernels"]
    return [(k["name"], set(k["ops"]), statistics.median(r.get(k["name"], 0.0) for r in rounds)) for k in said]


def compare(folder: Path, threads: int) -> list[dict]:
    """Kernels that share operations, directly or through others, are one group: its time, and the time of the plain
    kernels of the same operations. The group that loses most comes first."""
    groups: list[dict] = []
    for side in ("us", "plain_us"):
        for name, ops, us in measured(folder, "plain" if side == "plain_us" else "model", threads):
            joined = [group for group in groups if group["ops"] & ops]
            group = {"ops": set(ops), "kernels": [name] if side == "us" else [], "us": 0.0, "plain_us": 0.0}
            group[side] = us
            for other in joined:
                groups.remove(other)
                group["ops"] |= other["ops"]
                group["kernels"] = other["kernels"] + group["kernels"]
                group["us"] += other["us"]
                group["plain_us"] += other["plain_us"]
            groups.append(group)
    groups = [{key: group[key] for key in ("kernels", "us", "plain_us")} for group in groups if group["kernels"]]
    return sorted(groups, key=lambda group: group["plain_us"] - group["us"])


def slower(groups: list[dict]) -> list[dict]:
    return [g for g in groups if g["us"] > SLOWER * g["plain_us"] and g["us"] > g["plain_us"] + NOISE_US]

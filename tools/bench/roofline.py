"""How near each kernel comes to what the machine can do."""

from __future__ import annotations

import bisect
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path


def times(trace: Path, threads: int) -> tuple[dict[str, float], dict[str, tuple[int, int]], float]:
    """Microseconds of each kernel in one call, its operations and bytes, and microseconds of a call. A kernel's time is
    what its threads spent in it, divided by how many there are."""
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    calls = sorted((event["ts"], event["dur"]) for event in events if event["cat"] == "call")
    starts = [start for start, _ in calls]
    spent = defaultdict(lambda: [0.0] * len(calls))  # by kernel, in each call
    costs = {}
    for event in events:
        if event["cat"] == "kernel":
            spent[event["name"]][bisect.bisect(starts, event["ts"]) - 1] += event["dur"] / threads
            costs[event["name"]] = (event["args"]["flops"], event["args"]["bytes"])
    # Medians: a call that another process disturbed tells nothing of its kernels.
    busy = {name: statistics.median(times) for name, times in spent.items()}
    return busy, costs, statistics.median(duration for _, duration in calls)


def kernels(trace: Path, threads: int) -> dict:
    """Kernels that are alike as one row, the longest first: times of one call in microseconds."""
    busy, costs, wall = times(trace, threads)
    alike = defaultdict(list)
    for name, microseconds in busy.items():
        microseconds = max(microseconds, 1e-3)
        alike[re.sub(r"^k\d+_", "", name), *costs[name]].append(microseconds)
    rows = []
    for (name, flops, traffic), each in alike.items():
        rows.append({"kernel": name, "count": len(each), "us": sum(each), "flops": flops, "bytes": traffic})
    rows.sort(key=lambda row: -row["us"])
    return {"rows": rows, "call_us": wall, "busy_us": sum(busy.values())}


def limits(row: dict, machine: dict) -> tuple[float, str]:
    """The best time of a row, and what sets it: its operations, or the bytes of its tensors as if all came from
    memory."""
    arithmetic, memory = row["flops"] / machine["gflops"] / 1e3, row["bytes"] / machine["gbytes"] / 1e3
    return row["count"] * max(arithmetic, memory), "arithmetic" if arithmetic > memory else "memory"

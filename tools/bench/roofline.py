"""How near each kernel comes to what the machine can do."""

from __future__ import annotations

import bisect
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path


def kernels(trace: Path, threads: int, peak: dict) -> dict:
    """Kernels that are alike as one row, the longest first: times of one call in microseconds.

    A kernel's time is what its threads spent in it, divided by how many there are; what it would be at best follows from its
    operations and from the bytes of the tensors that it touches, as if each came from memory once.
    """
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
    alike = defaultdict(list)
    for name, microseconds in busy.items():
        microseconds = max(microseconds, 1e-3)
        alike[re.sub(r"^k\d+_", "", name), *costs[name]].append(microseconds)
    rows = []
    for (name, flops, traffic), times in alike.items():
        best = max(flops / peak["gflops"], traffic / peak["gbytes"]) / 1e3
        limit = "arithmetic" if flops / peak["gflops"] > traffic / peak["gbytes"] else "memory"
        rows.append({"kernel": name, "count": len(times), "us": sum(times), "flops": flops, "bytes": traffic,
                     "best_us": best * len(times), "limit": limit, "fraction": best * len(times) / sum(times)})
    rows.sort(key=lambda row: -row["us"])
    wall = statistics.median(duration for _, duration in calls)
    return {"kernels": rows, "call_us": wall, "busy_us": sum(busy.values()), "best_us": sum(row["best_us"] for row in rows)}

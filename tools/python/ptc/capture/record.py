"""What the runs of one target show: graphs, breaks, guards, and what Python does in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .describe import describe_guard, parse_reason
from .errors import CaptureError, one_line
from .graph import Input, Weights, graph_text
from .places import statement_at, users_stack

# A run that was sent where it would not have gone may never end.
MAX_DECISIONS = 1000
MAX_STEPS = 400


class TooManyDecisions(BaseException):
    """Ends a run; no `except Exception` of the user's may keep it."""


@dataclass
class Decision:
    """Python asked a tensor whether it is true."""

    site: str
    value: bool
    forced: bool


@dataclass
class Capture:
    """What the runs of one target have shown."""

    target: Any
    graphs: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    breaks: list[dict[str, Any]] = field(default_factory=list)
    guards: list[dict[str, Any]] = field(default_factory=list)
    paths: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    plan: list[bool] = field(default_factory=list)
    guarded: int = 0  # graphs whose guards are known

    def __post_init__(self) -> None:
        self.weights = Weights(self.target)

    # What Dynamo says ------------------------------------------------------------------------------------------------

    def on_break(self, reason: str, error: Any) -> None:
        stack = users_stack(getattr(error, "real_stack", None))
        skipped = "Skipping the function" in reason
        found = {**parse_reason(reason), "skipped": skipped, "graph": None, "detail": "", "stack": stack}
        self._add_break(found, "")

    def on_graph(self, gm: Any, examples: list[Any]) -> Any:
        import torch

        index = len(self.graphs)
        reason = getattr(gm, "compile_subgraph_reason", None)
        ends = None
        if reason is not None and reason.graph_break:
            ends = self._find_break(reason)
            self.breaks[ends].update(graph=index, detail=reason.reason.strip().splitlines()[0])
        placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
        inputs = []
        for node, value in zip(placeholders, examples):
            source = getattr(node, "_dynamo_source", None)
            inputs.append(Input(str(source.name if source is not None else node.name), value))
        functions = [users_stack([frame]) for frame in getattr(reason, "user_stack", [])[-1:]]
        place = functions[0][0] if functions and functions[0] else {"source": "", "function": ""}
        operators = [node for node in gm.graph.nodes if node.op.startswith("call_")]
        entry = {"function": place["function"], "source": place["source"], "ops": len(operators), "ends": ends}
        entry |= {"calls": 0, "path": len(self.paths)}
        values = [node.meta.get("example_value", value) for node, value in zip(placeholders, examples)]
        try:
            text = graph_text(gm, inputs, values, self.weights)
        except Exception as error:  # whatever tracing cannot do is said in the report
            entry["failure"] = str(error) if isinstance(error, CaptureError) else one_line(error)
            text = ""
        self.graphs.append(entry)
        self.texts.append(text)
        self.examples = {given.source: given.value for given in inputs if isinstance(given.value, torch.Tensor)}

        def call(*arguments: Any) -> Any:
            entry["calls"] += 1
            self._step({"graph": index})
            return gm.forward(*arguments)

        return torch._dynamo.disable(call)

    def _find_break(self, reason: Any) -> int:
        place = reason.user_stack[-1] if reason.user_stack else None
        source = f"{place.filename}:{place.lineno}" if place else ""
        for index in reversed(range(len(self.breaks))):
            found = self.breaks[index]
            places = [found["source"], *(frame["source"] for frame in found["stack"])]
            if found["graph"] is None and (not source or source in places):
                return index
        stack = users_stack(reason.user_stack)
        found = {**parse_reason(reason.reason), "skipped": False, "graph": None, "detail": "", "stack": stack}
        self._add_break(found, source)
        return len(self.breaks) - 1

    def _add_break(self, found: dict[str, Any], source: str) -> None:
        stack = found["stack"]
        found |= stack[-1] if stack else {"source": source, "function": "", "code": ""}
        path, _, line = found["source"].rpartition(":")
        found["python"] = statement_at(path, int(line)) if line.isdigit() else ""
        found |= {"times": 1, "path": len(self.paths)}
        self.breaks.append(found)

    def merge_breaks(self) -> None:
        """Dynamo says a break again for each frame on its way out, and when it compiles the frame again: of those that
        end no graph one is enough."""
        kept: list[dict[str, Any]] = []
        places: dict[int, int] = {}
        for index, found in sorted(enumerate(self.breaks), key=lambda pair: pair[1]["graph"] is None):
            same = [k for k in kept if (k["source"], k["reason"]) == (found["source"], found["reason"])]
            if found["graph"] is None and same:
                same[0]["times"] += 1
                continue
            places[index] = id(found)
            kept.append(found)
        order = [found for found in self.breaks if any(found is k for k in kept)]
        for graph in self.graphs:
            if graph["ends"] is not None:
                graph["ends"] = next(i for i, found in enumerate(order) if id(found) == places[graph["ends"]])
        self.breaks = order

    def on_guards(self, guards: Any) -> None:
        """Of the frame that was just compiled; of one without operators they belong to no graph."""
        graph = len(self.graphs) - 1 if self.guarded < len(self.graphs) else None
        self.guarded = len(self.graphs)
        examples = self.examples if graph is not None else {}
        common = {"graph": graph, "path": len(self.paths)}
        self.guards += [{**common, **describe_guard(guard, examples)} for guard in guards]

    # What Python does ------------------------------------------------------------------------------------------------

    def _step(self, step: dict[str, Any]) -> None:
        if len(self.steps) < MAX_STEPS:
            self.steps.append(step)

    def decide(self, value: bool, frame: Any) -> bool:
        site = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        number = len(self.decisions)
        if number >= MAX_DECISIONS:
            raise TooManyDecisions
        forced = number < len(self.plan) and self.plan[number] != value
        if forced:
            value = self.plan[number]
        self.decisions.append(Decision(site, value, forced))
        self._step({"branch": site, "value": value, "forced": forced})
        return value

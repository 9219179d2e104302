"""Captures what Dynamo makes of ordinary Python: all graphs, the breaks between them, the guards, in one file.

    ptc capture script.py:model -o model.graph          # or: python -m ptc.capture
    ptc explain model.graph

The target is a function or a torch.nn.Module of the script. Its arguments are `--args`, an expression over the script's
names (`--args "torch.randn(2, 8), flag=True"`), else the script's `example_inputs`: a tuple, a dict of keyword
arguments, or a function that answers one of these.

A branch that data decide is a break with two ways on. The run with the given arguments takes one of them; the others are
captured by further runs, in which the condition is answered the other way (`--paths`). The target's state is put back
after each run; what it does to the rest of the world happens again.

This file stands alone: the ptc program carries it and hands it to the Python that has torch.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import inspect
import itertools
import json
import linecache
import logging
import os
import re
import struct
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

FORMAT = 1
# A run that was sent where it would not have gone may never end.
MAX_DECISIONS = 1000
MAX_STEPS = 400
HERE = (lambda: 0).__code__.co_filename


class CaptureError(Exception):
    """The user's to put right: one line."""


class TooManyDecisions(BaseException):
    """Ends a run; no `except Exception` of the user's may keep it."""


def one_line(error: BaseException) -> str:
    """Its type and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


# ======================================================================================================================
# Places in the user's program
# ======================================================================================================================


def plain_name(function: str) -> str:
    """Dynamo continues `f` behind a break in `torch_dynamo_resume_in_f_at_12`."""
    while found := re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_\d+", function):
        function = found.group(1)
    return function


def is_torch(path: str) -> bool:
    import torch

    return path.startswith(os.path.dirname(torch.__file__) + os.sep) or path.startswith("<")


def describe_frame(frame: traceback.FrameSummary) -> dict[str, Any]:
    code = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return {"source": f"{frame.filename}:{frame.lineno}", "function": plain_name(frame.name), "code": code}


def users_stack(stack: Any) -> list[dict[str, Any]]:
    """Outermost first. The user's own code; all of it where there is none."""
    frames = [frame for frame in stack or [] if frame.filename != HERE and "runpy" not in frame.filename]
    own = [frame for frame in frames if not is_torch(frame.filename)]
    return [describe_frame(frame) for frame in own or frames]


def statement_at(path: str, line: int) -> str:
    """The statement that begins on or contains a line; of a compound one, its head."""
    text = "".join(linecache.getlines(path))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return linecache.getline(path, line).strip()
    best = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if best is None or node.lineno >= best.lineno:
                best = node
    if best is None:
        return linecache.getline(path, line).strip()
    body = getattr(best, "body", None)
    end = body[0].lineno - 1 if body else best.end_lineno
    lines = text.splitlines()[best.lineno - 1 : max(end or 0, best.lineno)]
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].strip().startswith("#")):
        lines.pop()
    return "\n".join(inspect.cleandoc("\n".join(lines)).splitlines()[:12])


# ======================================================================================================================
# Breaks and guards
# ======================================================================================================================


def parse_reason(text: str) -> dict[str, Any]:
    """Dynamo's message: a title, then `Explanation:`, `Hint:` and `Developer debug context:`."""
    body = text.split("Graph break encountered:\n\n", 1)[-1]
    first, _, rest = body.strip().partition("\n")
    if rest.startswith("\n") and first.endswith(":"):  # "Graph Break Reason: Call to `print`:" before the title
        first, _, rest = rest.strip().partition("\n")
    fields: dict[str, Any] = {"reason": first.strip(), "explanation": "", "hints": [], "context": ""}
    current = None
    for line in rest.splitlines():
        line = line.strip()
        if line.startswith("For more details about this graph break"):
            break
        for start, key in (("Explanation:", "explanation"), ("Hint:", "hints"), ("Developer debug context:", "context")):
            if line.startswith(start):
                current, line = key, line[len(start) :].strip()
                if key == "hints":
                    fields["hints"].append("")
                break
        if not line or current is None:
            continue
        if current == "hints":
            fields["hints"][-1] = (fields["hints"][-1] + " " + line).strip()
        else:
            fields[current] = (fields[current] + " " + line).strip()
    return fields


def describe_dtype(value: Any) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(str(size) for size in value.shape)}]"


def without_addresses(text: str) -> str:
    """Identities of objects differ from run to run."""
    text = re.sub(r"(___check_(?:obj|type)_id\(.*), \d{6,}\)", r"\1)", text)
    return re.sub(r" (?:at|object at) 0x[0-9a-f]+", "", text)


def describe_guard(guard: Any, examples: dict[str, Any]) -> dict[str, Any]:
    kind = guard.create_fn_name() if hasattr(guard, "create_fn_name") else str(guard.create_fn)
    stack = users_stack(getattr(guard, "user_stack", None))
    if kind == "TENSOR_MATCH" and guard.name in examples:
        text = f"{guard.name} is {describe_dtype(examples[guard.name])}"
    else:
        text = without_addresses(" and ".join(guard.code_list or []) or guard.name or kind.lower().replace("_", " "))
    return {"kind": kind, "text": text, "source": stack[-1]["source"] if stack else ""}


# ======================================================================================================================
# A graph in the form that ptc reads
# ======================================================================================================================


def weight_path(source: str) -> str:
    """L['self']._modules['fc']._parameters['weight'] is fc.weight."""
    parts = re.findall(r"\['([^']*)'\]|\[(\d+)\]|\.(\w+)", source)
    names = [next(piece for piece in part if piece) for part in parts]
    names = [name for name in names if name not in ("_modules", "_parameters", "_buffers")]
    return ".".join(names[1:] if names[:1] == ["self"] else names)


def is_weight(source: str, value: Any) -> bool:
    import torch

    return isinstance(value, torch.nn.Parameter) or bool(re.search(r"\._buffers\['[^']*'\]$", source))


class Weights:
    """Parameters and buffers of all graphs, each once, by the name that it has in its module."""

    def __init__(self, target: Any) -> None:
        import torch

        self.tensors: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        if isinstance(target, torch.nn.Module):
            for name, tensor in itertools.chain(target.named_parameters(), target.named_buffers()):
                self.names.setdefault(id(tensor), name)

    def add(self, tensor: Any, wish: str) -> str:
        name = self.names.get(id(tensor)) or self._free(wish or "weight")
        self.names[id(tensor)] = name
        self.tensors[name] = tensor
        return name

    def _free(self, wish: str) -> str:
        taken = set(self.names.values())
        return next(name for name in itertools.chain([wish], (f"{wish}.{i}" for i in itertools.count(1))) if name not in taken)


def identifier(wish: str, taken: set[str]) -> str:
    base = re.sub(r"\W+", "_", wish).strip("_") or "x"
    base = "_" + base if base[0].isdigit() else base
    name = next(n for n in itertools.chain([base], (f"{base}_{i}" for i in itertools.count(1))) if n not in taken)
    taken.add(name)
    return name


def without_grad_mode(gm: Any) -> Any:
    """Inference: whether autograd records changes nothing of the answers."""
    import torch

    gm = copy.copy(gm)
    gm.graph = copy.deepcopy(gm.graph)
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target in (
            torch._C._set_grad_enabled,
            torch.amp.autocast_mode._enter_autocast,
            torch.amp.autocast_mode._exit_autocast,
        ):
            if node.target is not torch._C._set_grad_enabled:
                raise CaptureError("autocast inside the model is not supported")
            gm.graph.erase_node(node)
    gm.recompile()
    return gm


def to_aten(gm: Any, values: list[Any]) -> Any:
    """The same graph in ATen's operators, symbols and the user's lines kept."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta

    gm = without_grad_mode(gm)
    mode = torch._guards.detect_fake_mode(values) or torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)

    def run(*arguments: Any) -> Any:
        with preserve_node_meta():
            return torch.fx.Interpreter(gm).run(*arguments)

    old = mode.allow_non_fake_inputs
    mode.allow_non_fake_inputs = True
    try:
        with torch.no_grad(), mode:
            return make_fx(run, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True)(*values)
    finally:
        mode.allow_non_fake_inputs = old


@dataclass
class Input:
    """A placeholder of Dynamo's graph: where its value comes from, and the value."""

    source: str
    value: Any


def graph_text(gm: Any, inputs: list[Input], values: list[Any], weights: Weights) -> str:
    import torch

    traced = to_aten(gm, values)
    graph = traced.graph
    taken = {node.name for node in graph.nodes if node.op != "placeholder"}
    lines, symbols = ["Graph signature:", "    # inputs"], set()
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node, given in zip(placeholders, inputs):
        path = weight_path(given.source)
        weight = isinstance(given.value, torch.Tensor) and is_weight(given.source, given.value)
        node.target = node.name = identifier(("p_" if weight else "") + path, taken)
        if weight:
            kind = "PARAMETER" if isinstance(given.value, torch.nn.Parameter) else "BUFFER"
            lines.append(f"    {node.name}: {kind} target='{weights.add(given.value, path)}'")
        else:
            lines.append(f"    {node.name}: USER_INPUT")
    # Tensors that Dynamo or tracing made constants of the graph.
    for node in list(graph.nodes):
        value = getattr(traced, node.target, None) if node.op == "get_attr" else None
        if isinstance(value, torch.Tensor):
            with graph.inserting_before(next(iter(graph.nodes))):
                constant = graph.placeholder(identifier("c_" + node.name, taken))
            constant.meta["val"] = value
            lines.insert(2, f"    {constant.name}: CONSTANT_TENSOR target='{weights.add(value, constant.name)}'")
            node.replace_all_uses_with(constant)
            graph.erase_node(node)
    (output,) = [node for node in graph.nodes if node.op == "output"]
    results = output.args[0] if isinstance(output.args[0], (tuple, list)) else (output.args[0],)
    output.args = (tuple(results),)
    lines.append("    # outputs")
    lines += [f"    {result}: USER_OUTPUT" for result in results]
    ranges = []
    for node in graph.nodes:
        for size in getattr(node.meta.get("val"), "shape", ()):
            if isinstance(size, torch.SymInt):
                symbols |= {(symbol, size.node.shape_env) for symbol in size.node.expr.free_symbols}
    for symbol, environment in sorted(symbols, key=lambda pair: str(pair[0])):
        bounds = environment.var_to_range.get(symbol)
        if bounds is not None:
            upper = str(bounds.upper)
            ranges.append(f"{symbol}: VR[{bounds.lower}, {upper if upper.isdigit() else 'int_oo'}]")
    lines.append(f"Range constraints: {{{', '.join(ranges)}}}")
    traced.recompile()
    text = traced.print_readable(print_output=False)
    return text.rstrip() + "\n\n" + "\n".join(lines) + "\n"


# ======================================================================================================================
# Running the target
# ======================================================================================================================


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


def users_frame(frame: Any) -> Any:
    """Who asked, if that is the user's code: between it and us are only Dynamo's wrappers."""
    while frame is not None and (frame.f_code.co_filename == HERE or "_dynamo" in frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None or is_torch(frame.f_code.co_filename) else frame


class Patches:
    """Listens to breaks and to tensors that are asked whether they are true, while it is entered."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def __enter__(self) -> None:
        import torch
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase
        from torch._subclasses import FakeTensor

        capture = self.capture
        self.log = log = InstructionTranslatorBase.log_graph_break
        self.own = vars(torch.Tensor).get("__bool__")  # mostly the base class's
        ask = torch.Tensor.__bool__

        def log_graph_break(self: Any, code_options: Any, reason: str = "", exc: Any = None, **rest: Any) -> Any:
            if not getattr(exc, "logged", False):
                capture.on_break(reason, exc)
            answer = log(self, code_options, reason=reason, exc=exc, **rest)
            if exc is not None:
                exc.logged = True
            return answer

        @torch._dynamo.disable
        def is_true(tensor: Any) -> bool:
            value = ask(tensor)
            frame = None if isinstance(tensor, FakeTensor) else users_frame(sys._getframe(1))
            return value if frame is None else capture.decide(value, frame)

        InstructionTranslatorBase.log_graph_break = log_graph_break
        torch.Tensor.__bool__ = is_true

    def __exit__(self, *_: Any) -> None:
        import torch
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase

        InstructionTranslatorBase.log_graph_break = self.log
        if self.own is None:
            del torch.Tensor.__bool__
        else:
            torch.Tensor.__bool__ = self.own


def state_of(target: Any) -> Any:
    import torch

    return copy.deepcopy(target.state_dict()) if isinstance(target, torch.nn.Module) else None


def copied(arguments: Any) -> Any:
    """For one run, which may write to them. A tensor with a history has no deep copy."""
    import torch
    from torch.utils._pytree import tree_map

    def copy_one(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            return value.detach().clone().requires_grad_(value.requires_grad)
        return copy.deepcopy(value)

    return tree_map(copy_one, arguments)


def run_paths(capture: Capture, compiled: Any, args: tuple, kwargs: dict, limit: int) -> None:
    """The run with the arguments as they are, then one for each way of a branch that no run has taken."""
    import torch

    state = state_of(capture.target)
    plans, planned = [[]], set()
    while plans and len(capture.paths) < limit:
        capture.plan, capture.decisions, capture.steps = plans.pop(0), [], []
        generator = torch.random.get_rng_state()
        ends = "returns"
        try:
            compiled(*copied(args), **copied(kwargs))
        except TooManyDecisions:
            ends = f"was stopped after {MAX_DECISIONS} branches"
        except Exception as error:
            if not capture.paths:
                raise
            ends = f"raises {one_line(error)}"
        torch.random.set_rng_state(generator)
        if state is not None:
            capture.target.load_state_dict(state)
        capture.paths.append({"steps": capture.steps, "ends": ends})
        planned |= {(decision.site, decision.value) for decision in capture.decisions}
        taken = [decision.value for decision in capture.decisions]
        for number, decision in enumerate(capture.decisions):
            way = (decision.site, not decision.value)
            if way not in planned:
                planned.add(way)
                plans.append([*taken[:number], not decision.value])


def capture_target(target: Any, args: tuple, kwargs: dict, *, dynamic: bool | None = None, paths: int = 16) -> Capture:
    import torch

    torch._dynamo.reset()
    capture = Capture(target)
    with Patches(capture):
        compiled = torch._dynamo.optimize(
            capture.on_graph, nopython=False, dynamic=dynamic, guard_export_fn=capture.on_guards
        )(target)
        run_paths(capture, compiled, args, kwargs, paths)
    torch._dynamo.reset()
    capture.merge_breaks()
    return capture


# ======================================================================================================================
# Files
# ======================================================================================================================


def write_atomically(path: str, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".ptc-capture-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


SAFETENSORS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "uint16": "U16", "uint32": "U32",
    "uint64": "U64",
}  # fmt: skip


def safetensors(tensors: dict[str, Any]) -> bytes:
    """torch alone is enough to write them."""
    import torch

    header, pieces, offset = {}, [], 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in SAFETENSORS:
            raise CaptureError(f"weight '{name}' is {dtype}, which safetensors does not have")
        content = bytes(tensor.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""
        ends = offset + len(content)
        header[name] = {"dtype": SAFETENSORS[dtype], "shape": list(tensor.shape), "data_offsets": [offset, ends]}
        pieces.append(content)
        offset = ends
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *pieces])


def json_lines(head: dict[str, Any]) -> list[str]:
    """An element of a list to a line, to be read and compared by people."""
    members = []
    for key, value in head.items():
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(element) for element in value) + "\n ]"
        else:
            text = json.dumps(value)
        members.append(f" {json.dumps(key)}: {text}")
    return ["{\n", ",\n".join(members), "\n}"]


def to_text(capture: Capture, name: str) -> str:
    import torch

    head = {
        "target": name,
        "torch": torch.__version__,
        "graphs": capture.graphs,
        "breaks": capture.breaks,
        "paths": capture.paths,
        "guards": capture.guards,
    }
    pieces = [f"ptc capture {FORMAT}\n", *json_lines(head), "\n"]
    for index, text in enumerate(capture.texts):
        pieces.append(f"=== graph {index}\n{text}")
    return "".join([*pieces, "=== end\n"])


# ======================================================================================================================
# The command
# ======================================================================================================================


def load_target(name: str) -> tuple[Any, dict[str, Any]]:
    path, _, attribute = name.rpartition(":")
    if not path or not attribute:
        raise CaptureError(f"'{name}' is no SCRIPT.py:NAME (as in script.py:model)")
    if not os.path.isfile(path):
        raise CaptureError(f"{path}: no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise CaptureError(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            import difflib

            near = difflib.get_close_matches(part, [name for name in dir(value) if not name.startswith("_")], 3)
            raise CaptureError(f"{path}: has no '{part}'" + (f" (did you mean {', '.join(near)}?)" if near else ""))
        value = getattr(value, part)
    if not callable(value):
        raise CaptureError(f"{name}: is a {type(value).__name__}, and neither a function nor a module")
    return value, vars(module)


def find_arguments(expression: str | None, names: dict[str, Any]) -> tuple[tuple, dict]:
    import torch

    if expression is not None:
        try:
            return eval(f"(lambda *args, **kwargs: (args, kwargs))({expression})", {"torch": torch, **names})
        except Exception as error:
            raise CaptureError(f"--args: {type(error).__name__}: {error}") from None
    given = names.get("example_inputs", ())
    given = given() if callable(given) else given
    if isinstance(given, dict):
        return (), given
    return (tuple(given) if isinstance(given, (tuple, list)) else (given,)), {}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="ptc capture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("target", metavar="SCRIPT.py:NAME", help="a function or module of a Python script")
    result.add_argument("-o", "--output", required=True, help="the file to write; weights go beside it")
    result.add_argument("--args", metavar="EXPR", help="arguments, as in a call; without it the script's example_inputs")
    result.add_argument("--dynamic", action="store_true", default=None, help="symbolic sizes from the first call on")
    result.add_argument("--paths", type=int, default=16, help="at most so many runs to see both ways of branches")
    result.add_argument("--fullgraph", action="store_true", help="a break is an error")
    return result


def describe_break(found: dict[str, Any]) -> str:
    where = found["source"] or "model"
    return f"{where}: {found['reason']}" + (f" (at `{found['code']}`)" if found["code"] else "")


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)  # Dynamo's words about breaks, which the file has
    warnings.filterwarnings("ignore", module=r"torch\.")
    try:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise CaptureError(f"{sys.executable} has no torch (install it, or name another Python in PTC_PYTHON)") from None
        if options.paths < 1:
            raise CaptureError("--paths: at least 1")
        target, names = load_target(options.target)
        args, kwargs = find_arguments(options.args, names)
        if getattr(target, "training", False):
            print("ptc: note: the module is in training mode; call .eval() in the script for inference", file=sys.stderr)
        try:
            capture = capture_target(target, args, kwargs, dynamic=options.dynamic, paths=options.paths)
        except Exception as error:
            stack = getattr(error, "real_stack", None) or traceback.extract_tb(error.__traceback__)
            frames = [frame for frame in stack if frame.filename != HERE and not is_torch(frame.filename)]
            where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
            message = " ".join(str(error).split())[:400]
            raise CaptureError(f"{where}{type(error).__name__}: {message}") from error
        if options.fullgraph and capture.breaks:
            raise CaptureError(describe_break(capture.breaks[0]) + f"; {len(capture.breaks)} breaks in all")
        if not capture.graphs and not capture.breaks:
            raise CaptureError(f"{options.target}: Dynamo found no graph (the code does nothing with tensors)")
        if capture.weights.tensors:
            path = os.path.splitext(options.output)[0] + ".safetensors"
            write_atomically(path, safetensors(capture.weights.tensors))
        write_atomically(options.output, to_text(capture, options.target).encode())
    except (CaptureError, OSError) as error:
        if os.environ.get("PTC_TRACEBACK") and error.__cause__:
            traceback.print_exception(error.__cause__)
        print(f"ptc: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    counts = ", ".join(f"{len(items)} {name}{'s' * (len(items) != 1)}" for items, name in
                       ((capture.graphs, "graph"), (capture.breaks, "break"), (capture.paths, "run")))
    print(f"{options.output}: {counts} (ptc explain {options.output} says more)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A graph of Dynamo's in the form that ptc reads."""

from __future__ import annotations

import copy
import itertools
import re
from dataclasses import dataclass
from typing import Any


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
        return next(
            name for name in itertools.chain([wish], (f"{wish}.{i}" for i in itertools.count(1))) if name not in taken
        )


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
    for node in gm.graph.find_nodes(op="call_function", target=torch._C._set_grad_enabled):
        gm.graph.erase_node(node)
    gm.recompile()
    return gm


def is_autocast(gm: Any) -> bool:
    import torch

    enter = torch.amp.autocast_mode._enter_autocast
    return torch.is_autocast_enabled("cpu") or bool(gm.graph.find_nodes(op="call_function", target=enter))


def to_aten(gm: Any, values: list[Any]) -> Any:
    """The same graph in ATen's operators, symbols and the user's lines kept."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta

    gm = without_grad_mode(gm)
    mode = torch._guards.detect_fake_mode(values) or torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    # Autocast inserts its casts below the level that knows operators as the user called them.
    pre_dispatch = not is_autocast(gm)

    def run(*arguments: Any) -> Any:
        with preserve_node_meta():
            return torch.fx.Interpreter(gm).run(*arguments)

    old = mode.allow_non_fake_inputs
    mode.allow_non_fake_inputs = True
    try:
        # The outer autocast changes nothing; its end undoes what a graph that raises has entered.
        with torch.no_grad(), mode, torch.autocast("cpu", enabled=torch.is_autocast_enabled("cpu")):
            return make_fx(run, tracing_mode="real", pre_dispatch=pre_dispatch, _allow_non_fake_inputs=True)(*values)
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

"""Results that are views: of arguments, of one another. A library cannot make these; torch does, after the call.

AOTAutograd leaves to its compiler that outputs which share memory do so. `Views` takes from a graph the last view
operators before its outputs and runs them on what the library computed and on the arguments themselves.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node


def is_view(node: Any) -> bool:
    if not isinstance(node, Node) or node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return is_view(node.args[0])
    returns = getattr(getattr(node.target, "_schema", None), "returns", ())
    is_alias = any(value.alias_info is not None and not value.alias_info.is_write for value in returns)
    return is_alias and bool(node.args) and isinstance(node.args[0], Node)


def root(node: Node) -> Node:
    """The node whose memory a node's value lies in."""
    while is_view(node):
        node = node.args[0]
    return node


def _updated(graph: Graph) -> dict[Node, Node]:
    """The values that arguments have after the call, with the arguments."""
    found = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten.copy_.default:
            target, value = node.args[:2]
            if target.op == "placeholder" and target.meta["val"].dtype == value.meta["val"].dtype:
                found[value] = target
    return found


class Views:
    """Which outputs of `gm` are views, of which values; `make` computes them."""

    def __init__(self, gm: GraphModule, outputs: list[Any]) -> None:
        self._updated = _updated(gm.graph)
        nodes = [node for node in outputs if isinstance(node, Node)]
        sharing = collections.Counter(root(node) for node in dict.fromkeys(nodes))
        self.views: list[Node] = []
        self.bases: list[Node] = []  # what must be there first: placeholders and computed values
        for node in dict.fromkeys(nodes):
            owner = root(node)
            base = self._updated.get(owner, owner)
            is_shared = base.op == "placeholder" or sharing[owner] > 1
            if node is base or not is_view(node) or not is_shared:
                continue
            needed = self._needs(node)
            if needed is not None:
                self.views.append(node)
                self.bases += [base for base in needed if base not in self.bases]

    def _needs(self, node: Node) -> list[Node] | None:
        """The values that a view is made of; None when its sizes depend on others that only the library has."""
        owner, found, todo = root(node), [], [node]
        while todo:
            now = todo.pop()
            base = self._updated.get(now, now)
            if now is owner or base.op == "placeholder":
                found.append(base)
            elif is_view(now) or not isinstance(now.meta.get("val"), torch.Tensor):
                if now.op != "call_function" or now.target is torch.ops.aten._local_scalar_dense.default:
                    return None
                todo += now.all_input_nodes
            else:
                return None
        return found

    def make(self) -> Callable[..., tuple[torch.Tensor, ...]]:
        """A function of the bases' values."""
        graph, made = Graph(), {}
        for index, base in enumerate(self.bases):
            made[base] = graph.placeholder(f"base{index}")

        def copy(node: Node) -> Node:
            base = self._updated.get(node, node)
            if base not in made:
                for argument in node.all_input_nodes:
                    copy(argument)
                made[base] = graph.node_copy(node, lambda n: made[self._updated.get(n, n)])
            return made[base]

        graph.output(tuple(copy(node) for node in self.views))
        return GraphModule(torch.nn.Module(), graph).forward

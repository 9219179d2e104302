"""From AOTAutograd's graph to what ptc is given: its text, its constants, and how a call's results come about."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils._sympy.numbers import int_oo

from ._views import Views, is_view, root

# Operators whose meaning depends on where elements lie in memory: ptc knows values only.
_BY_MEMORY = {"as_strided_", "as_strided_copy", "as_strided_scatter"}
# Operators that bring what they are given to another device, or to the graph.
_TRANSFERS = {"_to_copy", "copy", "copy_", "device_put", "lift_fresh_copy"}
# Operators whose results have a size that the data say; a tracer may have been told that it is a certain number.
_BY_DATA = {"nonzero", "masked_select"}


class Refused(RuntimeError):
    """A graph that this backend does not give to ptc."""


@dataclass
class Output:
    """One value that the graph returns: `kind` says where it comes from, `index` where there."""

    kind: str  # "result" of the library, "argument" of the call, "view", "constant"
    index: int = -1
    constant: Any = None
    is_number: bool = False
    fake: torch.Tensor | None = None


@dataclass
class Expected:
    """A number in the data that the tracer knew, because the program says what it must be."""

    tensor: Output
    number: int | float | bool
    where: str


@dataclass
class Graph:
    text: str
    device: torch.device  # the CPU or a GPU
    constants: dict[str, torch.Tensor]
    inputs: list[int]  # which arguments of a call the library takes
    fakes: list[Any]  # their types
    outputs: list[Output]
    results: list[Output] = field(default_factory=list)  # the outputs that the library computes
    bases: list[Output] = field(default_factory=list)  # what the views are of
    make_views: Callable[..., tuple[torch.Tensor, ...]] | None = None
    written: list[int] = field(default_factory=list)  # which arguments of a call the library updates
    expected: list[Expected] = field(default_factory=list)

    @property
    def is_computed(self) -> bool:
        return bool(self.results) or bool(self.written)


def prepare(gm: GraphModule, frozen: dict[int, torch.Tensor], argument_count: int, fake_mode: Any) -> Graph:
    """Refuses what ptc has no notion of; makes `frozen` arguments constants."""
    # The graph is AOTAutograd's to keep; tensors are shared.
    gm = GraphModule(gm, copy.deepcopy(gm.graph))
    placeholders = gm.graph.find_nodes(op="placeholder")
    for node in placeholders:
        _check_input(node)
    device = _find_device(gm, placeholders)
    known = _take_known_numbers(gm)
    for node in _calls(gm):
        _check_call(node)
    _check_bounds(gm, fake_mode)
    _use_aten(gm)
    _use_known_numbers(placeholders)
    if frozen and len(placeholders) != argument_count:
        raise Refused("parameters that share memory and are updated cannot be constants (leave options freezing out)")

    views = Views(gm, gm.graph.output_node().args[0])
    make_views = views.make() if views.views else None
    outputs, bases, expected, results = _outputs(gm, placeholders, views, known)
    _read_by_strides(gm)
    _factorize_as_it_lies(gm)
    constants = _constants(gm, placeholders, frozen)
    inputs, fakes = [], []
    for index, node in enumerate(placeholders):
        if index in frozen and node.name in constants:
            continue
        if not node.users and not _symbols([node.meta["val"]]):
            gm.graph.erase_node(node)
            continue
        inputs.append(index)
        fakes.append(node.meta["val"])
    gm.recompile()
    updated = {node.args[0] for node in _calls(gm) if _writes(node)}
    written = [index for index, node in enumerate(placeholders) if node in updated]
    text = _text(gm, constants, fake_mode)
    return Graph(text, device, constants, inputs, fakes, outputs, results, bases, make_views, written, expected)


def _calls(gm: GraphModule) -> list[Node]:
    return [node for node in gm.graph.nodes if node.op == "call_function"]


def _where(node: Node) -> str:
    """The user's line, as ptc's own messages have it."""
    for line in reversed((node.meta.get("stack_trace") or "").strip().splitlines()):
        if line.strip().startswith("File "):
            parts = line.strip().split(", ")
            return f"{parts[0].removeprefix('File ').strip(chr(34))}:{parts[1].removeprefix('line ')}, node {node.name}"
    return f"node {node.name}"


def _check_input(node: Node) -> None:
    value = node.meta["val"]
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            raise Refused(f"input {node.name} has the layout {value.layout} (ptc takes torch.strided)")
    elif not isinstance(value, (torch.SymInt, int)):
        raise Refused(f"input {node.name} is a {type(value).__name__}, not a tensor or an integer")


def _find_device(gm: GraphModule, placeholders: list[Node]) -> torch.device:
    """Where the graph computes: on one GPU where any of its tensors is on one. The host may give it tensors and take
    results, but not compute between: whoever keeps a large tensor there does not mean it to travel with every call."""
    found: dict[torch.device, str] = {}
    for node in (*placeholders, *_calls(gm)):
        what = f"input {node.name} is" if node.op == "placeholder" else f"{_where(node)}: {node.target} computes"
        for value in _tensors(node.meta.get("val")):
            if value.device.type not in ("cpu", "cuda", "meta"):
                raise Refused(f"{what} on device {value.device} (ptc's backend: cpu and cuda)")
            if value.device.type == "cuda":
                found.setdefault(value.device, what)
    if not found:
        return torch.device("cpu")
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise Refused(f"{second} on device {other}, but {first} on {one} (ptc's backend: one GPU for a graph)")
    (device,) = found
    for node in _calls(gm):
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        given = _tensors([argument.meta.get("val") for argument in node.all_input_nodes])
        if any(value.device.type == "cpu" and value.dim() > 0 for value in given) and not (
            name in _TRANSFERS or is_view(node)
        ):
            raise Refused(f"{_where(node)}: {node.target} computes on the CPU, but {found[device]} on {device}")
    return device


def _check_call(node: Node) -> None:
    name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if name in _BY_DATA and not _symbols(torch.utils._pytree.tree_leaves(node.meta.get("val"))):
        raise Refused(
            f"{_where(node)}: the graph takes what {node.target} finds in the data as known, and ptc would not check it"
        )
    if name in _BY_MEMORY:
        base = node.args[0].meta["val"]
        # Elements outside of a view can be reached as well: ptc has only those inside.
        if not base.is_contiguous() or base.storage_offset() != 0:
            raise Refused(f"{_where(node)}: {node.target} of a tensor that is not contiguous")


def _check_bounds(gm: GraphModule, fake_mode: Any) -> None:
    """ptc plans memory before a call by what sizes can be at most: a number that is read from data says nothing."""
    free = {}
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.aten._local_scalar_dense.default):
        for symbol in _symbols([node.meta["val"]]):
            if fake_mode.shape_env.bound_sympy(symbol).upper > 2**40:
                free[symbol] = node
    for node in _calls(gm):
        for symbol in _symbols(_tensors(node.meta.get("val"))).intersection(free):
            raise Refused(
                f"{_where(node)}: a size of its result is read from data, at node {free[symbol].name}, "
                "and has no bound (give one: torch._check(n <= ...))"
            )


def _take_known_numbers(gm: GraphModule) -> list[tuple[Node, int | float | bool, str]]:
    """Numbers read from data that are known, out of the graph: the tensors they are read from, and what is there."""
    found = []
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.aten._local_scalar_dense.default):
        value = node.meta["val"]
        if not _symbols([value]):
            number = value if isinstance(value, (int, float)) else value.node.expr
            number = number if isinstance(number, (bool, float)) else int(number)
            found.append((node.args[0], number, _where(node)))
            _replace(node, number)
            gm.graph.erase_node(node)
    return found


def _read_by_strides(gm: GraphModule) -> None:
    """`as_strided` counts in the memory that its argument lies in. ptc has values: the owner of that memory with its
    dimensions in the order of memory, where it has no gaps."""
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.aten.as_strided.default):
        view, (base, size, stride, *offset) = node.args[0].meta["val"], node.args
        if view.is_contiguous() and view.storage_offset() == 0:
            continue
        base = root(base)
        owner = base.meta["val"]
        steps = owner.stride()
        is_known = not _symbols([owner, view])
        order = sorted(range(owner.dim()), key=lambda axis: -steps[axis]) if is_known else range(owner.dim())
        dense = owner.permute(order)
        if not dense.is_contiguous() or owner.storage_offset() != 0 or owner.dtype != view.dtype:
            raise Refused(f"{_where(node)}: {node.target} of a tensor that is not contiguous")
        with gm.graph.inserting_before(node):
            base = gm.graph.call_function(torch.ops.aten.permute.default, (base, list(order)))
        base.meta = dict(node.meta, val=dense)
        node.target = torch.ops.aten.as_strided_copy.default
        node.args = (base, size, stride, *(offset if offset and offset[0] is not None else [view.storage_offset()]))


def _factorize_as_it_lies(gm: GraphModule) -> None:
    """Determinants leave the factors of the transposed matrix where a real one lies in rows, and their derivatives
    count on it. How an argument of the graph lies is not in its text."""
    for target in (torch.ops.aten._linalg_det.default, torch.ops.aten._linalg_slogdet.default):
        for node in gm.graph.find_nodes(op="call_function", target=target):
            matrix = node.args[0]
            value = matrix.meta["val"]
            if value.is_complex():
                continue
            turn = (torch.ops.aten.contiguous.default, (matrix,))
            if not value.is_contiguous():
                turn = (torch.ops.aten.transpose_copy.int, (matrix, -2, -1))
            with gm.graph.inserting_before(node):
                turned = gm.graph.call_function(*turn)
            turned.meta = dict(node.meta, val=value)
            node.args = (turned,)


def _replace(node: Node, number: int | float | bool) -> None:
    for user in list(node.users):
        swap = {node: number}
        user.args = torch.fx.map_arg(user.args, lambda n, swap=swap: swap.get(n, n))
        user.kwargs = torch.fx.map_arg(user.kwargs, lambda n, swap=swap: swap.get(n, n))


def _use_known_numbers(placeholders: list[Node]) -> None:
    """Numbers that were symbols until a guard said what they are."""
    for node in placeholders:
        value = node.meta["val"]
        if isinstance(value, torch.SymInt) and value.node.expr.is_number:
            _replace(node, int(value))


def _use_aten(gm: GraphModule) -> None:
    """PyTorch itself writes a few operators of torch.ops.prims; ptc knows ATen's of the same meaning."""
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.prims.convert_element_type.default):
        node.target = torch.ops.aten._to_copy.default
        node.args, node.kwargs = node.args[:1], {"dtype": node.args[1]}
    for node in gm.graph.find_nodes(op="call_function", target=torch.ops.prims.iota.default):
        (length,), start, step = node.args, node.kwargs["start"], node.kwargs["step"]
        if isinstance(length, int) and isinstance(start, int) and isinstance(step, int):
            node.target = torch.ops.aten.arange.start_step
            node.args, node.kwargs = (start, start + length * step, step), {"dtype": node.kwargs["dtype"]}


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _symbols(values: Iterable[Any]) -> set[Any]:
    found = set()
    for value in values:
        if isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)):
            found |= free_symbols(value)
    return found


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _outputs(
    gm: GraphModule, placeholders: list[Node], views: Views, known: list[tuple[Node, int | float | bool, str]]
) -> tuple[list[Output], list[Output], list[Expected], list[Output]]:
    """Leaves the graph only what must be computed, each value once: outputs, bases of views, what known numbers are
    read from, and these values."""
    end = gm.graph.output_node()
    places = {node: index for index, node in enumerate(placeholders)}
    computed: dict[Node, Output] = {}

    def source(value: Any) -> Output:
        if not isinstance(value, Node):
            return Output("constant", constant=value)
        if value in places:
            return Output("argument", places[value])
        if value in views.views:
            return Output("view", views.views.index(value))
        if value not in computed:
            fake = value.meta["val"]
            is_tensor = isinstance(fake, torch.Tensor)
            computed[value] = Output("result", len(computed), is_number=not is_tensor, fake=fake if is_tensor else None)
        return computed[value]

    outputs, bases = [source(value) for value in end.args[0]], [source(base) for base in views.bases]
    expected = [Expected(source(tensor), number, where) for tensor, number, where in known]
    with gm.graph.inserting_before(end):
        gm.graph.output(tuple(computed))
    gm.graph.erase_node(end)
    gm.graph.eliminate_dead_code()
    return outputs, bases, expected, list(computed.values())


def _constants(gm: GraphModule, placeholders: list[Node], frozen: dict[int, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors by the name of the argument that stands for them: what the graph holds itself, and what is frozen."""
    first = next(iter(gm.graph.nodes))
    constants, made = {}, {}
    for node in gm.graph.find_nodes(op="get_attr"):
        value = gm
        for part in node.target.split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            continue  # the graph of a branch or a loop
        if node.target not in made:
            with gm.graph.inserting_before(first):
                made[node.target] = gm.graph.placeholder(node.name + "_constant")
            made[node.target].meta = dict(node.meta, val=node.meta.get("val", value))
            constants[made[node.target].name] = value
        node.replace_all_uses_with(made[node.target])
        gm.graph.erase_node(node)
    for index, value in frozen.items():
        node = placeholders[index]
        is_written = any(_writes(user) and user.args[0] is node for user in node.users)
        if not is_written and not _symbols([node.meta["val"]]):
            constants[node.name] = value
    return constants


def _text(gm: GraphModule, constants: dict[str, torch.Tensor], fake_mode: Any) -> str:
    """As str(ExportedProgram) has it: the graph, its signature, the ranges of its symbols."""
    lines = ["ExportedProgram:", textwrap.indent(gm.print_readable(print_output=False).rstrip(), "    ")]
    lines += ["", "Graph signature:", "    # inputs"]
    for node in gm.graph.find_nodes(op="placeholder"):
        is_constant = node.name in constants
        lines.append(f"    {node.name}: " + (f"PARAMETER target='{node.name}'" if is_constant else "USER_INPUT"))
    lines += ["", "    # outputs"]
    end = gm.graph.output_node()
    lines += [f"    {node.name}: USER_OUTPUT" for node in end.args[0]]
    ranges = []
    if fake_mode is not None and fake_mode.shape_env is not None:
        values = [leaf for node in gm.graph.nodes for leaf in torch.utils._pytree.tree_leaves(node.meta.get("val"))]
        for symbol in sorted(_symbols(values), key=str):
            bounds = fake_mode.shape_env.bound_sympy(symbol)
            high = "int_oo" if bounds.upper >= 2**62 else bounds.upper
            low = "-int_oo" if bounds.lower <= -(2**62) or bounds.lower == -int_oo else bounds.lower
            ranges.append(f"{symbol}: VR[{low}, {high}]")
    lines += ["", f"Range constraints: {{{', '.join(ranges)}}}", ""]
    return "\n".join(lines)

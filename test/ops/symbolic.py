"""The rows of the operator tests once more, with every size open that torch.export can leave open.

python test/ops/symbolic.py --ptc PATH [--jobs N] [PATTERN ...]

A row is exported with all sizes of at least two automatic, compiled once, and compared on its own sizes and on larger
ones. Other sizes take elements of the row's own inputs, so that indices stay in range; where eager PyTorch or the
exported program's guards refuse them, the row's own sizes are all there is.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.export import Dim

sys.path.insert(0, str(Path(__file__).parent))

import rows_linalg  # noqa: E402
from harness import Row, Together, call, compare  # noqa: E402
from runner import ROWS, run_all  # noqa: E402

# Of an operand with more elements the sums are so long that eager mode's own error shows.
LARGEST = 4096
# Elements of a well-conditioned matrix do not make another one.
FIXED = {id(row) for row in rows_linalg.ROWS}


def export(program: Together, example: Sequence[torch.Tensor]) -> torch.export.ExportedProgram:
    sizes = tuple({i: Dim.AUTO for i, n in enumerate(t.shape) if n > 1} for t in example)
    return torch.export.export(program, tuple(example), dynamic_shapes=(sizes,))


def larger(exported: torch.export.ExportedProgram, tensors: Sequence[torch.Tensor], by: int) -> list[torch.Tensor]:
    """TENSORS with every symbolic size of EXPORTED increased by BY, as far as its range allows."""
    names = [spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    values = {node.name: node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder"}
    ranges = exported.range_constraints
    sizes = {}
    for name, tensor in zip(names, tensors, strict=True):
        for size, now in zip(values[name].shape, tensor.shape, strict=True):
            if isinstance(size, torch.SymInt) and size.node.expr.is_symbol:
                upper = ranges[size.node.expr].upper if size.node.expr in ranges else now + by
                sizes[size.node.expr] = int(min(now + by, upper))
    return [
        resized(t, [int(s.node.expr.subs(sizes)) if isinstance(s, torch.SymInt) else s for s in values[name].shape])
        for name, t in zip(names, tensors, strict=True)
    ]


def resized(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    if list(tensor.shape) == list(shape):
        return tensor
    if not tensor.numel():
        return tensor.new_zeros(tuple(shape))
    random = torch.Generator().manual_seed(len(shape))
    values = tensor.flatten()[torch.randint(tensor.numel(), tuple(shape), generator=random)]
    # No two alike: the order of equal elements is open in sort and topk.
    noise = 1 + torch.rand(tuple(shape), generator=random) / 16
    return (values * noise).to(tensor.dtype) if tensor.is_floating_point() else values


def accepts(exported: torch.export.ExportedProgram, program: Together, tensors: Sequence[torch.Tensor]) -> bool:
    try:
        program(*tensors)
        exported.module()(*tensors)
    except Exception:  # whatever either raises, these sizes are not the program's
        return False
    return True


def run(ptc: str, row: Row, options: Sequence[str], counts: Counter[str]) -> str | None:
    random = torch.Generator().manual_seed(sum(map(ord, row.name)))
    program = Together([row])
    example, fresh = ([make(random) for make in row.inputs] for _ in range(2))
    try:
        exported = export(program, example)
    except Exception:  # not for every operator; the row has a static test
        counts["not exportable"] += 1
        return None
    if not any(isinstance(n.meta.get("val"), torch.Tensor) and any(isinstance(s, torch.SymInt) for s in n.meta["val"].shape)
               for n in exported.graph.nodes if n.op == "placeholder"):  # fmt: skip
        counts["without a size that can be open"] += 1
        return None
    with tempfile.TemporaryDirectory() as folder:
        model, library = Path(folder, "model.pt2"), Path(folder, "model.so")
        torch.export.save(exported, model)
        if (why := call([ptc, "compile", str(model), "-o", str(library), *options])) is not None:
            return why
        if (why := compare(ptc, library, program, fresh, [row])) is not None:
            return why
        for by in () if id(row) in FIXED else (1, 16):
            while (tensors := larger(exported, fresh, by)) and max(t.numel() for t in tensors) > LARGEST and by > 1:
                by //= 2
            if not accepts(exported, program, tensors):
                continue
            counts["calls of other sizes"] += 1
            if (why := compare(ptc, library, program, tensors, [row])) is not None:
                return f"sizes {[list(t.shape) for t in tensors]}: {why}"
    return None


def run_rows(ptc: str, rows: Sequence[Row], options: Sequence[str]) -> tuple[dict[str, str], Counter[str]]:
    counts: Counter[str] = Counter()
    return {row.name: why for row in rows if (why := run(ptc, row, options, counts)) is not None}, counts


if __name__ == "__main__":
    sys.exit(run_all(__doc__, [row for row in ROWS if row.dynamic is None and not row.of_these_sizes], run_rows))

"""Networks with operators that ptc leaves to its caller, against PyTorch.

fallback.py PTC LOADER_FILE [NAME...]
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import warnings
from pathlib import Path

import torch
from harness import Case, Failed, compare, save
from nets import Function
from torch import Tensor, nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402

# A library's operators, with what torch.export must know of their results.
library = torch.library.Library("fallback_test", "DEF")


def define(schema: str, fake):
    def decorate(function):
        name = schema.split("(")[0]
        library.define(schema)
        library.impl(name, function, "CPU")
        torch.library.register_fake(f"fallback_test::{name}", fake, lib=library)
        return getattr(torch.ops.fallback_test, name)

    return decorate


@define(
    "scale(Tensor x, Tensor? w, float factor, SymInt[] sizes, *, str mode='plain', bool flag=True, ScalarType? dtype=None, "
    "Device? device=None, complex? z=None, float limit=1.0) -> Tensor",
    lambda x, w, factor, sizes, mode="plain", flag=True, dtype=None, device=None, z=None, limit=1.0: torch.empty_like(
        x, dtype=dtype
    ),
)
def scale(x, w, factor, sizes, mode="plain", flag=True, dtype=None, device=None, z=None, limit=1.0):
    assert all(type(size) is int for size in sizes) and device in (None, torch.device("cpu")) and type(factor) is float
    y = x * factor + sum(sizes) + (z.imag if z is not None else 0)
    y = y + w if w is not None else y
    return (y.clamp(max=limit) if mode == "clamped" else y if flag else -y).to(dtype or x.dtype)


@define("parts(Tensor?[] xs, int dim) -> Tensor[]",
        lambda xs, dim: [torch.empty_like(x) for x in xs if x is not None] + [xs[0].new_empty(2, dtype=torch.int64)])  # fmt: skip
def parts(xs, dim):
    return [x.cumsum(dim) for x in xs if x is not None] + [torch.tensor([len(xs), dim])]


@define("extent(Tensor x) -> (Tensor, Tensor, Tensor)", lambda x: (torch.empty_like(x), x.new_empty(()), x.new_empty(())))
def extent(x):
    return x - x.min(), x.min(), x.max()


@define("conjugate(Tensor z) -> Tensor", lambda z: torch.empty_like(z))
def conjugate(z):
    assert z.is_complex() and z.is_contiguous()
    return z.conj().resolve_conj() * 2


@define("bump_(Tensor(a!) x, float by) -> ()", lambda x, by: None)
def bump_(x, by):
    x.add_(by)


@define("pop_(Tensor(a!) x, Tensor y, Tensor(b!)? z=None) -> Tensor", lambda x, y, z=None: torch.empty_like(y))
def pop_(x, y, z=None):
    result = x.sum() + y
    x.zero_()
    if z is not None:
        z.neg_()
    return result


class Surrounded(nn.Module):
    """Fused code before and after; a weight as an argument; sizes among the arguments."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.first(x).relu() * 2
        z = scale(y, self.first.bias, 0.5, [x.shape[0], 3, x.shape[0] * 2 + 1], mode="clamped", limit=float("inf"))
        half = scale(y, None, 1.0, [], flag=False, dtype=torch.float16, device=x.device)
        return self.second(z.tanh() + y).softmax(-1), half.float() + 1, z


class Counting(nn.Module):
    """A buffer that calls update, by way of an operator."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total += scale(x, None, 3.0, [1])
        return self.total * 2


def bumped(x, y):
    u, v = x.sin(), y.cos()
    bump_(u, 1.5)
    result = pop_(u, y, v)
    return result * 2, u + 1, pop_(v, y).exp(), v


def in_branches(x):
    def twice(x):
        a, _ = parts([x + 1], 0)
        return scale(a, None, 2.0, [x.shape[1]])

    return torch.cond(x.sum() > 0, twice, lambda x: conjugate(torch.complex(x, x)).real.clone(), (x,)) + 1


def in_loops(x, n):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, scale(x, None, 0.5, [1]).tanh()), (n * 0, x + 0))


def chosen(x):
    y, z, counts = parts([x[x > 0].exp(), None, x], 0)
    return y * 2, z, counts + 1


def of_pytorch(x, y):
    """A part of a derivative, which exports do not take apart."""
    distances = torch.cdist(x, y)
    return torch.ops.aten._cdist_backward(distances, x, y, 2.0, distances).softmax(-1)


def cases():
    torch.manual_seed(1)
    r, rows = torch.randn, Dim("rows", min=2, max=512)
    yield Case("surrounded", Surrounded(), (r(3, 8),))
    yield Case("surrounded_dynamic", Surrounded(), (r(3, 8),), ({0: rows},), [(r(2, 8),), (r(300, 8),)])
    yield Case("nothing_else", Function(lambda x: scale(x, None, 2.0, [])), (r(5),))
    yield Case("one_after_the_other", Function(lambda x: (conjugate(conjugate(x)), x)), (r(3, 4, dtype=torch.complex64),))
    yield Case("complex", Function(lambda x: conjugate(torch.fft.rfft(x)).abs() + 1), (r(6, 8),))
    yield Case("state", Counting(), (r(4),))
    yield Case("twice_the_same_result", Function(lambda x: (lambda y: (y, y, y + 1))(scale(x, x, 1.0, [])[None])), (r(4),))
    yield Case("lists", Function(lambda x, y: parts([x.exp(), None, y], 0)), (r(3, 2), r(4)))
    yield Case("second_of_three_results", Function(lambda x: extent(x)[1].exp()), (r(3, 2),))
    yield Case("of_no_elements", Function(lambda x: scale(x[:0], None, 2.0, [7]) + 1), (r(4, 2),))
    yield Case("types", Function(lambda x, b: (scale(x * 2, None, 0.5, [1]) - x, parts([b.long(), None], 0)[1])),
               (r(4).bfloat16(), r(4) > 0))
    yield Case("in_branches", Function(in_branches), (r(3, 4).abs(),), others=[(-r(3, 4).abs(),)])
    yield Case("in_loops", Function(in_loops), (r(3, 4), torch.tensor(3)), others=[(r(3, 4), torch.tensor(0))])
    yield Case("sizes_by_data", Function(chosen), (r(9),), [({0: rows},)], [(r(100),), (-r(6).abs(),)])
    yield Case("of_pytorch", Function(of_pytorch), (r(20, 16), r(8, 16)))
    yield Case("writing", Function(bumped), (r(4), r(4)))


def run(case: Case, exported: torch.export.ExportedProgram, model: Path) -> None:
    library = ptc.compile(model, model.with_suffix(".so"), fallback=True)
    for args in [case.args, *case.others]:
        loaded = ptc.load(library)
        if not loaded.register_torch_operators():
            raise Failed("everything was compiled")
        with torch.no_grad():
            expected = tree_leaves(copy.deepcopy(case.module)(*copy.deepcopy(args)))
        got = [torch.from_dlpack(result) for result in loaded(*tree_leaves(copy.deepcopy(args)))]
        if len(got) != len(expected):
            raise Failed(f"{model.suffix}: {len(got)} outputs instead of {len(expected)}")
        for index, value in enumerate(expected):
            compare(index, got[index], torch.as_tensor(value), case.tolerance)


def check(case: Case, form: str, exported: torch.export.ExportedProgram) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for model in save(exported, Path(folder)):
            is_refused = case.name == "writing" and form == "training"
            try:
                run(case, exported, model)
            except (ptc.CompileError, LookupError) as error:
                if not is_refused or "run_decompositions()" not in str(error):
                    raise Failed(f"{model.suffix}: {error}") from None
            except ptc.Error as error:
                raise Failed(f"{model.suffix}: {error}") from None
            else:
                if is_refused:
                    raise Failed(f"{model.suffix}: writes that the graph does not tell of were not refused")


def main() -> None:
    warnings.simplefilter("ignore")
    chosen_names, passed, failed = sys.argv[3:], 0, 0
    for case in cases():
        if chosen_names and case.name not in chosen_names:
            continue
        for form, exported in case.exports():
            try:
                check(case, form, exported)
                passed += 1
            except Failed as error:
                failed += 1
                print(f"FAIL {case.name} ({form}): {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()

"""What eager mode may answer: its own results, and what runs with other roundings span.

A result is right when it is eager mode's up to a few units in the last place. Else eager mode runs again in its own types and
in float64, each time with the values that rounding reaches changed by about a rounding, and once with exact functions in place
of those that its vector code has with larger errors; what these runs span, and three times that around them, is right as well.
Where runs differ in kind (NaN, an infinity, a finite number, an integer), rounding decides and anything is.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence

import mpmath
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from program import Program, Tensors, run

UNITS = 16  # in the last place; of types of 16 bits 2
RUNS = (2, 5, 8, 16, 48, 120, 340)  # after which results are looked at: the first few explain nearly everything
FEW = 16


BEYOND = {torch.float32: 1e17, torch.bfloat16: 1e17, torch.float64: 1e150, torch.float16: 1e4}


class Products(TorchFunctionMode):
    """Notes in `found` whether factors could pass the limits of their type on the way to their product."""

    def __init__(self, found: list[bool]) -> None:
        super().__init__()
        self.found = found

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__ in ("prod", "cumprod") and args[0].is_floating_point():
            info, factors = torch.finfo(args[0].dtype), args[0].double().abs()
            powers = torch.where(factors.isfinite() & (factors != 0), factors.log2(), 0)
            large, small = (powers.clamp(*limits).sum(*args[1:2]) for limits in ((0, None), (None, 0)))
            self.found.append(bool(((large > math.log2(info.max)) | (small < math.log2(info.smallest_normal))).any()))
        return function(*args, **(kwargs or {}))


def sums_beyond(program: Program, inputs: Tensors) -> bool:
    """Whether something is summed whose squares the type does not hold, or multiplied beyond it: the order of the terms decides
    what comes of it."""
    found = []

    def look(value: torch.Tensor, least: float) -> torch.Tensor:
        if value.is_floating_point():
            size = value[value.isfinite() & (value != 0)].abs()
            found.append(bool(((size > BEYOND[value.dtype]) | (size < least)).any()))
        return value

    module = program.module(observed=True)
    module.see = lambda value, *_: value
    module.near = lambda value: look(value, 0)
    module.wide = lambda value: look(value, 1 / BEYOND[value.dtype] if value.is_floating_point() else 0)
    with torch.no_grad(), Products(found):
        module(**inputs)
    return any(found)


def log_gamma(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.inf
    with mpmath.workdps(40):  # near a root most digits cancel
        return float(mpmath.loggamma(x).real)


def log2_of_sum(x: float, y: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ArithmeticError
    with mpmath.workdps(40):
        return float(max(x, y) + mpmath.log1p(mpmath.mpf(2) ** -abs(mpmath.mpf(x) - y)) / mpmath.log(2))


# Near its roots PyTorch's lgamma loses digits, large quotients leave its fmod nothing, or NaN, and log2(0.5 + 0.5) is not zero.
EXACT: dict[str, Callable[..., float]] = {
    "logaddexp2": log2_of_sum, "cosh": math.cosh, "sinh": math.sinh,  # eager mode is infinite from 710 on
    "lgamma": log_gamma, "fmod": math.fmod, "remainder": operator.mod, "__rmod__": lambda x, y: y % x,
    "floor_divide": operator.floordiv, "__floordiv__": operator.floordiv, "__rfloordiv__": lambda x, y: y // x,
}  # fmt: skip


# What stays as it is when all elements that it averages are moved by one number: the dimensions of an average.
CENTRED: dict[str, Callable[..., Sequence[int]]] = {
    "instance_norm": lambda x: range(2, x.dim()), "layer_norm": lambda x, shape, *_: range(-len(shape), 0),
    "var": lambda _, d: [d], "std": lambda _, d: [d], "cov": lambda _: [-1],
}  # fmt: skip


def centred(x: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    """`x` without its mean over `dims`, correctly rounded: a mean that is one rounding off is all that is left of equal numbers."""
    if not x.numel():
        return x
    rows = x.double().movedim(list(dims), list(range(-len(dims), 0)))
    flat = rows.reshape(-1, math.prod(rows.shape[-len(dims) :]))
    away = flat - flat[:, :1]
    for row in away:
        with contextlib.suppress(OverflowError, ValueError):  # the mean is no number
            row -= math.fsum(row.tolist()) / len(row)
    finite = away.isfinite().all(-1, keepdim=True)
    return torch.where(finite, away, flat).reshape(rows.shape).movedim(list(range(-len(dims), 0)), list(dims)).to(x.dtype)


class Exactly(TorchFunctionMode):
    """Functions of EXACT element by element, where they have a value, and those of CENTRED about an exact mean."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is F.group_norm:
            x, groups = args
            args = (centred(x.reshape(x.shape[0], groups, -1), [2]).reshape(x.shape), groups)
        elif find_dims := CENTRED.get(function.__name__):
            args = (centred(args[0], find_dims(*args)), *args[1:])
        result, exact = function(*args, **(kwargs or {})), EXACT.get(function.__name__)
        if function in (F.silu, F.mish):  # x exp(x) far below 0, where exp(x) alone is subnormal and has lost digits, or all
            half = (args[0].double() / 2).exp()
            return torch.where(args[0] < -40, (args[0].double() * half * half).to(result.dtype), result)
        if exact is None or not result.is_floating_point():
            return result
        operands = torch.broadcast_tensors(*(torch.as_tensor(x).double() for x in args))
        values = result.double().flatten()
        for i, numbers in enumerate(zip(*(x.flatten().tolist() for x in operands))):
            with contextlib.suppress(ArithmeticError, ValueError):
                values[i] = exact(*numbers)
        return values.to(result.dtype).reshape(result.shape)


EXTREMES = {"amin", "amax", "min", "max", "minimum", "maximum", "fmin", "fmax"}


class OtherZeros(TorchFunctionMode):
    """Extremes that are zero have the other sign, where there are zeros of both: by how many threads it runs, eager mode finds either."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        operands = [x for x in args if isinstance(x, torch.Tensor) and x.is_floating_point()]
        zeros = torch.cat([x.signbit()[x == 0] for x in operands]) if operands else torch.empty(0)
        if function.__name__ not in EXTREMES or len(zeros.unique()) < 2:
            return result
        turned = lambda value: torch.where(value == 0, -value, value)  # noqa: E731
        return type(result)((turned(result[0]), *result[1:])) if isinstance(result, tuple) else turned(result)


def without_padding(convolution: Callable, x: torch.Tensor, weight: torch.Tensor, *rest) -> torch.Tensor:
    """A convolution in which what is not finite among the weights meets elements, and no padding."""
    bad = ~weight.isfinite()
    met = convolution(torch.ones_like(x), bad.to(weight.dtype), None, *rest[1:])
    finite = convolution(x, torch.where(bad, 0, weight), *rest)
    return torch.where(met > 0, convolution(x, weight, *rest), finite)


class OtherWays(TorchFunctionMode):
    """Operands that are not finite tell eager mode's algorithms apart, which sizes choose: distances of many rows by products,
    padding that is multiplied by weights, neighbours that an interpolation multiplies by 0 along a dimension that keeps its size,
    vector code in which gelu of infinity is NaN; and a softmax may have zeros for subnormal numbers (docs/precision.md)."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.cdist:
            rows = [x.double() for x in args[:2]]  # there is no other way for types of 16 bits
            return function(*rows, compute_mode="donot_use_mm_for_euclid_dist").to(args[0].dtype)
        if function is F.gelu:
            return torch.where(args[0] == math.inf, args[0], function(*args, **kwargs))
        if function in (F.conv1d, F.conv2d, torch.conv1d, torch.conv2d) and not kwargs:
            return without_padding(function, *args)
        if function in (F.softmax, F.softmin):
            weights = function(*args, **kwargs)
            return torch.where(weights < torch.finfo(weights.dtype).smallest_normal, 0, weights)
        if function is F.interpolate and kwargs.get("mode") in ("bilinear", "bicubic") and kwargs.get("size"):
            x = args[0]
            for d, size in enumerate(kwargs["size"], start=2):
                if size != x.shape[d]:
                    lines = x.movedim(d, -1)
                    flat = lines.reshape(1, -1, 1, lines.shape[-1])
                    longer = F.interpolate(flat, size=(1, size), mode=kwargs["mode"], align_corners=kwargs.get("align_corners"))
                    x = longer.reshape(*lines.shape[:-1], size).movedim(-1, d)
            return x
        return function(*args, **kwargs)


class Noise:
    """Changes values by up to `scale` roundings; `narrow` takes values of float64 for ones that are float32 in truth, and `flush`
    subnormal bfloat16 for zeros, as the processor's products do (docs/precision.md)."""

    def __init__(self, seed: int, scale: float, narrow: bool, flush: bool) -> None:
        self.random, self.scale, self.narrow, self.flush = torch.Generator().manual_seed(seed), scale, narrow, flush

    def __call__(self, value: torch.Tensor, *summed: torch.Tensor) -> torch.Tensor:
        """`value` changed by roundings of itself, and of what was summed element by element."""
        if not self.scale or not value.is_floating_point():
            return value
        if self.flush and value.dtype == torch.bfloat16:
            value = torch.where(value.abs() < torch.finfo(value.dtype).smallest_normal, 0, value)
        eps = torch.finfo(torch.float32 if value.dtype == torch.float64 and self.narrow else value.dtype).eps
        terms = [value, *(t for t in summed if t.is_floating_point() and t.shape == value.shape)]
        changed = value.double()
        for term in terms:
            unit = 2 * torch.rand(value.shape, generator=self.random, dtype=torch.float64) - 1
            changed = changed + self.scale * eps * unit * term.double().nan_to_num(0, 0, 0)
        return torch.where(value.isfinite() & ((value != 0) | bool(summed)), changed.to(value.dtype), value)


def difference(
    program: Program, inputs: Tensors, expected: Sequence[torch.Tensor], got: Sequence[torch.Tensor], runs: int = RUNS[-1]
) -> str | None:
    """Where what ptc answered is wrong, as far as so many runs of eager mode tell."""
    for index, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want.dtype != have.dtype or want.shape != have.shape:
            return f"output {index}: {have.dtype}{list(have.shape)}, not {want.dtype}{list(want.shape)}"
    # A softmax has 0 in place of subnormal numbers, and so have the partial sums of bfloat16's products (docs/precision.md).
    has_bfloat16 = any(t.dtype == torch.bfloat16 for t in [*inputs.values(), *program.weights.values()])
    flushes = any("softm" in step.text or "attention" in step.text or (step.sums and has_bfloat16) for step in program.steps)
    suspects = [i for i, (want, have) in enumerate(zip(expected, got)) if not is_near(want, have).all()]
    why, spans, others = None, [[want] for want in expected], other_runs(program, inputs)
    for count in RUNS[: RUNS.index(runs) + 1]:
        if not suspects:
            return None
        for found in itertools.islice(others, count - len(spans[0])):
            for values, want, value in zip(spans, expected, found):
                # Of sizes that data decide another number, and of the wide run another type.
                values.append(value.to(want.dtype) if value.shape == want.shape else unlike(want))
        why = {i: reason for i in suspects if (reason := outside(spans[i], expected[i], got[i], flushes))}
        suspects = list(why)
    return f"output {suspects[0]}: {why[suspects[0]]}" if suspects else None


def unlike(want: torch.Tensor) -> torch.Tensor:
    """A number of another kind in every place, so that nothing is settled."""
    if want.is_floating_point():
        return torch.where(want.isnan(), 0.0, torch.nan).to(want.dtype)
    return want.logical_not().to(want.dtype)


def is_near(want: torch.Tensor, have: torch.Tensor) -> torch.Tensor:
    same = (want == have) | (want.isnan() & have.isnan())
    if not want.is_floating_point():
        return same
    units = UNITS if want.dtype.itemsize > 2 else 2
    near = (want.double() - have.double()).abs() <= units * torch.finfo(want.dtype).eps * want.double().abs()
    return same | (near & want.isfinite() & have.isfinite())


def other_runs(program: Program, inputs: Tensors) -> Iterator[Sequence[torch.Tensor]]:
    """What runs answer that eager mode might as well have made: the first with exact functions, the second with other zeros, the
    third in other ways, the fourth in float64, the others with ever larger changes."""
    module = program.module(observed=True)
    doubles = {name: t.double() if t.is_floating_point() else t for name, t in inputs.items()}
    wide = program.module(observed=True)
    for name, weight in program.weights.items():
        setattr(wide, name, weight.double() if weight.is_floating_point() else weight)
    narrow = any(t.dtype == torch.float32 for t in [*inputs.values(), *program.weights.values()])
    with Exactly():
        exact = run(program.module(), inputs)
    yield exact
    with OtherZeros():
        turned = run(program.module(), inputs)
    yield turned
    with OtherWays():
        other = run(program.module(), inputs)
    yield other
    for seed in range(1, RUNS[-1] - 2):
        scale = 0 if seed == 1 else 1 if seed < 8 else 3 if seed < 40 else 4
        noise = Noise(seed, scale, narrow and seed % 2 == 1, flush=seed == 2)
        with contextlib.suppress(Exception):  # in float64 an explicit conversion may leave operands of two types
            yield run(wide, doubles, noise) if seed % 2 else run(module, inputs, noise)


def kinds(value: torch.Tensor) -> torch.Tensor:
    """1 for finite numbers, 2 for NaN, 4 and 8 for infinities."""
    return value.isnan() * 2 + value.isposinf() * 4 + value.isneginf() * 8 + value.isfinite() * 1


def outside(runs: Sequence[torch.Tensor], want: torch.Tensor, have: torch.Tensor, flushes: bool) -> str | None:
    """How many elements of `have` no run explains, and the first."""
    if not want.is_floating_point():
        wrong = (want != have) & torch.stack([value == want for value in runs]).all(0)
    else:
        seen = torch.stack([kinds(value) for value in runs])
        settled = (seen == seen[0]).all(0)
        values = torch.stack([value.double() for value in runs])
        low, high = values.amin(0), values.amax(0)
        eps, least = torch.finfo(want.dtype).eps, torch.finfo(want.dtype).smallest_normal
        slack = 3 * (high - low) + 4 * eps * torch.maximum(low.abs(), high.abs()) + least * (10000 if flushes else 16 * eps)
        inside = (have.double() >= low - slack) & (have.double() <= high + slack)
        wrong = settled & ((kinds(have) != seen[0]) | (have.isfinite() & ~inside))
        # What rounds to the largest number or beyond it.
        wrong &= ~(have.isinf() & ((high + slack).abs() >= torch.finfo(want.dtype).max * (1 - eps)))
    if not wrong.any():
        return None
    first = tuple(wrong.nonzero()[0].tolist())
    others = [value[first].item() for value in runs]
    return f"{int(wrong.sum())} of {wrong.numel()} elements, at {list(first)} {have[first].item()!r}, not {others[0]!r} ({min(others)!r} to {max(others)!r})"

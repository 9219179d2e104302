"""The steps of random programs: each function here writes one, and VOCABULARY says how often."""

from __future__ import annotations

from collections.abc import Callable

from generate import EXAMPLE, Generator, NoOperand

EXACT = """abs neg sign floor ceil trunc round square frac isnan isinf isfinite isposinf isneginf signbit nan_to_num relu
logical_not positive clone""".split()
ELEMENTWISE = """exp exp2 expm1 log log1p log2 log10 sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh erf erfc sigmoid logit deg2rad rad2deg sinc lgamma digamma""".split()
ACTIVATIONS = """relu relu6 leaky_relu elu selu celu silu mish softplus hardtanh hardswish hardsigmoid hardshrink softshrink
tanhshrink logsigmoid softsign""".split()
BINARY = """add sub mul true_divide floor_divide remainder fmod maximum minimum fmax fmin atan2 copysign hypot logaddexp
logaddexp2 heaviside pow xlogy nextafter""".split()
EXACT_BINARY = {"maximum", "minimum", "fmax", "fmin", "copysign", "heaviside", "nextafter"}
COMPARISONS = "eq ne lt le gt ge".split()
REDUCTIONS = "sum mean prod".split()
SELECTIONS = "amax amin".split()


def unary(g: Generator) -> None:
    x = g.any()
    if not g.pool[x].is_floating_point() or g.r.random() < 0.4:
        g.step(f"torch.{g.r.choice(EXACT)}({{0}})", x, exact=True)
    else:
        g.step(f"torch.{g.r.choice(ELEMENTWISE)}({{0}})", x)


def activation(g: Generator) -> None:
    f = g.r.choice([*ACTIVATIONS, "gelu"])
    g.step(f"F.{f}({{0}})", g.floats(), sums=f in ("gelu", "tanhshrink", "softshrink"))


def binary(g: Generator) -> None:
    f, x = g.r.choice(BINARY), g.any()
    g.step(f"torch.{f}({{0}}, {{1}})", x, g.beside(x), exact=f in EXACT_BINARY, logarithm="logadd" in f)


def with_number(g: Generator) -> None:
    text = g.r.choice(("{0} + N", "{0} - N", "N - {0}", "{0} * N", "{0} / N", "N / {0}", "{0} // N", "{0} % N", "{0} ** N", "N ** {0}",
                       "torch.fmod({0}, N)", "{0}.clamp_min(N)", "{0}.clamp_max(N)", "{0}.clamp(N, N)", "{0} > N", "{0} == N"))  # fmt: skip
    while "N" in text:
        text = text.replace("N", str(g.number()), 1)
    g.step(text, g.any())


def with_size(g: Generator) -> None:
    x = g.any(1)
    d = g.dim(x)
    text = g.r.choice((
        "{0} * {0}.shape[D]", "{0} / ({0}.shape[D] + 1)", "{0} + torch.arange({0}.shape[-1])", "{0}[: {0}.shape[0] // 2]",
        "{0}.new_ones({0}.shape[D], 3)", "torch.full(({0}.shape[D] + 1,), 0.5)", "torch.linspace(0, 1, {0}.shape[D])",
        "torch.eye({0}.shape[D])", "torch.arange({0}.shape[D], 0, -1)", "F.pad({0}, (0, {0}.shape[D]))",
    ))  # fmt: skip
    g.step(text.replace("D", str(d)), x, exact="/ (" not in text and "*" not in text and "linspace" not in text)


def comparison(g: Generator) -> None:
    x = g.any()
    g.step(f"torch.{g.r.choice(COMPARISONS)}({{0}}, {{1}})", x, g.beside(x), exact=True)


def bitwise(g: Generator) -> None:
    x = g.pick(lambda v: not v.is_floating_point())
    f = g.r.choice(("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"))
    g.step(f"torch.{f}({{0}}, {{1}})", x, g.beside(x, lambda v: not v.is_floating_point()), exact=True)


def choice(g: Generator) -> None:
    mask = g.bools()
    x = g.beside(mask)
    if g.r.random() < 0.4:
        g.step(f"torch.where({{0}}, {{1}}, {g.number()})", mask, x, exact=True)
    elif g.r.random() < 0.4:
        g.step(f"{{1}}.masked_fill({{0}}, {g.number()})", mask, x, exact=True)
    else:
        g.step("torch.where({0}, {1}, {2})", mask, x, g.beside(x), exact=True)


def ternary(g: Generator) -> None:
    x = g.floats()
    same = lambda v: v.dtype == g.pool[x].dtype  # noqa: E731
    text = g.r.choice(("torch.addcmul({0}, {1}, {2}, value=N)", "torch.addcdiv({0}, {1}, {2}, value=N)", "torch.lerp({0}, {1}, {2})",
                       "torch.clamp({0}, {1}, {2})"))  # fmt: skip
    g.step(text.replace("N", str(g.number())), x, g.beside(x, same), g.beside(x, same), sums="clamp" not in text)


def cast(g: Generator) -> None:
    """Of floats to integers only what both can hold: beyond that every machine has its own."""
    x = g.any()
    dtype = g.r.choice(("float32", "float64", "int64", "int32", "bool", "float16", "bfloat16", "uint8", "int8"))
    if g.pool[x].is_floating_point() and "int" in dtype:
        g.step(f"{{0}}.nan_to_num(3).clamp(0, 100).to(torch.{dtype})", x, exact=True)
    else:
        g.step(f"{{0}}.to(torch.{dtype})", x, exact=True)


# Reductions


def reduction(g: Generator) -> None:
    x = g.any(1)
    keep = g.r.choice(("", ", keepdim=True"))
    d = g.dim(x)
    if g.r.random() < 0.35:
        f = g.r.choice(SELECTIONS)
        g.step(f"torch.{f}({{0}}, {g.dims(x)}{keep})", x, exact=True)
    elif g.r.random() < 0.3:
        f = g.r.choice(("argmax", "argmin", "all", "any", "count_nonzero"))
        g.step(f"torch.{f}({{0}}, {d}{'' if f == 'count_nonzero' else keep})", x, exact=True)
    elif g.r.random() < 0.2:
        g.step(f"{{0}}.{g.r.choice(('sum', 'prod', 'amax', 'any', 'mean'))}()", x, wide=True)
    elif g.r.random() < 0.5:
        f = g.r.choice(REDUCTIONS)
        g.step(f"torch.{f}({{0}}, {d if f == 'prod' else g.dims(x)}{keep})", x, wide=True)
    else:
        x = g.floats(1)
        text = g.r.choice(("torch.logsumexp({0}, D)", "torch.var({0}, D)", "torch.std({0}, D, correction=0)",
                           "torch.linalg.vector_norm({0}, N, D)", "torch.nansum({0}, D)", "torch.nanmean({0}, D)"))  # fmt: skip
        order = g.r.choice(("2", "1", "0", "float('inf')", "-float('inf')", "3"))
        text = text.replace("D", str(g.dim(x))).replace("N", order)
        g.step(text, x, wide=True, logarithm="log" in text)


def scan(g: Generator) -> None:
    x = g.any(1)
    f = g.r.choice(("cumsum({0}, D)", "cumprod({0}, D)", "cummax({0}, D)[0]", "cummin({0}, D)[0]", "logcumsumexp({0}, D)", "diff({0}, dim=D)"))
    g.step("torch." + f.replace("D", str(g.dim(x))), x, exact="cumm" in f, wide="cumm" not in f, logarithm="log" in f)


def softmax(g: Generator) -> None:
    x = g.floats(1)
    f = g.r.choice(("softmax({0}, D)", "log_softmax({0}, D)", "softmin({0}, D)", "normalize({0}, dim=D)"))
    g.step("F." + f.replace("D", str(g.dim(x))), x, wide=True, logarithm="log" in f)


def order(g: Generator) -> None:
    x = g.any(1)
    d = g.dim(x)
    k = g.r.randint(1, 3)
    text = g.r.choice((
        f"torch.sort({{0}}, stable=True, dim={d})[0]", f"torch.sort({{0}}, stable=True, dim={d}, descending=True)[1]",
        f"torch.topk({{0}}, {k}, {d})[0]", f"torch.kthvalue({{0}}, {k}, {d})[0]", f"torch.median({{0}}, {d})[0]",
        f"torch.argsort({{0}}, stable=True, dim={d})", f"torch.nanmedian({{0}}, {d})[0]", f"torch.max({{0}}, {d})[0]",
        f"torch.min({{0}}, {d})[1]", f"torch.topk({{0}}, {k}, {d}, largest=False)[0]",
    ))  # fmt: skip
    g.step(text, x, exact=True)


# Moves


def view(g: Generator) -> None:
    x = g.any(1)
    rank, d = g.pool[x].dim(), g.dim(x)
    axes = list(range(rank))
    g.r.shuffle(axes)
    a, b = g.r.randint(0, 3), g.r.randint(-2, 20)
    text = g.r.choice((
        f"{{0}}.permute({axes})", f"{{0}}.flatten({g.r.randrange(rank)})", "{0}.reshape(-1)", f"{{0}}.unsqueeze({d})", "{0}.squeeze()",
        f"{{0}}.flip({g.dims(x)})", f"{{0}}.roll({g.r.randint(-3, 3)}, {d})", f"{{0}}.select({d}, {g.r.choice((0, -1))})",
        f"{{0}}[{a}:{b}]", f"{{0}}[..., {a}::{g.r.randint(1, 3)}]", f"{{0}}.transpose(0, {d})", f"{{0}}.expand(2, {', '.join(['-1'] * rank)})",
        f"{{0}}.repeat({', '.join(str(g.r.randint(1, 2)) for _ in range(rank))})", f"{{0}}.repeat_interleave(2, {d})",
        f"{{0}}.tril({g.r.randint(-2, 2)})", f"{{0}}.triu({g.r.randint(-2, 2)})", "{0}.diagonal()", f"{{0}}.unfold({d}, 2, 1)",
        f"{{0}}.chunk(2, {d})[-1]", f"{{0}}.movedim(0, {d})", f"{{0}}.narrow({d}, 1, 2)", f"{{0}}.reshape({{0}}.shape[0], -1)",
        f"torch.stack([{{0}}, {{0}}], {d})", f"{{0}}.unflatten({d}, (-1, 2))", "{0}.contiguous()", f"torch.rot90({{0}}, {g.r.randint(1, 3)})",
    ))  # fmt: skip
    g.step(text, x, exact=True)


def pad(g: Generator) -> None:
    x = g.any(1)
    amounts = [g.r.choice((0, 1, 2, -1)) for _ in range(2 * min(2, g.pool[x].dim()))]
    mode = g.r.choice(("", f", value={g.number()}", ", mode='reflect'", ", mode='replicate'", ", mode='circular'"))
    if "mode" in mode:
        x = g.floats(2)
        amounts = [abs(n) for n in amounts[:2]]
    g.step(f"F.pad({{0}}, {amounts}{mode})", x, exact=True)


def join(g: Generator) -> None:
    x = g.any(1)
    rank = g.pool[x].dim()
    other = g.pick(lambda v: v.dim() == rank)
    g.step(f"torch.cat([{{0}}, {{1}}], {g.dim(x)})", x, other, exact=True)


def write(g: Generator) -> None:
    """Writes through a view of a copy."""
    x = g.any(1)
    y = g.beside(x, lambda v: v.dtype == g.pool[x].dtype)
    a, n = g.r.randint(0, 2), g.number()
    text = g.r.choice((
        f"{{out}} = {{0}}.clone(); {{out}}[{a}:] = {{1}}[..., {a}:]", f"{{out}} = {{0}}.clone(); {{out}}[..., ::2] += 1",
        "{out} = {0}.clone(); {out}.add_({1})", f"{{out}} = {{0}}.clone(); {{out}}[-1].fill_({n})",
        "{out} = {0}.clone(); {out}.flatten()[1:].mul_(2)", "{out} = {0}.clone(); {out}.t().copy_({1}.t())",
        "{out} = {0}.clone(); {out}.select(-1, 0).zero_()",
    ))  # fmt: skip
    if "{1}" in text:
        g.step(text, x, y, exact="add_" not in text)
    else:
        g.step(text, x, exact=True)


def gather(g: Generator) -> None:
    """Indices of all kinds of integers, brought into range."""
    x, i = g.any(1), g.integers()
    d = g.dim(x)
    index = f"({{1}}.to(torch.int64) % {{0}}.shape[{d}])"
    flat = f"{index}.reshape(-1)"
    text = g.r.choice((
        f"torch.index_select({{0}}, {d}, {flat})", f"{{0}}.gather({d}, {index})", f"{{0}}.scatter({d}, {index}, 1)",
        f"torch.take_along_dim({{0}}, {index}, {d})", f"{{0}}.index_fill({d}, {flat}, 2)", f"{{0}}.moveaxis({d}, 0)[{index}]",
        f"F.one_hot({{1}}.to(torch.int64) % 5, 5) + 0 * {{0}}.argmax()", f"torch.bucketize({{0}}, {{1}}.reshape(-1).sort()[0])",
        f"{{0}}.scatter_reduce({d}, {index}, {{0}}, 'amax')",
    ))  # fmt: skip
    g.step(text, x, i, exact="sum" not in text)


def accumulate(g: Generator) -> None:
    x, i = g.any(1), g.integers(1)
    d = g.dim(x)
    index = f"({{1}}.to(torch.int64) % {{0}}.shape[{d}])"
    text = g.r.choice((
        f"{{0}}.scatter_add({d}, {index}, {{0}})", f"{{0}}.index_add({d}, {index}.reshape(-1)[:1], {{0}}.narrow({d}, 0, 1))",
        f"{{0}}.index_put(({index}.reshape(-1),), {{0}}[:1], accumulate=True)",
    ))  # fmt: skip
    g.step(text, x, i, wide=True)


def unknown_size(g: Generator) -> None:
    x = g.any(1)
    text = g.r.choice(("{0}[{0} > 0]", "{0}.reshape(-1)[{0}.reshape(-1).nonzero().squeeze(1)]", "{0}.nonzero()"))
    g.step(text, x, exact=True)


# Products


def product(g: Generator) -> None:
    x = g.floats(1)
    value = g.pool[x]
    k = value.shape[-1]
    kind = g.r.randrange(5)
    if kind == 0:
        g.step("{0} @ {0}.transpose(-1, -2)", x, sums=True)
    elif kind == 1:
        y = g.pick(lambda v: v.dtype == value.dtype and v.dim() >= 2 and v.shape[-2] == k)
        g.step("torch.matmul({0}, {1})", x, y, sums=True)
    elif k in EXAMPLE.values():
        raise NoOperand
    elif kind == 2:
        out = g.r.choice((1, 2, 5, 8, 16, 17, 40))
        bias = g.r.choice((True, False))
        operands = [x, g.weight(out, k, dtype=value.dtype), *([g.weight(out, dtype=value.dtype)] if bias else [])]
        g.step(f"F.linear({', '.join(f'{{{i}}}' for i in range(len(operands)))})", *operands, sums=True)
    elif kind == 3:
        g.step("torch.einsum('...k,kj->j...', {0}, {1})", x, g.weight(k, g.r.choice((1, 3, 8, 20)), dtype=value.dtype), sums=True)
    else:
        # Of what is not finite PyTorch's fused kernel makes other things than its formula does (docs/precision.md).
        x = g.step("{0}.nan_to_num(0, 9, -9).clamp(-99, 99)", g.floats(3), exact=True)
        g.step(f"F.scaled_dot_product_attention({{0}}, {{0}}, {{0}}, is_causal={g.r.random() < 0.5})", x, sums=True)


def convolution(g: Generator) -> None:
    x = g.pick(lambda v: v.is_floating_point() and 3 <= v.dim() <= 5 and v.shape[1] not in EXAMPLE.values())
    value = g.pool[x]
    channels, spatial = value.shape[1], value.dim() - 2
    groups = g.r.choice((1, 1, channels))
    out = groups * g.r.choice((1, 2, 3)) if groups > 1 else g.r.choice((1, 3, 4, 8, 16, 24))
    kernel = [g.r.choice((1, 2, 3, 3)) for _ in range(spatial)]
    stride, padding, dilation = g.r.choice((1, 1, 2)), g.r.choice((0, 1, 1, 2)), g.r.choice((1, 1, 2))
    bias = g.weight(out, dtype=value.dtype)
    if g.r.random() < 0.2:
        weight = g.weight(channels, out // groups, *kernel, dtype=value.dtype)
        g.step(f"F.conv_transpose{spatial}d({{0}}, {{1}}, {{2}}, {stride}, {padding}, 0, {groups}, {dilation})", x, weight, bias, sums=True)
    else:
        weight = g.weight(out, channels // groups, *kernel, dtype=value.dtype)
        g.step(f"F.conv{spatial}d({{0}}, {{1}}, {{2}}, {stride}, {padding}, {dilation}, {groups})", x, weight, bias, sums=True)


def pooling(g: Generator) -> None:
    x = g.floats(3)
    spatial = g.r.randint(1, min(3, g.pool[x].dim() - 1))
    k, s = g.r.randint(1, 3), g.r.randint(1, 2)
    p = g.r.randint(0, k // 2)
    ceil = g.r.random() < 0.2
    text, exact = g.r.choice((
        (f"F.max_pool{spatial}d({{0}}, {k}, {s}, {p}, ceil_mode={ceil})", True),
        (f"F.avg_pool{spatial}d({{0}}, {k}, {s}, {p}, {ceil}, {g.r.random() < 0.5})", False),
        (f"F.adaptive_avg_pool{spatial}d({{0}}, {g.r.randint(1, 4)})", False), (f"F.adaptive_max_pool{spatial}d({{0}}, {g.r.randint(1, 4)})", True),
        (f"F.lp_pool{min(spatial, 2)}d({{0}}, 2, {k}, {s})", False),
    ))  # fmt: skip
    g.step(text, x, exact=exact, wide=not exact)


def normalization(g: Generator) -> None:
    x = g.floats(2)
    value = g.pool[x]
    last, channels = value.shape[-1], value.shape[1]
    kind = g.r.randrange(5)
    if kind == 0 and last not in EXAMPLE.values():
        g.step(f"F.layer_norm({{0}}, ({last},), {{1}}, {{2}})", x, g.weight(last, dtype=value.dtype), g.weight(last, dtype=value.dtype), wide=True)
    elif kind == 1 and last not in EXAMPLE.values():
        g.step(f"F.rms_norm({{0}}, ({last},))", x, wide=True)
    elif kind == 2 and channels not in EXAMPLE.values():
        g.step(f"F.group_norm({{0}}, {g.r.choice((1, channels))})", x, wide=True)
    elif kind == 3 and channels not in EXAMPLE.values():
        mean, weight = g.weight(channels, dtype=value.dtype), g.weight(channels, dtype=value.dtype)
        g.step("F.batch_norm({0}, {1}, {1}.abs() + 0.5, {2}, {1})", x, mean, weight, wide=True)
    elif kind == 4:
        g.step("F.instance_norm({0})", g.floats(3), wide=True)


def resize(g: Generator) -> None:
    x = g.pick(lambda v: v.is_floating_point() and v.dim() == 4)
    mode = g.r.choice(("nearest", "bilinear", "bicubic", "nearest-exact", "area"))
    aligned = ", align_corners=True" if mode in ("bilinear", "bicubic") and g.r.random() < 0.5 else ""
    how = g.r.choice((f"scale_factor={g.r.choice((2, 0.5, 1.5))}", f"size=({g.r.randint(1, 9)}, {g.r.randint(1, 9)})"))
    # Places and weights are rounded, which tells where neighbours are far larger than the result: of float64 PyTorch's vector and
    # scalar code have other places, and a neighbour whose weight is 0 in one of them has weight in the other.
    reach = 2 if mode == "bicubic" else 1
    near = f"F.max_pool2d({{0}}.abs(), {2 * reach + 1}, 1, {reach})"
    terms = f"F.interpolate({near}, {how}, mode='bilinear'{aligned})" if mode.startswith("bi") else ""
    g.step(f"F.interpolate({{0}}, {how}, mode='{mode}'{aligned})", x, wide=True, terms=terms)


def other(g: Generator) -> None:
    x = g.floats(1)
    text = g.r.choice((
        "torch.outer({0}.reshape(-1), {0}.reshape(-1))", "torch.cdist({0}, {0})", "torch.cov({0})", "F.pixel_shuffle({0}, 2)",
        "torch.histc({0}, 5, -2, 2)", "torch.trapezoid({0})", "F.cosine_similarity({0}, {0}.flip(-1), -1)", "F.glu({0}, -1)",
        "torch.cross({0}, {0}.flip(-1), -1)", "torch.vander({0}.reshape(-1), 3)", "F.mse_loss({0}, {0}.flip(0))", "torch.dist({0}, {0}.flip(0))",
        "F.smooth_l1_loss({0}, {0}.flip(0), reduction='none')", "F.local_response_norm({0}, 2)",
    ))  # fmt: skip
    g.step(text, x, wide=True, exact="histc" in text)


VOCABULARY: list[tuple[int, Callable[[Generator], None]]] = [
    (14, unary), (5, activation), (16, binary), (10, with_number), (6, with_size), (5, comparison), (3, bitwise), (5, choice), (4, ternary),
    (5, cast), (12, reduction), (4, scan), (5, softmax), (5, order), (14, view), (3, pad), (4, join), (4, write), (5, gather), (3, accumulate),
    (1, unknown_size), (7, product), (4, convolution), (3, pooling), (4, normalization), (2, resize), (3, other),
]  # fmt: skip

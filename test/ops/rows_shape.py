"""Creation, views, joins, padding."""

import torch
import torch.nn.functional as F
from harness import bools, ints, op, special, x

N = torch.export.Dim("n", min=3, max=64)

WINDOWS = ("hann", "hamming", "blackman", "bartlett", "kaiser")

creation = [
    *(op(f"{name}_window{length}.{periodic}",
         lambda a, f=getattr(torch, f"{name}_window"), n=length, p=periodic: a * f(n, periodic=p), x(length))
      for name in WINDOWS for length in (1, 2, 9) for periodic in (True, False)),  # fmt: skip
    op("window.defaults", lambda a: torch.stack([getattr(torch, f"{name}_window")(8) for name in WINDOWS]) * a, x(8)),
    op("hamming_window.coefficients", lambda a: torch.hamming_window(7, False, 0.6, 0.3) * a, x(7)),
    op("kaiser_window.beta", lambda a: torch.kaiser_window(7, False, 5.5) * a, x(7)),
    op("zeros", lambda a: a + torch.zeros(3, 4), x(3, 4)),
    op("full_like", lambda a: torch.full_like(a, 2.5) + a, x(3, 4)),
    op("arange", lambda a: a + torch.arange(5), x(5)),
    op("arange.step", lambda a: a + torch.arange(1.0, 2.0, 0.2), x(5)),
    op("linspace", lambda a: a + torch.linspace(-1, 1, 7), x(7)),
    op("linspace.bf16", lambda a: a + torch.linspace(-4.2, 9.1, 50, dtype=torch.bfloat16), x(50, dtype=torch.bfloat16)),
    op("linspace.int", lambda a: a + torch.linspace(4.3, -3, 50, dtype=torch.int64), ints(50)),
    op("logspace.types", lambda a: (a + torch.logspace(4.3, 2, 2, dtype=torch.int64), torch.logspace(4.3, 0, 4, dtype=torch.bfloat16), torch.logspace(2.0, 3.0, 1)), ints(2)),
    *(op(f"logspace.half.{dtype}", lambda a, dtype=dtype: (a, torch.logspace(4.3, 1.2, 9, dtype=dtype), torch.logspace(-1.7, 2.1, 30, 3.0, dtype=dtype)), x(1))
      for dtype in (torch.bfloat16, torch.float16)),
    op("logspace", lambda a: a + torch.logspace(0, 1, 5), x(5)),
    op("eye", lambda a: a + torch.eye(4, 5), x(4, 5)),
    op("tril", lambda a: torch.tril(a, 1), x(2, 4, 5)),
    op("triu", lambda a: torch.triu(a, -1), x(4, 5)),
    op("tril_indices", lambda a: a + torch.tril_indices(3, 3), ints(2, 6)),
]

views = [
    op("view", lambda a: a.view(3, -1), x(2, 3, 4)),
    op("reshape.transposed", lambda a: a.t().reshape(-1), x(3, 4)),
    op("flatten", lambda a: a.flatten(1, 2), x(2, 3, 4, 5)),
    op("unflatten", lambda a: a.unflatten(1, (2, 3)), x(2, 6)),
    op("view.dtype.narrower", lambda a, b: (a.view(torch.uint8), a.view(torch.bfloat16) * 2, b.view(torch.int32)), x(2, 3), ints(4, 2)),
    op("view.dtype.wider", lambda a, b: (a.view(torch.int64), a.view(torch.float64), b.view(torch.int16)), x(3, 4), ints(2, 4, dtype=torch.int8)),
    op("view.dtype.bool", lambda a: (a > 0).view(torch.int16) + (a > 0).view(torch.uint8).view(torch.bool)[:, ::2], x(3, 4)),
    op("permute", lambda a: a.permute(2, 0, 1), x(2, 3, 4)),
    op("transpose", lambda a: a.transpose(0, -1), x(2, 3, 4)),
    *(op(f"transpose.{name}", lambda a, b, dtype=dtype: (a.t().to(dtype) * 2, b.transpose(1, 2) + 1), x(37, 50),
         x(2, 33, 40, dtype=dtype)) for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16))),
    op("movedim", lambda a: a.movedim((0, 1), (2, 0)), x(2, 3, 4)),
    op("squeeze", lambda a: a.squeeze(), x(1, 3, 1)),
    op("squeeze.dim", lambda a: (a.squeeze(0).squeeze(0), a.squeeze(-1), a.squeeze((-1, 0))), x(1, 3, 1)),
    op("unsqueeze", lambda a: a.unsqueeze(-1).unsqueeze(0), x(3)),
    op("expand", lambda a: a.expand(4, 3, -1), x(3, 1)),
    op("slice", lambda a: a[1:, :-1, ::2], x(4, 4, 7)),
    op("slice.empty", lambda a: a[3:2].sum(), x(4)),
    op("select", lambda a: a[1, :, -1], x(4, 4, 7)),
    op("narrow", lambda a: a.narrow(1, 1, 2), x(2, 4)),
    op("chunk", lambda a: a.chunk(3, 1), x(2, 8)),
    op("split", lambda a: a.split([1, 2, 3]), x(6, 2)),
    op("tensor_split", lambda a: a.tensor_split(3), x(7)),
    op("unbind", lambda a: a.unbind(1), x(2, 3)),
    op("diagonal", lambda a: a.diagonal(1, 0, 2), x(3, 4, 5)),
    op("diagonal.negative", lambda a: a.diagonal(-1), x(3, 4)),
    op("diag", lambda a: torch.diag(a, 1), x(3)),
    op("diag_embed", lambda a: torch.diag_embed(a, -1, 0, 2), x(2, 3)),
    op("as_strided", lambda a: a.as_strided((2, 2), (3, 1), 1), x(12)),
    op("as_strided.channels_last", lambda a: a.contiguous(memory_format=torch.channels_last).as_strided((4, 5), (2, 3), 1),
       x(2, 3, 4, 5), of_these_sizes=True),
    op("unfold", lambda a: a.unfold(1, 3, 2), x(2, 9)),
    op("trace", torch.trace, x(3, 4)),
]

joins = [
    op("cat", lambda a, b: torch.cat([a, b], 1), x(2, 3), x(2, 4)),
    op("cat.promotes", lambda a, b: torch.cat([a, b]), x(2), ints(2)),
    op("stack", lambda a, b: torch.stack([a, b], -1), x(2, 3), x(2, 3)),
    op("pad_sequence", lambda a, b: torch.nn.utils.rnn.pad_sequence([a, b], padding_value=2.0), x(3, 2), x(5, 2)),
    op("hstack", lambda a, b: torch.hstack([a, b]), x(3), x(2)),
    op("vstack", lambda a, b: torch.vstack([a, b]), x(3), x(3)),
    op("block_diag", lambda a, b: torch.block_diag(a, b), x(2, 3), x(1, 2)),
    op("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="xy"), x(3), x(4)),
    op("repeat", lambda a: a.repeat(2, 1, 3), x(2, 3)),
    op("tile", lambda a: a.tile(2), x(2, 3)),
    op("repeat_interleave", lambda a: a.repeat_interleave(2, 1), x(2, 3)),
    op("flip", lambda a: a.flip(0, 2), x(2, 3, 4)),
    op("rot90", lambda a: torch.rot90(a, 1), x(2, 3)),
    op("roll", lambda a: a.roll((1, -2), (0, 1)), x(3, 4)),
    op("roll.flat", lambda a: a.roll(2), x(3, 4)),
    op("roll.nothing", lambda a: a.roll(3, 0), x(4, 2), dynamic=({0: torch.export.Dim("n", min=0, max=9)},), other=(x(0, 2),)),
    op("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), x(2, 8, 3, 4)),
    op("pixel_unshuffle", lambda a: F.pixel_unshuffle(a, 2), x(2, 2, 4, 6)),
    op("channel_shuffle", lambda a: F.channel_shuffle(a, 2), x(2, 6, 3, 3)),
]

joins += [
    op("chunk_cat", lambda a, b: torch._chunk_cat([a, b], 0, 3), x(4, 3), x(2, 5)),
    op("atleast.sequence", lambda a, b: (torch.atleast_1d([a, b]), torch.atleast_2d([a, b]), torch.atleast_3d([a, b])), x(), x(3, 4)),
    op("repeat_interleave.tensor", lambda a, n: torch.repeat_interleave(a, n.sort().values * 0 + torch.tensor([2, 0, 3, 1]), 1, output_size=6), x(2, 4), ints(4, low=0)),
    op("gradient", lambda a: torch.gradient(a), x(5, 6)),
    op("gradient.spacing", lambda a: torch.gradient(a, spacing=[2.0, 0.5], edge_order=2), x(5, 6)),
    op("gradient.places", lambda a, p: torch.gradient(a, spacing=(p.cumsum(0),), dim=1, edge_order=2), x(5, 6), x(6, low=0.1)),
    op("trapezoid", lambda a, p: (torch.trapezoid(a, dx=2.0), torch.trapezoid(a, p, dim=1), torch.trapz(a, p)), x(3, 6), x(6)),
    op("trapezoid.special", torch.trapezoid, special(40, 4)),
    op("cumulative_trapezoid", lambda a, p: (torch.cumulative_trapezoid(a, dim=0), torch.cumulative_trapezoid(a, p)), x(3, 6), x(3, 6)),
]  # fmt: skip

pads = [
    op("pad", lambda a: F.pad(a, (1, 2, 0, 1), value=1.5), x(2, 3, 4)),
    op("pad.crop", lambda a: F.pad(a, (-1, 1)), x(2, 5)),
    op("pad.reflect", lambda a: F.pad(a, (2, 1, 1, 2), mode="reflect"), x(1, 2, 4, 5)),
    op("pad.replicate", lambda a: F.pad(a, (2, 1, 1, 2), mode="replicate"), x(1, 2, 4, 5)),
    op("pad.circular", lambda a: F.pad(a, (2, 1), mode="circular"), x(1, 2, 5)),
]


def write_slice(a, b):
    a = a.clone()
    a[1:, ::2] += b
    a[0, 1] = 7.0
    a.diagonal().mul_(2)
    return a


writes = [
    op("view_writes", write_slice, x(3, 5), x(2, 3)),
    op("slice_scatter", lambda a, b: torch.slice_scatter(a, b, 1, 1, 5, 2), x(2, 6), x(2, 2)),
    op("select_scatter", lambda a, b: torch.select_scatter(a, b, 0, -1), x(3, 4), x(4)),
    op("diagonal_scatter", lambda a, b: torch.diagonal_scatter(a, b, 1), x(3, 4), x(3)),
    op("masked_write", lambda a, m: a.clone().masked_fill_(m, 2.0), x(3, 4), bools(3, 4)),
]

dynamic = [
    op("dynamic.slice", lambda a: (a[:, 1:], a[:, -2:], a[:, ::2]), x(2, 8), dynamic=({1: N},), other=(x(2, 13),)),
    op("dynamic.view", lambda a: a.reshape(-1, 4), x(8, 4), dynamic=({0: N},), other=(x(5, 4),)),
    op("dynamic.merged", lambda a: a.view(-1, 2, 2, 3).permute(2, 3, 1, 0).flatten(2) * 2, x(5, 4, 3), dynamic=({0: N},), other=(x(3, 4, 3),)),
    op("dynamic.cat", lambda a: torch.cat([a, a[:1]]), x(8), dynamic=({0: N},), other=(x(3),)),
    op("dynamic.arange", lambda a: a + torch.arange(a.shape[0]), x(8), dynamic=({0: N},), other=(x(3),)),
    op("dynamic.mean", lambda a: a.mean(0), x(8, 3), dynamic=({0: N},), other=(x(3, 3),)),
    op("dynamic.var", lambda a: a.var(0), x(8, 3), dynamic=({0: N},), other=(x(5, 3),)),
    op("dynamic.roll", lambda a: a.roll(1), x(8), dynamic=({0: N},), other=(x(3),)),
]

resizes = [
    op("resize_", lambda a: (a.clone().resize_(3, 2), a.clone().resize_(8) * 2, a.clone().resize_([])), x(2, 4)),
    op("resize_.names", lambda a: (b := a.clone(), b.resize_(4, 2), b.add_(1), b * 2)[1:], x(2, 4)),
    op("resize_as_", lambda a, b: a.clone().resize_as_(b), x(2, 4), x(2, 2)),
]  # fmt: skip

ROWS = [*creation, *views, *joins, *pads, *writes, *resizes, *dynamic]

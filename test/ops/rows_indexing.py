"""Reading and writing at computed places; order."""

import torch
import torch.nn.functional as F
from harness import bools, ints, op, permutation, special, x

N = torch.export.Dim("n", min=2, max=100)


def put(a, i, v):
    a = a.clone()
    a[i] = v
    return a


def put_accumulate(a, i, v):
    return a.index_put((i,), v, accumulate=True)


reads = [
    op("index", lambda a, i: a[i], x(5, 3), ints(2, 4)),
    op("index.two", lambda a, i, j: a[i, :, j], x(5, 3, 4), ints(6, low=0), ints(6, low=-4, high=4)),
    op("index.adjacent", lambda a, i, j: a[:, i, j], x(2, 5, 4), ints(3, 1), ints(2, low=0, high=4)),
    op("embedding", F.embedding, ints(2, 3, low=0, high=7), x(7, 4)),
    op("embedding_bag.sum", lambda i, w: F.embedding_bag(i, w, mode="sum"), ints(3, 4, low=0, high=9), x(9, 5)),
    op("embedding_bag.mean", lambda i, w: F.embedding_bag(i, w, padding_idx=1), ints(3, 4, low=0, high=3), x(3, 5)),
    op("embedding_bag.max", lambda i, w: F.embedding_bag(i, w, mode="max"), ints(3, 4, low=0, high=9), x(9, 5)),
    op("embedding_bag.offsets", lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 2, 2, 5]), mode="sum"),
       ints(7, low=0, high=9), x(9, 5)),  # fmt: skip
    op("index_select", lambda a, i: a.index_select(1, i), x(2, 5), ints(3, low=0)),
    op("gather", lambda a, i: a.gather(1, i), x(3, 5), ints(2, 4, low=0)),
    op("gather.expanded", lambda a, i: a.gather(0, i[:, None].expand(-1, 4)), x(5, 4), ints(6, low=0)),
    op("take_along_dim", lambda a, i: torch.take_along_dim(a, i, 1), x(3, 5), ints(1, 2, low=0)),
    op("take", torch.take, x(3, 5), ints(4, low=-15, high=15)),
    op("take_along_dim", lambda a, i: (torch.take_along_dim(a, i, 1), torch.take_along_dim(a, i % 20)), x(4, 5), ints(4, 2)),
    op("index_select.zero_dim", lambda a: a.index_select(0, torch.zeros(1, dtype=torch.int64)), x()),
    op("gather.nothing", lambda a: a.gather(0, torch.zeros(2, 0, dtype=torch.int64)), x(5)),
    op("one_hot", lambda i: F.one_hot(i, 6), ints(3, 2, low=0, high=6)),
    op("bucketize", lambda a: torch.bucketize(a, torch.tensor([-1.0, 0.0, 2.0])), x(20)),
    op("searchsorted", lambda a, b: torch.searchsorted(a.sort().values, b, right=True), x(2, 9), x(2, 4)),
    op("searchsorted.sorter", lambda a, b: torch.searchsorted(a, b, sorter=a.argsort()), x(9), x(4)),
    op("histc", lambda a: (torch.histc(a, 8), torch.histc(a, 5, -1, 2)), x(60)),
    op("histogram", lambda a, w: (torch.histogram(a, 6), torch.histogram(a, 4, range=(-1.0, 2.0), weight=w, density=True)), x(60), x(60, low=0)),
    op("histogram.bins", lambda a: torch.histogram(a, torch.tensor([-2.0, -1.0, 0.5, 2.0])), x(60)),
    op("histogramdd", lambda a: torch.histogramdd(a, [3, 4]), x(60, 2)),
    *(op(f"segment_reduce.{kind}", lambda a, kind=kind: (
         torch.segment_reduce(a, kind, lengths=torch.tensor([2, 0, 5])),
         torch.segment_reduce(a, kind, offsets=torch.tensor([0, 3, 7]), initial=1)), x(7, 3))
      for kind in ("sum", "mean", "prod", "max", "min")),
    op("segment_reduce.bf16", lambda a: tuple(torch.segment_reduce(a, kind, lengths=torch.tensor([9, 0, 11])) for kind in ("sum", "mean", "prod")),
       x(20, 30, dtype=torch.bfloat16)),
    op("segment_reduce.axis", lambda a: (
         torch.segment_reduce(a, "max", lengths=torch.tensor([[2, 0, 5], [3, 4, 0]]), axis=1),
         torch.segment_reduce(a, "mean", offsets=torch.tensor([[1, 3, 6], [0, 0, 7]]), axis=1, initial=2)), x(2, 7, 3)),
    op("isin", lambda a, b: torch.isin(a, b), ints(9), ints(3)),
    op("masked_scatter", lambda a, m, s: a.masked_scatter(m, s), x(3, 4), bools(3, 4), x(12)),
]

writes = [
    op("index_put", put, x(5, 3), permutation(5), x(5, 3)),
    op("index_put.mask", lambda a, m: put(a, m, 0.0), x(5, 3), bools(5, 3)),
    op("index_put.accumulate", put_accumulate, x(5, 3), ints(9), x(9, 3)),
    op("index_put.mask_rows", lambda a, m, v: (put(a, m, v), put_accumulate(a, m, v)), x(5, 3), bools(5), x(3)),
    op("index_put.mask_places", lambda a, v: put(a, torch.tensor([True, False, True, True]), v), x(4, 3), x(3, 3)),
    op("masked_index", lambda a, m, i: torch.ops.aten._unsafe_masked_index(a, m, [i], -1.0), x(5), bools(9), ints(9, low=-9, high=9)),
    op("masked_index_put", lambda a, m, i, v: torch.ops.aten._unsafe_masked_index_put_accumulate(a, m, [i], v), x(5), bools(9), ints(9, low=0, high=9), x(9)),
    op("index_copy", lambda a, i, s: a.index_copy(1, i, s), x(2, 4), permutation(4), x(2, 4)),
    op("index_add", lambda a, i, s: a.index_add(0, i, s, alpha=2), x(4, 3), ints(6, low=0, high=4), x(6, 3)),
    op("index_add.features", lambda a, i, s: a.index_add(0, i, s), x(4, 37), ints(9, low=0, high=4), x(9, 37)),
    op("index_add.batch", lambda a, i, s: a.index_add(1, i, s), x(2, 4, 50), ints(6, low=0, high=4), x(2, 6, 50)),
    op("scatter_add.partial", lambda a, i, s: a.scatter_add(0, i, s), x(5, 40), ints(7, 33, low=0), x(7, 33)),
    op("index_fill", lambda a, i: a.index_fill(1, i, 9.0), x(2, 5), ints(3, low=0)),
    op("scatter", lambda a, i, s: a.scatter(0, i, s), x(5, 3), lambda r: torch.randperm(5, generator=r)[:, None].expand(5, 3), x(5, 3)),
    op("scatter.value", lambda a, i: a.scatter(1, i, 4.0), x(3, 5), ints(3, 2, low=0)),
    op("scatter.value", lambda a, i: a.scatter(1, i, 4.0), x(3, 5), ints(2, 0, 7, low=0)),
    op("scatter_add", lambda a, i, b: a.scatter_add(1, i, b), x(3, 5), ints(2, 0, 7, low=0), x(2, 0, 7)),
    op("scatter_add", lambda a, i, s: a.scatter_add(0, i, s), x(5, 3), ints(7, 3, low=0), x(7, 3)),
    op("scatter.scalar", lambda a, i, s: (a.scatter(0, i, s), a.scatter(0, i, 4.0), a.scatter_add(0, i, s.reshape(1))), x(5), ints(low=0), x()),
    op("scatter_reduce.scalar", lambda a, i, s: (a.scatter_reduce(0, i, s, "amax"), a.scatter_reduce(0, i.reshape(1), s, "mean", include_self=False)),
       x(5), ints(low=0), x()),
    op("scatter_reduce.uint8", lambda a, i, s: a.scatter_reduce(0, i, s, "amax"), ints(5, 3, low=0, high=256, dtype=torch.uint8),
       ints(7, 3, low=0), ints(7, 3, low=0, high=256, dtype=torch.uint8)),
    *(op(f"scatter_reduce.{kind}.{own}", lambda a, i, s, kind=kind, own=own:
         a.scatter_reduce(0, i, s, kind, include_self=own), x(5, 3), ints(7, 3, low=0), x(7, 3))
      for kind in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)),
    op("masked_fill", lambda a, m: a.masked_fill(m, -1.0), x(2, 3, 4), bools(3, 4)),
]  # fmt: skip

order = [
    op("sort", lambda a: torch.sort(a, 1, descending=True), x(3, 9)),
    op("sort.stable", lambda a: torch.sort(a, stable=True), ints(40)),
    op("argsort", lambda a: torch.argsort(a, 0), x(9, 3)),
    op("topk", lambda a: torch.topk(a, 3), x(4, 9)),
    op("topk.smallest", lambda a: torch.topk(a, 2, 0, largest=False), x(9, 4)),
    # A row in several batches; in the worst order; what equals the last of the best.
    op("topk.of many", lambda a: torch.topk(a, 20), x(2, 700)),
    op("topk.of ever larger", lambda a: torch.topk(torch.sort(a)[0], 7), x(2, 300)),
    op("topk.of equal", lambda a: (torch.topk(a, 30)[0], a.gather(1, torch.topk(a, 30)[1])), ints(3, 400)),
    op("topk.of special", lambda a: torch.topk(a, 2, 0, largest=False)[0], special(90, 3)),
    op("kthvalue", lambda a: torch.kthvalue(a, 3, 1, True), x(4, 9)),
    # Which of several equal elements PyTorch finds depends on how it sorts.
    op("mode", lambda a: (torch.mode(a, 1)[0], torch.mode(a, 0, True)[0], a.gather(1, torch.mode(a, 1, True)[1])), ints(4, 19, low=0, high=5)),
    op("logcumsumexp", lambda a: torch.logcumsumexp(a, 1), x(3, 50, low=-300, high=300)),
    op("median", lambda a: (torch.median(a), torch.median(a, 1)), x(4, 9)),
    op("max.dim", lambda a: torch.max(a, 1), special(4, 9)),
    op("argmax", lambda a: (torch.argmax(a), torch.argmin(a, 0, True)), x(4, 9)),
    op("cumsum", lambda a: torch.cumsum(a, 1), x(3, 9)),
    op("cumprod", lambda a: torch.cumprod(a, 0), x(5, 3)),
    op("cumsum.bool", lambda a: torch.cumsum(a, 0), bools(9)),
    op("logcumsumexp", lambda a: torch.logcumsumexp(a, 1), x(3, 37, low=-400, high=400)),
    op("logcumsumexp.dynamic", lambda a: torch.logcumsumexp(a, 0), x(9, 4), dynamic=({0: N},), other=(x(70, 4),)),
    op("logcumsumexp.special", lambda a: torch.logcumsumexp(a, 0), special(9, 4)),
    op("cummax", lambda a: torch.cummax(a, 1), x(3, 9)),
    op("cummax.zeros", lambda a: (torch.cummax(a * 0, 1)[0].signbit(), torch.cummin(a * 0, 1)[0].signbit()), x(3, 40)),
    op("diff", lambda a: torch.diff(a, n=2), x(3, 9)),
    op("cumulative_trapezoid", lambda a: torch.cumulative_trapezoid(a), x(3, 0)),
]


def bin_count(i):
    counts = torch.bincount(i, minlength=4)
    torch._check(counts.shape[0] < 1000)
    return counts


chosen = [
    op("bincount", bin_count, ints(20, low=0, high=9)),
    op("nonzero", lambda a: (a > 0).nonzero(), x(4, 9)),
    op("nonzero.tuple", lambda a: (a > 1).nonzero(as_tuple=True), x(4, 9)),
    op("nonzero.none", lambda a: (a > 9).nonzero(), x(4, 9)),
    op("argwhere", lambda a: torch.argwhere(a > 0).float() * 2, x(3, 4, 5)),
    op("nonzero_static", lambda a: torch.nonzero_static(a > 0, size=7, fill_value=-1), x(10)),
    op("masked_select", lambda a: (torch.masked_select(a, a > 0) * 2, a.masked_select(a < 0).sum()), x(4, 9)),
    op("index.mask", lambda a, m: a[m].relu(), x(5, 3), bools(5)),
    op("index.mask_inner", lambda a, m: a[:, m], x(2, 4, 5, 3), bools(4, 5)),
    op("masked.dynamic", lambda a: (a[a > 0] + 1, (a > 1).nonzero()), x(9, 4),
       dynamic=({0: torch.export.Dim("n", min=2)},), other=(x(70, 4),)),  # fmt: skip
    op("masked.twice", lambda a: (lambda b: b[b < 2])(a[a > 0]), x(4, 90)),
    op("unique", lambda a: torch.unique(a, return_inverse=True, return_counts=True), ints(40)),
    op("unique.f32", lambda a: torch.unique(a.round()), x(4, 9)),
    op("unique.f64", lambda a: torch.unique(a.round(), return_inverse=True, return_counts=True), x(4, 9, dtype=torch.float64)),
    op("unique_consecutive.f32", lambda a: torch.unique_consecutive(a.round(), return_inverse=True, return_counts=True), x(40)),
    op("unique.dim.long", lambda a: torch.unique(a.repeat(1, 40), dim=0, return_inverse=True, return_counts=True), ints(40, 2, low=0, high=3)),
    op("unique.dim", lambda a: torch.unique(a, dim=0, return_inverse=True, return_counts=True), ints(40, 2, low=0, high=3)),
    op("unique_consecutive", lambda a: torch.unique_consecutive(a, return_inverse=True, return_counts=True), ints(40, low=0, high=3)),
    op("unique_consecutive.dim", lambda a: torch.unique_consecutive(a, dim=1), ints(1, 40, low=0, high=3)),
    op("unique.bool", lambda a: (torch.unique(a, return_inverse=True, return_counts=True), torch.unique_consecutive(a, return_counts=True)), bools(9)),
    op("item.float", lambda a: (a.max().item(), a[1].item()), x(5)),
    op("tensor_split.tensor", lambda a, i: [part + 0 for part in torch.tensor_split(a, i, 1)][:2], x(3, 9), lambda r: torch.tensor([2, 5])),
    op("item", lambda a: torch.full((3,), a.max().item()) + 1, ints(5)),
]

ROWS = [*reads, *writes, *order, *chosen]

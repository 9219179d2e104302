"""Reductions, contractions, distances, losses."""

import torch
import torch.nn.functional as F
from harness import bools, ints, op, special, x

M, K = torch.export.Dim("m", min=2, max=64), torch.export.Dim("k", min=2, max=64)


def written_attention(q, k, v, masked):
    scores = (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(masked, float("-inf"))
    return torch.softmax(scores, -1) @ v


def first_row(random):
    """Masks a random half, and all keys of the first row: its result is NaN."""
    masked = torch.rand(7, 9, generator=random) < 0.5
    masked[1:, 0], masked[0] = False, True
    return masked


reductions = [
    *(op(name, lambda a, f=getattr(torch, name): f(a), x(4, 5)) for name in ("sum", "mean", "prod", "amax", "amin", "std", "var")),
    *(op(f"{name}.dims", lambda a, f=getattr(torch, name): f(a, (0, 2), keepdim=True), x(3, 4, 5))
      for name in ("sum", "mean", "amax", "amin", "std", "var", "logsumexp", "nansum")),
    op("sum.int", lambda a: a.sum(), ints(9, dtype=torch.int32)),
    op("sum.bool", lambda a: a.sum(1), bools(3, 9)),
    op("sum.bf16", lambda a: a.sum(1), x(3, 300, dtype=torch.bfloat16)),
    op("sum.dtype", lambda a: a.sum(dtype=torch.float64), x(9)),
    # Errors of long rows add up in float32: to the last bits as PyTorch, which goes on in double.
    op("scans.long", lambda a: (a.cumsum(-1), (1 + a / 100).cumprod(-1), a.logcumsumexp(-1), a.mT.cumsum(0)), x(2, 20000, low=0, high=1),
       tolerance=(2e-6, 0)),
    op("sum.nested", lambda a, v, y: torch.addcmul(a, v, y).sum((0, 1, 2), keepdim=True), x(16, 1, 15, low=-1.7e7, high=1.7e7), x(16, 40, 15),
       x(16, 1, 15), tolerance=(0, 4000)),
    op("sum.zero_dim", lambda a: a.sum(0), x()),
    op("sum.empty", lambda a: (a[:0].sum(0), a[:0].prod()), x(3, 2)),
    op("prod.dim", lambda a: a.prod(1, keepdim=True), x(3, 4)),
    op("mean.dtype", lambda a: a.mean(dtype=torch.float32), ints(9)),
    op("max.uint8", lambda a: (a.amax(1), a.amin(1), a.argmax(1), a.argmin(1), *a.cummax(1)), ints(30, 9, low=0, high=256, dtype=torch.uint8)),
    op("max.special", lambda a: (a.amax(1), a.amin(1)), special(30, 4)),
    op("aminmax", lambda a: torch.aminmax(a, dim=1), x(3, 4)),
    op("any_all", lambda a: (a.any(), a.all(1), a.any(0, keepdim=True)), bools(3, 4)),
    op("sum_to_size.bool", lambda a: a.sum_to_size(1, 9), bools(3, 9)),
    op("count_nonzero", lambda a: torch.count_nonzero(a, 1), ints(3, 9)),
    op("var_mean", lambda a: torch.var_mean(a, 1, correction=0), x(3, 9)),
    op("softmax", lambda a: (a.softmax(1), a.log_softmax(0)), x(4, 9, low=-30, high=30)),
    op("log_softmax.f16", lambda a: (a.log_softmax(1), a.log_softmax(0)), x(64, 5, low=-8, high=8, dtype=torch.float16)),
    op("loss.f16.overflow", F.soft_margin_loss, x(9, low=-13, high=13, dtype=torch.float16), x(9, dtype=torch.float16)),
    op("softmax.bf16", lambda a: a.softmax(-1), x(4, 9, dtype=torch.bfloat16)),
    op("softmax.dtype", lambda a: a.softmax(-1, dtype=torch.float32), x(4, 9, dtype=torch.float16)),
    op("vector_norm", lambda a: (torch.linalg.vector_norm(a, 1, 1), a.norm(), torch.linalg.vector_norm(a, float("inf"))), x(4, 9)),
    op("vector_norm.p", lambda a: torch.linalg.vector_norm(a, 3.0, 1, keepdim=True), x(4, 9)),
    op("vector_norm.of-one", lambda a: (torch.linalg.vector_norm(a, 3, 1), torch.linalg.vector_norm(a, 2, 1), torch.norm(a[0], 0.5)),
       x(4, 1, low=1e20, high=1e30)),
    op("vector_norm.of-one-or-more", lambda a: (torch.linalg.vector_norm(a, 3, 1), a.norm(dim=1)), x(3, 4),
       dynamic=({1: torch.export.Dim("n", min=1, max=9)},), other=(x(3, 1, low=1e20, high=1e30),)),
    op("normalize", lambda a: F.normalize(a, dim=1), x(4, 9)),
    op("cosine_similarity", F.cosine_similarity, x(4, 9), x(4, 9)),
    op("pairwise_distance", F.pairwise_distance, x(4, 9), x(4, 9)),
    op("cdist", torch.cdist, x(2, 4, 9), x(2, 5, 9)),
    *(op(f"pdist.{p}", lambda a, p=p: F.pdist(a, p), x(5, 4)) for p in (0.0, 1.0, 2.0, 3.0)),
    op("renorm", lambda a: (a.renorm(2, -1, 0.5), a.renorm(1, 0, 3.0)), x(4, 9)),
    op("embedding_renorm", lambda w, i: F.embedding(i, w.clone(), max_norm=1.0), x(5, 4), ints(3, low=0)),
    op("weight_norm", lambda v, g: torch._weight_norm(v, g, 0), x(4, 9), x(4, 1, low=0.5)),
    op("cross", lambda a, b: torch.linalg.cross(a, b), x(4, 3), x(4, 3)),
]  # fmt: skip


class Multiplied:
    """A linear layer of bfloat16 with fixed weights, as a function of its first input."""

    def __init__(self, inputs, outputs):
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(inputs, outputs, dtype=torch.bfloat16).requires_grad_(False)

    def __call__(self, a, _):
        return F.gelu(self.linear(a))


contractions = [
    op("mm", torch.mm, x(7, 5), x(5, 9)),
    op("bmm", torch.bmm, x(3, 7, 5), x(3, 5, 9)),
    op("mv", torch.mv, x(7, 5), x(5)),
    op("dot", torch.dot, x(17), x(17)),
    op("matmul.3d_2d", torch.matmul, x(3, 7, 5), x(5, 9)),
    op("matmul.broadcast", torch.matmul, x(2, 1, 7, 5), x(3, 5, 9)),
    op("matmul.1d_3d", torch.matmul, x(5), x(3, 5, 9)),
    op("matmul.2d_3d", torch.matmul, x(7, 5), x(3, 5, 9)),
    op("matmul.bf16", torch.matmul, x(7, 32, dtype=torch.bfloat16), x(32, 9, dtype=torch.bfloat16)),
    # Processors that multiply bf16 take two k at a time: odd ones, other orders, few rows, several dimensions of k.
    *(op(f"matmul.bf16.{name}", f, x(3, *a, dtype=torch.bfloat16), x(3, *b, dtype=torch.bfloat16)) for name, f, a, b in [
        ("odd", lambda a, b: a @ b, (37, 45), (45, 29)),
        ("long", lambda a, b: a @ b, (5, 1101), (1101, 40)),
        ("few_rows", lambda a, b: a[0] @ b[0], (5, 45), (45, 129)),
        ("by_columns", lambda a, b: a.mT @ b, (45, 37), (45, 29)),
        ("by_rows", lambda a, b: a @ b.mT, (37, 45), (29, 45)),
        ("both", lambda a, b: a.mT @ b.mT, (44, 37), (29, 44)),
        ("outer", lambda a, b: a @ b, (37, 1), (1, 29)),
        ("two_k", lambda a, b: torch.einsum("bmk,bkn->mn", a, b), (37, 5), (5, 29)),
        ("weight", Multiplied(45, 70), (37, 45), (1,)),
        ("weight.even", Multiplied(64, 64), (37, 64), (1,)),
    ]),
    op("matmul.bf16.dynamic", lambda a, b: a @ b.mT, x(7, 6, dtype=torch.bfloat16), x(5, 6, dtype=torch.bfloat16),
       dynamic=({0: M, 1: K}, {1: K}), other=(x(41, 33, dtype=torch.bfloat16), x(5, 33, dtype=torch.bfloat16))),
    # What the half type loses of the products, which nobody sees who rounds before the addition.
    *(op(f"{name}.bf16", f, x(3, 7, 32, dtype=torch.bfloat16), x(3, 32, 9, dtype=torch.bfloat16)) for name, f in [
        ("linear", lambda a, w: F.linear(a[0, :1], w[0].T, -(a[0, :1] @ w[0])[0])),
        ("addmm", lambda a, b: torch.addmm(-(a[0] @ b[0]), a[0], b[0])),
        ("baddbmm", lambda a, b: torch.baddbmm(-(a @ b), a, b)),
        ("addmv", lambda a, b: torch.addmv(-(a[0] @ b[0, :, 0]), a[0], b[0, :, 0])),
    ]),
    op("matmul.int", torch.matmul, ints(7, 5), ints(5, 9)),
    op("linear", F.linear, x(2, 3, 5), x(7, 5), x(7)),
    op("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), x(9), x(7, 5), x(5, 9)),
    op("baddbmm", torch.baddbmm, x(3, 7, 9), x(3, 7, 5), x(3, 5, 9)),
    op("baddbmm.int", lambda c, a, b: torch.baddbmm(c, a, b, beta=2.7, alpha=3.9), ints(3, 7, 9), ints(3, 7, 5), ints(3, 5, 9)),
    op("addbmm", torch.addbmm, x(7, 9), x(3, 7, 5), x(3, 5, 9)),
    op("addmv", torch.addmv, x(7), x(7, 5), x(5)),
    op("outer", torch.outer, x(4), x(5)),
    op("inner", torch.inner, x(2, 5), x(3, 5)),
    op("kron", torch.kron, x(2, 3), x(3, 2)),
    op("_addmm_activation", lambda a, b, c: (torch.ops.aten._addmm_activation(a, b, c, use_gelu=True),
       torch.ops.aten._addmm_activation(a, b, c, beta=0.5)), x(5), x(3, 4), x(4, 5)),
    op("_aminmax", lambda a: (*torch.ops.aten._aminmax(a), *torch.ops.aten._aminmax.dim(a, 1, True)), x(3, 4)),
    op("_add_relu", lambda a, b: torch.ops.aten._add_relu(a, b, alpha=2), x(3, 4), x(3, 4)),
    op("isin.numbers", lambda a: (torch.isin(a, 2), torch.isin(2, a), torch.isin(a, 2, invert=True), torch.isin(9, a, invert=True)), ints(30)),
    op("_stack", lambda a, b: torch.ops.aten._stack([a, b], 1), x(3, 4), x(3, 4)),
    op("tensordot", lambda a, b: torch.tensordot(a, b, ([1, 2], [1, 0])), x(2, 3, 4), x(4, 3, 5)),
    op("tensordot.one", lambda a, b: torch.tensordot(a, b, ([0, 1], [2, 0])), x(1, 1, 1), x(2, 1, 3)),
    op("_trilinear", lambda a, b, c: torch.ops.aten._trilinear(a, b, c, [1, 3], [0], [1, 2], [2, 3]),
       x(4, 3), x(2, 3, 5), x(4, 5)),  # fmt: skip
    op("_trilinear.bf16", lambda a, b, c: torch.ops.aten._trilinear(a, b, c, [1, 3], [0], [1, 2], [2, 3]),
       *(x(*sizes, dtype=torch.bfloat16) for sizes in ((40, 8), (8, 8, 8), (40, 8)))),
    op("bilinear", F.bilinear, x(4, 3), x(4, 5), x(2, 3, 5), x(2)),
    op("bilinear.bf16", F.bilinear, *(x(*sizes, dtype=torch.bfloat16) for sizes in ((40, 8), (40, 8), (8, 8, 8), (8,)))),
    op("matrix_power", lambda a: torch.linalg.matrix_power(a, 3), x(4, 4)),
    op("attention.written_out", written_attention, x(2, 4, 7, 8), x(2, 4, 9, 8), x(2, 4, 9, 8), first_row),
    op("attention.written_out.added", lambda q, k, v, m: torch.softmax(q @ k.mT * 0.3 + m, -1) @ v,
       x(2, 4, 7, 8), x(2, 4, 9, 8), x(2, 4, 9, 8), x(7, 9)),
    op("attention.written_out.below_float32", lambda q, k, v: torch.softmax((q * -1e20) @ (k * 1e20).mT, -1) @ v,
       x(2, 4, 7, 8, low=1), x(2, 4, 9, 8, low=1), x(2, 4, 9, 8)),
    # Weights are rounded to bf16, here and there; so that this does not count twice, values have one sign.
    *(op(f"attention.bf16.{name}", f, x(*q, dtype=torch.bfloat16), x(*k, dtype=torch.bfloat16), x(*v, dtype=torch.bfloat16, low=1))
      for name, f, q, k, v in [
        ("even", F.scaled_dot_product_attention, (2, 4, 7, 8), (2, 4, 10, 8), (2, 4, 10, 8)),
        ("odd", F.scaled_dot_product_attention, (2, 4, 7, 5), (2, 4, 9, 5), (2, 4, 9, 19)),
        ("long", F.scaled_dot_product_attention, (1, 2, 130, 64), (1, 2, 301, 64), (1, 2, 301, 64)),
        ("causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (1, 2, 99, 32), (1, 2, 99, 32), (1, 2, 99, 32)),
        ("heads_inside", lambda q, k, v: F.scaled_dot_product_attention(q.mT, k.mT, v.mT), (1, 2, 8, 33), (1, 2, 8, 35), (1, 2, 20, 35)),
        ("heads_last", lambda q, k, v: F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v))),
         (1, 33, 3, 16), (1, 35, 3, 16), (1, 35, 3, 16)),
      ]),
    op("attention", F.scaled_dot_product_attention, x(2, 4, 7, 8), x(2, 4, 9, 8), x(2, 4, 9, 8)),
    # Where the number of features is open, its scale has all digits too.
    op("attention.f64", F.scaled_dot_product_attention, *(x(2, 4, n, 6, dtype=torch.float64) for n in (7, 9, 9))),
    op("attention.no_features", F.scaled_dot_product_attention, x(2, 4, 7, 0), x(2, 4, 9, 0), x(2, 4, 9, 8), of_these_sizes=True),
    op("attention.no_features_at_all", F.scaled_dot_product_attention, x(2, 7, 0), x(2, 9, 0), x(2, 9, 0), of_these_sizes=True),
    op("attention.no_values", F.scaled_dot_product_attention, x(2, 7, 8), x(2, 9, 8), x(2, 9, 0), of_these_sizes=True),
    op("attention.causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), x(2, 4, 7, 8), x(2, 4, 7, 8), x(2, 4, 7, 8)),
    op("attention.mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), x(2, 4, 7, 8), x(2, 4, 9, 8), x(2, 4, 9, 8), x(7, 9)),
    op("attention.grouped", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), x(2, 4, 7, 8), x(2, 2, 9, 8), x(2, 2, 9, 8)),
    *(op(f"einsum.{e}", lambda *t, e=e: torch.einsum(e, *t), *(x(*shape) for shape in shapes)) for e, shapes in [
        ("ij,jk->ik", [(3, 4), (4, 5)]), ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("ii->i", [(4, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]), ("ij->ji", [(3, 4)]), ("ij,j,kj->ik", [(3, 4), (4,), (5, 4)]),
        ("i,j", [(3,), (4,)]), ("ij->", [(3, 4)]),
    ]),
]  # fmt: skip

losses = [
    *(op(f"{name}.{r}", lambda a, b, f=getattr(F, name), r=r: f(a, b, reduction=r), x(4, 5), x(4, 5))
      for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss") for r in ("none", "mean")),
    op("bce", F.binary_cross_entropy, x(9, low=0.05, high=0.95), x(9, low=0, high=1)),
    op("bce_logits", lambda a, b, w: F.binary_cross_entropy_with_logits(a, b, pos_weight=w), x(4, 9), x(4, 9, low=0, high=1), x(9, low=0.5)),
    op("kl_div", lambda a, b: F.kl_div(a, b, reduction="sum"), x(9), x(9, low=0)),
    op("nll_loss", lambda a, t, w: F.nll_loss(a, t, w, ignore_index=2), x(6, 4), ints(6, low=0, high=4), x(4, low=0.5)),
    op("nll_loss.2d", F.nll_loss, x(2, 4, 3, 3), ints(2, 3, 3, low=0, high=4)),
    op("cross_entropy", F.cross_entropy, x(6, 4), ints(6, low=0, high=4)),
    op("cross_entropy.smooth", lambda a, t: F.cross_entropy(a, t, label_smoothing=0.1), x(6, 4), ints(6, low=0, high=4)),
    op("cross_entropy.soft", F.cross_entropy, x(6, 4), x(6, 4, low=0, high=1)),
    *(op(f"multi_margin.{p}", lambda a, t, w, p=p: F.multi_margin_loss(a, t, p, 0.7, w), x(6, 4), ints(6, low=0, high=4), x(4, low=0.5)) for p in (1, 2)),
    op("multilabel_margin", lambda a: F.multilabel_margin_loss(a, torch.tensor([[3, 0, -1, 1], [1, 2, 3, -1]]), reduction="none"), x(2, 4)),
    op("cosine_embedding.bool", lambda a, b: F.cosine_embedding_loss(a, b, torch.tensor([1, -1, 1, 1])), bools(4, 9), bools(4, 9)),
    op("triplet", F.triplet_margin_loss, x(4, 9), x(4, 9), x(4, 9)),
    op("margin_ranking", F.margin_ranking_loss, x(9), x(9), x(9)),
]  # fmt: skip

ROWS = [*reductions, *contractions, *losses]

"""Attention in every form that its kernel on tensor cores has."""

import torch
from harness import Case
from nets import Function
from torch import nn
from torch.export import Dim

sdpa = nn.functional.scaled_dot_product_attention


def attention(**options):
    return Function(lambda q, k, v, *mask: sdpa(q, k, v, *mask, **options))


def wide_cases(inputs):
    """Heads of more than 128 features."""
    bfloat = torch.bfloat16
    yield Case("attention, 256 features", attention(), inputs(70, 100, 256, bfloat))
    yield Case("attention, 160 features, causal", attention(is_causal=True), inputs(75, 90, 160))
    yield Case("attention, wide values", attention(), inputs(40, 45, 64, results=256))
    across = Function(lambda q, k, v: sdpa(q, k.mT, v.mT))
    yield Case("attention, wide, keys side by side", across, across_inputs(inputs(40, 72, 256)))


def few_cases(inputs):
    """Few queries, whose keys are shared among blocks."""
    half, bfloat = torch.float16, torch.bfloat16
    grouped = attention(enable_gqa=True)
    yield Case("few queries, one part", attention(), inputs(1, 100, 64))
    yield Case("few queries, parts", attention(), inputs(1, 1000, 128, bfloat))
    yield Case("few queries, 8 of them", attention(), inputs(8, 700, 64))
    yield Case("few queries, 30 of them", attention(), inputs(30, 530, 128, bfloat))
    yield Case("few queries, groups", grouped, inputs(1, 600, 128, bfloat, heads=8, key_heads=2))
    yield Case("few queries, groups of several", grouped, inputs(3, 411, 64, heads=8, key_heads=2))
    yield Case("few queries, large groups", grouped, inputs(7, 300, 32, heads=16, key_heads=2))
    yield Case("few queries, causal", attention(is_causal=True), inputs(6, 600, 64))
    yield Case("few queries, groups, causal", attention(is_causal=True, enable_gqa=True),
               inputs(5, 5, 64, heads=4, key_heads=2))  # fmt: skip
    yield Case("few queries, 256 features", grouped, inputs(2, 350, 256, heads=4, key_heads=2))
    yield Case("few queries, odd features", grouped, inputs(2, 350, 21, heads=4, key_heads=2))
    yield Case("few queries, wide values", attention(), inputs(5, 300, 32, results=200))
    there = torch.arange(900) < 555
    yield Case("few queries, keys that are there", grouped,
               (*inputs(1, 900, 64, heads=4, key_heads=2), there[None, None, None]))  # fmt: skip
    mask = torch.rand(2, 4, 3, 400) > 0.5
    mask[0, 1, 2] = False
    yield Case("few queries, groups, bool mask", grouped, (*inputs(3, 400, 64, heads=4, key_heads=2), mask))
    bias = torch.randn(1, 4, 3, 401, dtype=half)
    yield Case("few queries, groups, float mask", grouped, (*inputs(3, 401, 64, heads=4, key_heads=2), bias))
    least = torch.full((1, 1, 3, 400), torch.finfo(bfloat).min, dtype=bfloat)
    yield Case("few queries, least float mask", attention(), (*inputs(3, 400, 64, bfloat), least))
    across = Function(lambda q, k, v: sdpa(q, k.mT, v.mT))
    yield Case("few queries, keys side by side", across, across_inputs(inputs(2, 400, 64)))
    yield Case("few queries, wide, keys side by side", across, across_inputs(inputs(2, 400, 256)))
    yield Case("few queries, side by side", Function(lambda q, k, v: sdpa(q.mT, k, v)),
               (torch.randn(2, 2, 64, 4, dtype=half), *inputs(4, 400, 64)[1:]))  # fmt: skip
    keys, batch = Dim("keys", min=2, max=100000), Dim("batch", min=1, max=64)
    yield Case("few queries, dynamic", grouped, inputs(1, 30, 64, heads=4, key_heads=2),
               [({}, {2: keys}, {2: keys})], [inputs(1, 1111, 64, heads=4, key_heads=2)])  # fmt: skip
    yield Case("few queries, dynamic batch", attention(), inputs(1, 600, 64), [({0: batch}, {0: batch}, {0: batch})])


def projected_cases(inputs):
    """Results that are stored with queries before heads, as a projection reads them."""

    def project(q, k, v, w, *mask):
        heads = sdpa(q, k, v, *mask, enable_gqa=True)
        return heads.transpose(1, 2).flatten(2) @ w

    def weight(size, dtype=torch.float16):
        return torch.randn(size, 40, dtype=dtype) / size**0.5

    mask = torch.rand(2, 1, 45, 70) > 0.3
    yield Case("projected", Function(project), (*inputs(130, 70, 64, heads=3), weight(192)))
    yield Case("projected, groups, mask", Function(project),
               (*inputs(45, 70, 32, heads=4, key_heads=2), weight(128), mask))  # fmt: skip
    yield Case("projected, few queries, groups", Function(project),
               (*inputs(3, 411, 64, heads=8, key_heads=2), weight(512)))  # fmt: skip
    full = torch.float32
    yield Case("projected, float32", Function(project), (*inputs(21, 30, 24, full, heads=3), weight(72, full)))


def across_inputs(tensors):
    """Keys and values with neighbours along the keys."""
    q, k, v = tensors
    return q, k.mT.contiguous(), v.mT.contiguous()


def cases():
    torch.manual_seed(0)
    half, bfloat = torch.float16, torch.bfloat16

    def inputs(queries, keys, features, dtype=half, heads=2, key_heads=None, results=None):
        key_heads = key_heads or heads
        return (
            torch.randn(2, heads, queries, features, dtype=dtype),
            torch.randn(2, key_heads, keys, features, dtype=dtype),
            torch.randn(2, key_heads, keys, results or features, dtype=dtype),
        )

    yield Case("attention", attention(), inputs(128, 128, 64))
    yield Case("attention, odd lengths", attention(), inputs(77, 51, 64, bfloat))
    yield Case("attention, short", attention(), inputs(3, 5, 32))
    yield Case("attention, one query", attention(), inputs(1, 150, 64))
    yield Case("attention, 128 features", attention(), inputs(70, 130, 128, bfloat))
    yield Case("attention, 80 features", attention(), inputs(33, 65, 80))
    yield Case("attention, odd features", attention(), inputs(20, 30, 21))
    yield Case("attention, other values", attention(), inputs(40, 70, 32, results=96))
    yield Case("attention, causal", attention(is_causal=True), inputs(150, 150, 64))
    yield Case("attention, causal, other lengths", attention(is_causal=True), inputs(140, 70, 32, bfloat))
    pairs = 2 * Dim("pairs", min=1, max=1000)
    yield Case("attention, causal, dynamic even length", attention(is_causal=True), inputs(150, 150, 64),
               [({2: pairs}, {2: pairs}, {2: pairs})], [inputs(470, 470, 64)])  # fmt: skip
    # So many heads that warpgroups share keys; of three tiles of a head one has no other to go with.
    yield Case("attention, in turns", attention(), inputs(128, 72, 32, heads=34))
    yield Case("attention, in turns, causal", attention(is_causal=True), inputs(300, 300, 32, bfloat, heads=33))
    yield Case("attention, scale", attention(scale=0.3), inputs(40, 64, 64))
    yield Case("attention, groups", attention(enable_gqa=True), inputs(50, 60, 64, heads=4, key_heads=2))
    mask = torch.rand(2, 1, 90, 100) > 0.3
    mask[:, :, 7] = False
    yield Case("attention, bool mask", attention(), (*inputs(90, 100, 64), mask))
    bias = torch.randn(1, 2, 40, 70, dtype=half)
    yield Case("attention, float mask", attention(), (*inputs(40, 70, 64), bias))
    yield Case("attention, mask of keys", attention(), (*inputs(40, 70, 64), torch.rand(2, 1, 1, 70) > 0.5))
    def split(x):
        q, k, v = x.view(2, 60, 3, 4, 32).permute(2, 0, 3, 1, 4)
        return sdpa(q, k, v).transpose(1, 2).reshape(2, 60, 128)

    yield Case("attention, heads side by side", Function(split), (torch.randn(2, 60, 384, dtype=half),))
    length = Dim("length", min=2, max=1000)
    yield from wide_cases(inputs)
    yield from few_cases(inputs)
    yield from projected_cases(inputs)
    yield Case("attention, dynamic", attention(), inputs(30, 30, 64), [({2: length}, {2: length}, {2: length})],
               [inputs(170, 170, 64)])  # fmt: skip

"""Attention in every form that its kernel on tensor cores has."""

import torch
from harness import Case
from nets import Function
from torch import nn
from torch.export import Dim

sdpa = nn.functional.scaled_dot_product_attention


def attention(**options):
    return Function(lambda q, k, v, *mask: sdpa(q, k, v, *mask, **options))


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
    yield Case("attention, dynamic", attention(), inputs(30, 30, 64), [({2: length}, {2: length}, {2: length})],
               [inputs(170, 170, 64)])  # fmt: skip

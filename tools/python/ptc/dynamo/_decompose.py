"""Operators that ptc does not know, in terms of others.

Some stand for whole modules: torch takes them in eval mode without gradients, its "fast paths".
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import torch
import torch._decomp
import torch._prims
from torch import Tensor
from torch.nn import functional as F

from .._compiler import run

aten = torch.ops.aten


def _masked(scores: Tensor, mask: Tensor | None, mask_type: int | None) -> Tensor:
    """`mask` says what is left out; its type, whether it is of places (0), of keys (1) or whole (2)."""
    if mask is None:
        return scores
    batch, _, length, keys = scores.shape
    shape = {0: (1, 1, length, keys), 1: (batch, 1, 1, keys)}.get(mask_type, mask.shape)
    return scores.masked_fill(mask.to(torch.bool).view(shape), float("-inf"))


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    batch, length, _ = query.shape
    q, k, v = (
        F.linear(x, w, b).view(x.shape[0], x.shape[1], num_head, embed_dim // num_head).transpose(1, 2)
        for x, w, b in zip((query, key, value), weights, biases)
    )
    if mask is None and not need_weights:
        attended, shares = F.scaled_dot_product_attention(q, k, v), None
    else:
        scores = (q * (embed_dim // num_head) ** -0.5) @ k.transpose(-2, -1)
        shares = _masked(scores, mask, mask_type).softmax(-1)
        attended = shares @ v
    result = F.linear(attended.transpose(1, 2).reshape(batch, length, embed_dim), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, shares.mean(1) if average_attn_weights else shares


def encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    def attend(x: Tensor) -> Tensor:
        return multi_head_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def feed_forward(x: Tensor) -> Tensor:
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    def norm1(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm2(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attend(norm1(src))
        return src + feed_forward(norm2(src))
    src = norm1(src + attend(src))
    return norm2(src + feed_forward(src))


def lstm_layer(
    x: Tensor,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias_input: Tensor,
    bias_hidden: Tensor,
    hidden: Tensor,
    cell: Tensor,
    reverse: bool,
    batch_sizes: list[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One layer in one direction: torch takes the others apart before. The workspace is nothing that anyone reads."""
    gates = F.linear(x, weight_input, bias_input if has_biases else None)
    bias = bias_hidden if has_biases else None
    hidden, cell = hidden[0], cell[0]
    results = []
    for step in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
        i, f, g, o = (step + F.linear(hidden, weight_hidden, bias)).chunk(4, -1)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        results.append(hidden)
    if reverse:
        results.reverse()
    return torch.stack(results), hidden[None], cell[None], x.new_empty(0, dtype=torch.uint8)


def upsample_nearest_backward(
    grad: Tensor, output_size: list[int], input_size: list[int], *scales: float | None, is_exact: bool = False
) -> Tensor:
    """Each output's derivative goes to the one input that it is a copy of; one dimension at a time."""
    scales = (*scales, *[None] * (len(output_size) - len(scales)))
    for axis, (count, size, scale) in enumerate(zip(output_size, input_size[2:], scales), start=2):
        step = 1 / scale if scale is not None else size / count
        places = (torch.arange(count, dtype=torch.float32, device=grad.device) + (0.5 if is_exact else 0)) * step
        shape = [*grad.shape[:axis], size, *grad.shape[axis + 1 :]]
        grad = grad.new_zeros(shape).index_add(axis, places.to(torch.int64).clamp(max=size - 1), grad)
    return grad


_OPERATORS: dict[Any, Callable[..., Any]] = {
    aten._native_multi_head_attention.default: multi_head_attention,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
    aten.mkldnn_rnn_layer.default: lstm_layer,
    **{
        getattr(aten, f"upsample_nearest{rank}d_backward").default: upsample_nearest_backward for rank in (1, 2, 3)
    },
    **{
        getattr(aten, f"_upsample_nearest_exact{rank}d_backward").default: functools.partial(
            upsample_nearest_backward, is_exact=True
        )
        for rank in (1, 2, 3)
    },
}


def _of_prims() -> dict[Any, Callable[..., Any]]:
    """Elementwise operators of torch.ops.prims, each with the ATen operator that it is a part of."""
    packets = [getattr(torch.ops.prims, name, None) for name in torch._prims.__all__]
    return {
        packet.default: packet.impl_aten
        for packet in packets
        if getattr(getattr(packet, "prim_meta_impl", None), "func", None) is torch._prims._prim_elementwise_meta
        and packet is not torch.ops.prims.convert_element_type
    }


@functools.cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """The above, and PyTorch's own for operators that ptc does not know: parts of derivatives, mostly."""
    refused = {entry["name"] for entry in json.loads(run("ops", "--json")) if not entry["supported"]}
    # torch._refs goes on to torch.ops.prims, of which ptc would know no more.
    return _OPERATORS | _of_prims() | {
        operator: function
        for operator, function in torch._decomp.decomposition_table.items()
        if isinstance(operator, torch._ops.OpOverload)
        and operator.namespace == "aten"
        and f"{operator._opname}.{operator._overloadname}" in refused
        and operator not in _OPERATORS
        and not getattr(function, "__module__", "").startswith("torch._refs")
    }

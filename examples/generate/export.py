#!/usr/bin/env python3
"""Trains a small decoder on the text of LICENSE, and exports it with its cache of keys and values (needs torch 2.11).

From here to a text, in this order; each line takes seconds:

    python3 examples/generate/export.py decoder.pt2
    ptc compile decoder.pt2 -o decoder.so
    PYTHONPATH=tools/python python3 examples/generate/generate.py ./decoder.so 80 "The License" "You may add"
    c++ -std=c++17 -O2 -Iruntime/include examples/generate/generate.cpp -o generate -ldl
    ./generate ./decoder.so 80 "The License" "You may add"

The cache is a pair of buffers in each layer, which calls update in place: they are states of the library
(docs/c-abi.md#states). So one library takes a whole prompt and single tokens. A call gives the tokens that are new, 1
to 256 of them, and the position of the first; it answers the logits of what comes next. What the cache has from that
position on is written over or not looked at, so that position 0 begins a new text without more ado.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

TEXT = Path(__file__).resolve().parents[2] / "LICENSE"
CAPACITY = 256  # tokens of a text; another one is refused as an index out of range
WIDTH, HEADS, LAYERS = 64, 4, 2


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions: pairs of a vector's numbers turn, each pair at a pace of its own."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 1000.0 ** (-torch.arange(half) / half)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)


class Attention(nn.Module):
    """To the tokens before: in training those of the call, later those of the cache."""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(HEADS, CAPACITY, WIDTH // HEADS))

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        parts = self.project(x).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(-3, -2) for part in parts)
        q, k = rotate(q, positions), rotate(k, positions)
        if self.training:
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            self.keys.index_copy_(1, positions, k)
            self.values.index_copy_(1, positions, v)
            is_seen = torch.arange(CAPACITY) <= positions[:, None]
            mixed = nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=is_seen)
        return self.output(mixed.transpose(-3, -2).flatten(-2))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mix = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), positions)
        return x + self.mix(self.norm2(x))


class Decoder(nn.Module):
    """Tokens are bytes. In training it answers the logits behind each token, later those behind the last."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256)

    def forward(self, tokens: Tensor, start: Tensor) -> Tensor:
        positions = start + torch.arange(tokens.shape[-1])
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(self.norm(x if self.training else x[-1]))


def train(model: Decoder, text: bytes, steps: int = 600, batch: int = 6, length: int = 96) -> None:
    tokens, start = torch.tensor(list(text)), torch.tensor(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps, pct_start=0.1)
    model.train()
    for step in range(steps):
        begins = torch.randint(len(tokens) - length, (batch, 1))
        windows = tokens[begins + torch.arange(length + 1)]
        logits = model(windows[:, :-1], start)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.2f}")
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more are hardly faster at steps as small as these
    model = Decoder()
    train(model, " ".join(TEXT.read_text().split()).encode()[:5000])
    example = torch.zeros(8, dtype=torch.int64), torch.tensor(0)
    count = Dim("count", min=1, max=CAPACITY)
    program = torch.export.export(model, example, dynamic_shapes={"tokens": {0: count}, "start": None})
    torch.export.save(program, sys.argv[1])


if __name__ == "__main__":
    main()

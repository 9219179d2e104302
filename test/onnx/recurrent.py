"""Recurrent networks whose weights are bytes, as ONNX Runtime computes them with one thread, in NumPy."""

from __future__ import annotations

import numpy as np
from fused import fused, quantize, row
from onnx import TensorProto
from rows import Row, value

random = np.random.default_rng(0)
INPUTS, HIDDEN = 20, 16


def product(x: np.ndarray, w: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """All of x is rounded to bytes of one scale."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = np.float32(high - low) / np.float32(255)
    point = int(np.clip(np.rint(-low / step), 0, 255))
    codes = quantize(x, step, point).astype(np.int32) - point
    return (codes @ (w.astype(np.int32) - zero)).astype(np.float32) * (step * scale)


def turned(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Every sequence from its end."""
    y = x.copy()
    for i, length in enumerate(lengths):
        y[:length, i] = x[:length, i][::-1]
    return y


def one_way(x: np.ndarray, h: np.ndarray, c: np.ndarray, lengths: np.ndarray, w: tuple, r: tuple, bias: np.ndarray, peepholes: np.ndarray, clip: float) -> tuple:
    """All outputs, and the last states of every sequence."""
    def gate(of: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-np.clip(of, -clip, clip)))

    y, last = np.zeros((*x.shape[:2], HIDDEN), np.float32), [h.copy(), c.copy()]
    inputs = product(x[: lengths.max()], *w) + bias
    for step, of_x in enumerate(inputs):
        i, o, f, g = np.split(of_x + product(h, *r), 4, 1)
        p, q, s = np.split(peepholes, 3)
        i, f = gate(i + p * c), gate(f + s * c)
        c = (f * c + i * np.tanh(np.clip(g, -clip, clip))).astype(np.float32)
        h = (gate(o + q * c) * np.tanh(c) * (step < lengths)[:, None]).astype(np.float32)
        y[step] = h
        for state, now in zip(last, (h, c), strict=True):
            state[lengths == step + 1] = now[lengths == step + 1]
    return y, *last


def lstm(name: str, kind: type, perColumn: bool, steps: list[int], lengths: list[int] | None = None, clip: float | None = None) -> Row:
    """Both ways; with lengths there are peepholes too."""
    limits, sizes = np.iinfo(kind), (2, 4 * HIDDEN) if perColumn else (2,)
    constants = {
        **{n: random.integers(limits.min, limits.max + 1, (2, rows, 4 * HIDDEN)).astype(kind) for n, rows in (("w", INPUTS), ("r", HIDDEN))},
        **{n: random.uniform(0.001, 0.004, sizes).astype(np.float32) for n in ("ws", "rs")},
        **{n: np.full(sizes, 0 if kind is np.int8 else 128, kind) for n in ("wz", "rz")},
        "b": random.standard_normal((2, 8 * HIDDEN)).astype(np.float32),
    }
    if lengths:
        constants |= {"n": np.array(lengths, np.int32), "p": random.standard_normal((2, 3 * HIDDEN)).astype(np.float32)}
    feeds, answers = [], []
    for count in steps:
        feed = {"x": (count, 3, INPUTS), "h": (2, 3, HIDDEN), "c": (2, 3, HIDDEN)}
        feed = {n: random.standard_normal(size).astype(np.float32) for n, size in feed.items()}
        known = np.array(lengths or [count] * 3)
        ways = []
        for d, order in enumerate((lambda x: x, lambda x, known=known: turned(x, known))):
            w, r = ((constants[n][d], constants[f"{n}s"][d], constants[f"{n}z"][d].astype(np.int32)) for n in "wr")
            y, *last = one_way(order(feed["x"]), feed["h"][d], feed["c"][d], known, w, r, constants["b"][d].reshape(2, -1).sum(0),
                               constants["p"][d] if lengths else np.zeros(3 * HIDDEN, np.float32), clip or np.inf)
            ways.append((order(y), *last))
        feeds.append(feed)
        answers.append([np.stack(part, 0 if i else 1) for i, part in enumerate(zip(*ways, strict=True))])
    more = {"clip": clip} if clip else {}
    inputs = ["x", "w", "r", "b", "n" if lengths else "", "h", "c", "p" if lengths else "", "ws", "wz", "rs", "rz"]
    outputs = [value(n, TensorProto.FLOAT, None) for n in ("y", "yh", "yc")]
    return row(name, fused("DynamicQuantizeLSTM", inputs, ["y", "yh", "yc"], hidden_size=HIDDEN, direction="bidirectional", **more), feeds, answers,
               constants, outputs, symbols=None if lengths else {"x": ["n", 3, INPUTS]})


RECURRENT = [
    lstm("lstm", np.int8, False, [4, 1, 30]),
    lstm("lstm-with-lengths", np.uint8, True, [9], [7, 3, 5], 0.9),
]

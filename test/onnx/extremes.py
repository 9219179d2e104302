"""Axes that an operand does not have, and counts that would take hours or all memory: each is an error that names the node."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from rows import FLOAT, INT64, int64, model, node, value

MANY = 1 << 30


def declared(*sizes: int) -> onnx.ValueInfoProto:
    return value("y", FLOAT, sizes)


def scan(sizes: list[int], opset: int = 8) -> onnx.ModelProto:
    """Before opset 9 batches come first."""
    body = helper.make_graph([node("Add", ["s", "r"], ["t"]), node("Neg", ["r"], ["o"])], "body",
                             [value("s", FLOAT, []), value("r", FLOAT, [])], [value("t", FLOAT, []), value("o", FLOAT, [])])
    return model([node("Scan", ["", "s0", "x"][opset > 8 :], ["last", "y"], body=body, num_scan_inputs=1)],
                 {"s0": sizes[:-1], "x": sizes}, ["y"], opset=opset)


def mel(high: float) -> onnx.ModelProto:
    return model([node("MelWeightMatrix", ["bins", "length", "rate", "low", "high"], ["y"])], {}, ["y"],
                 {"bins": np.int64(4), "length": np.int64(16), "rate": np.int64(8192), "low": np.float32(0), "high": np.float32(high)})


ONE = {"at": (INT64, [1])}
EXTREMES = [
    ("slice-of-a-scalar", model([node("Slice", ["x", "at", "at"], ["y"])], {"x": [], **ONE}, [declared()]), ["(Slice)"]),
    ("slice-of-no-such-axis", model([node("Slice", ["x", "at", "at", "axis"], ["y"])], {"x": [], **ONE}, [declared()], {"axis": int64(0)}), ["(Slice)"]),
    ("slice-with-many-starts", model([node("Slice", ["x", "at", "at"], ["y"])], {"x": [4], "at": (INT64, [MANY])}, [declared(4)]), ["(Slice)"]),
    ("pads-of-a-scalar", model([node("Pad", ["x", "pads", "", "axis"], ["y"])], {"x": []}, ["y"], {"pads": int64(1, 1), "axis": int64(0)}, opset=18), ["(Pad)"]),
    ("crop-of-a-scalar", model([node("CenterCropPad", ["x", "shape"], ["y"], axes=[0])], {"x": []}, ["y"], {"shape": int64(4)}, opset=18), ["(CenterCropPad)"]),
    ("crop-to-what-is-declared", model([node("CenterCropPad", ["x", "at"], ["y"], axes=[0])], {"x": [], **ONE}, [declared()], opset=18), ["(CenterCropPad)"]),
    ("resize-of-a-scalar", model([node("Resize", ["x", "", "scale"], ["y"], axes=[0])], {"x": [], "scale": [1]}, [declared()], opset=18), ["(Resize)"]),
    ("largest-of-a-scalar", model([node("TopK", ["x", "k"], ["y", "i"])], {"x": [], "k": (INT64, [1])}, [declared()]), ["(TopK)"]),
    ("split-in-many", model([node("SplitToSequence", ["x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"x": [MANY]}, ["y"]), ["4096 parts"]),
    ("split-in-many-of-one", model([node("SplitToSequence", ["x", "one"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"x": [MANY]}, ["y"], {"one": np.int64(1)}), ["4096 parts"]),
    ("split-in-less-than-none", model([node("SplitToSequence", ["x", "parts"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"x": [4]}, ["y"], {"parts": int64(2, -1, 3)}), ["(SplitToSequence)", "a part of size -1"]),
    ("split-of-a-part", model([node("SplitToSequence", ["x", "parts"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], {"x": [4]}, ["y"], {"parts": int64(2, 1)}), ["(SplitToSequence)", "sizes of 4 and 3"]),
    ("scan-of-many", scan([MANY, 2]), ["(Scan)", "batches"]),
    ("scan-of-a-scalar", scan([], opset=17), ["(Scan)"]),
    ("mel-of-infinity", mel(3e38), ["(MelWeightMatrix)", "Hz"]),
    ("mel-of-what-is-none", mel(float("nan")), ["(MelWeightMatrix)", "Hz"]),
    *[(f"n-grams-{name}", model([node("TfIdfVectorizer", ["x"], ["y"], **{"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
                                 "pool_int64s": [1, 2], "ngram_counts": [0], "ngram_indexes": [0, 1]} | change)], {"x": (INT64, [4])}, ["y"]), ["(TfIdfVectorizer)", "do not fit"])
      for name, change in (("skipping-many", {"max_skip_count": (1 << 63) - 1}), ("beyond-the-pool", {"ngram_counts": [7]}),
                           ("of-no-column", {"ngram_indexes": [0, -1]}), ("of-many-columns", {"ngram_indexes": [0, MANY]}),
                           ("of-half-a-pair", {"max_gram_length": 2, "ngram_counts": [0, 1], "ngram_indexes": [0]}),
                           ("longer-than-known", {"max_gram_length": 5}))],
    ("frames-of-many", model([node("STFT", ["x", "step", "window"], ["y"])], {"x": [1, 40, 1], "step": (INT64, [])}, [declared(1, MANY, 5, 2)],
                             {"window": np.ones(8, np.float32)}), ["(STFT)"]),
    ("lrn-of-many", model([node("LRN", ["x"], ["y"], size=MANY)], {"x": [1, 2, 3, 3]}, ["y"]), ["(LRN)"]),
    ("window-of-many", model([node("AveragePool", ["x"], ["y"], kernel_shape=[1 << 20], dilations=[2])], {"x": [1, 1, 1 << 22]}, ["y"], opset=19), ["(AveragePool)", "4096"]),
]

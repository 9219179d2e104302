"""Mistakes that people make with ptc: each answer says what is wrong, where, and what to do.

    mistakes.py PTC DIGITS ONNX

DIGITS is examples/digits, ONNX a small model in that form. An error is one line, ends with the status of its kind (1 the
model's fault, 2 the command line's), and leaves the folder as it was. A warning is one line of a command that succeeds.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

PTC, DIGITS, ONNX = (Path(argument).resolve() for argument in sys.argv[1:4])

GRAPH = """ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, image: "f32[s0, 3, 8, 6]", ids: "i64[s0]", p_table: "f32[10, 4]"):
            # File: net.py:12 in forward, code: pooled = image.mean((2, 3))
            pooled: "f32[s0, 3]" = torch.ops.aten.mean.dim(image, [2, 3])
            # File: net.py:13 in forward, code: rows = self.table(ids)
            rows: "f32[s0, 4]" = torch.ops.aten.embedding.default(p_table, ids)
            return (pooled, rows)

Graph signature:
    # inputs
    image: USER_INPUT
    ids: USER_INPUT
    p_table: PARAMETER target='table.weight'

    # outputs
    pooled: USER_OUTPUT
    rows: USER_OUTPUT

Range constraints: {s0: VR[2, 64]}
"""
FOREIGN_OPERATOR = GRAPH.replace("aten.mean.dim(image, [2, 3])", "mylib.pool.default(image, [2, 3])")
MISSPELT_OPERATOR = GRAPH.replace("aten.mean.dim", "aten.maen.dim")
CUT_LINE = GRAPH.replace("torch.ops.aten.mean.dim(image, [2, 3])", "torch.ops.aten.mean.dim(image, [2, 3")
FORMATS = {"F32": "f", "F64": "d", "I64": "q"}


def pack(**tensors: tuple[str, list[int], float]) -> bytes:
    """A safetensors file of tensors, each with a type, a shape and the value of all of its elements."""
    header, data = {}, b""
    for name, (dtype, shape, value) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        content = struct.pack(f"<{count}{FORMATS[dtype]}", *[value] * count)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


IMAGE, IDS = ("F32", [4, 3, 8, 6], 0), ("I64", [4], 1)
TABLE = {"table.weight": ("F32", [10, 4], 0.5)}


@dataclass(frozen=True)
class Mistake:
    """A command line, and what its answer has in it."""

    name: str
    command: str  # words; the folder below is where it runs
    status: int  # 0: a warning
    where: str
    what: str
    advice: str


def compiling(name: str, arguments: str, where: str, what: str, advice: str, status: int = 1) -> Mistake:
    return Mistake(name, f"compile {arguments} -o out.so", status, where, what, advice)


def running(name: str, inputs: str, where: str, what: str, advice: str) -> Mistake:
    return Mistake(name, f"run model.so --inputs {inputs} --outputs out.safetensors", 1, where, what, advice)


MISTAKES = [
    # Tensors of a call.
    running("another element type", "f64.safetensors", "'image'", "float64", "float32"),
    running("a dimension less", "rank.safetensors", "'image'", "3 dimensions", "4"),
    running("channels last", "layout.safetensors", "'image'", "[4, 8, 6, 3]", "channels last"),
    running("a size of its own", "rows.safetensors", "'ids'", "size 5", "4"),
    running("a size beyond the range", "range.safetensors", "'image'", "size 65", "2..64"),
    running("an index beyond the table", "index.safetensors", "net.py:13", "10", "0..9"),
    running("a misspelt name", "keyword.safetensors", "'imgae'", "no input", "image"),
    running("an input left out", "missing.safetensors", "'ids'", "missing", "image, ids"),
    running("an input twice", "twice.safetensors", "'image'", "twice", "name"),
]

"""The file of a capture, and the weights beside it."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from typing import Any

from .errors import CaptureError
from .record import Capture

FORMAT = 1


def write_atomically(path: str, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".ptc-capture-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


SAFETENSORS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL", "complex64": "C64", "uint16": "U16", "uint32": "U32",
    "uint64": "U64",
}  # fmt: skip


def safetensors(tensors: dict[str, Any]) -> bytes:
    """torch alone is enough to write them."""
    import torch

    header, pieces, offset = {}, [], 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in SAFETENSORS:
            raise CaptureError(f"weight '{name}' is {dtype}, which safetensors does not have")
        content = bytes(tensor.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""
        ends = offset + len(content)
        header[name] = {"dtype": SAFETENSORS[dtype], "shape": list(tensor.shape), "data_offsets": [offset, ends]}
        pieces.append(content)
        offset = ends
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *pieces])


def json_lines(head: dict[str, Any]) -> list[str]:
    """An element of a list to a line, to be read and compared by people."""
    members = []
    for key, value in head.items():
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(element) for element in value) + "\n ]"
        else:
            text = json.dumps(value)
        members.append(f" {json.dumps(key)}: {text}")
    return ["{\n", ",\n".join(members), "\n}"]


def to_text(capture: Capture, name: str) -> str:
    import torch

    head = {
        "target": name,
        "torch": torch.__version__,
        "graphs": capture.graphs,
        "breaks": capture.breaks,
        "paths": capture.paths,
        "guards": capture.guards,
    }
    pieces = [f"ptc capture {FORMAT}\n", *json_lines(head), "\n"]
    for index, text in enumerate(capture.texts):
        pieces.append(f"=== graph {index}\n{text}")
    return "".join([*pieces, "=== end\n"])

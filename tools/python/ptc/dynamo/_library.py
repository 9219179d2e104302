"""The libraries that graphs became, on disk."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import torch

from .. import _compiler
from .._model import Model
from ._graph import Graph, Refused

_NAMES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.uint16: "U16",
    torch.uint32: "U32",
    torch.uint64: "U64",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e4m3fnuz: "F8_E4M3FNUZ",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
}


def compile_graph(graph: Graph, march: str, gpu_arch: str | None, fallback: bool) -> Model:
    """Loads the library of a graph, and compiles it when the cache has none. `gpu_arch` None: the GPU's own.
    `fallback`: operators that ptc does not compile are torch's."""
    folder = _compiler.cache_directory() / "dynamo"
    header, chunks = _safetensors(graph.constants)
    target, machine = graph.device.type, f"{march}\n{_compiler.machine()}"
    if target == "cuda":
        machine = gpu_arch = gpu_arch or _architecture(graph.device)
    identity = f"{_compiler.build()}\n{target}\n{machine}\n{fallback}"
    key = _compiler.digest(identity.encode(), graph.text.encode(), header, *chunks)
    library = folder / f"{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # The text stays beside the library: messages name it, and it can be compiled and explained by hand.
        text = folder / f"{key}.graph"
        _write(text, [graph.text.encode()])
        weights = folder / f"{key}.safetensors"
        try:
            _write(weights, [len(header).to_bytes(8, "little"), header, *chunks])
            options = {"weights": weights, "march": march, "target": target, "gpu_arch": gpu_arch, "fallback": fallback}
            _compiler.compile_file(text, library, options)
        finally:
            weights.unlink(missing_ok=True)
    model = Model(library, device=graph.device if target == "cuda" else None)
    if target == "cuda" and model.externals:
        raise Refused(f"{model.externals[0].name} of torch's cannot run within a library for a GPU")
    try:
        model.register_torch_operators()
    except LookupError as error:
        raise Refused(str(error)) from None
    return model


def _architecture(gpu: torch.device) -> str:
    """What to compile for: a GPU as Hopper's has instructions of its own, all others run Ampere's code."""
    capability = torch.cuda.get_device_capability(gpu)
    if capability < (8, 0):
        name = torch.cuda.get_device_name(gpu)
        raise Refused(f"{gpu} ({name}) has compute capability {capability[0]}.{capability[1]}, and ptc needs 8.0")
    return "sm_90a" if capability == (9, 0) else "sm_80"


def _write(path: Path, chunks: list[bytes | memoryview]) -> None:
    """Whole or not at all: other processes may write the same."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
    os.replace(name, path)


def _safetensors(tensors: dict[str, torch.Tensor]) -> tuple[bytes, list[memoryview]]:
    """The header and the bytes of a file with these tensors."""
    entries, chunks, offset = {}, [], 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise Refused(f"a constant of type {tensor.dtype}")
        dense = tensor.detach().resolve_conj().resolve_neg().contiguous().cpu()
        memory = memoryview(dense.reshape(-1).view(torch.uint8).numpy()) if dense.numel() else memoryview(b"")
        entries[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(memory)],
        }
        chunks.append(memory)
        offset += len(memory)
    header = json.dumps(entries).encode()
    return header + b" " * (-len(header) % 8), chunks

"""Compiles PyTorch models and calls the libraries that come of it, through their C interface: no extension module.

    import numpy, ptc

    ptc.compile("model.pt2", "model.so")
    model = ptc.load("model.so")
    results = model(numpy.zeros((1, 3, 224, 224), "float32"))
    print(results[0].numpy())                  # or by the output's name: results["logits"]

Inputs are NumPy arrays or anything with DLPack (torch, jax); numbers will do for 0-d inputs. Results are
`ptc.Tensor`: `.numpy()` and `torch.from_dlpack(y)` share their memory. NumPy is all that this needs. A model for GPUs
takes tensors of torch's and CuPy's there, in their current stream, and answers such.

Where torch is installed, `torch.compile(module, backend="ptc")` compiles what it captures (`ptc.dynamo`).
"""

from __future__ import annotations

import os
from typing import Any

from ._compiler import compile, executable
from ._errors import CompileError, CompileWarning, Error, MismatchError, OutOfRangeError
from ._model import Activity, Dim, External, Memory, Model, Symbol, TensorInfo
from ._results import Results
from ._tensor import Tensor
from ._version import __version__

__all__ = [
    "Activity",
    "CompileError",
    "CompileWarning",
    "Dim",
    "Error",
    "External",
    "Memory",
    "MismatchError",
    "Model",
    "OutOfRangeError",
    "Results",
    "Symbol",
    "Tensor",
    "TensorInfo",
    "__version__",
    "compile",
    "executable",
    "load",
]


def load(
    path: str | os.PathLike[str],
    threads: int = 0,
    waiting: str | None = None,
    check: bool = False,
    device: Any = None,
) -> Model:
    """Opens a library that ptc compiled. `threads`, `waiting`: how many a call may use and how they wait, as the
    model's properties of these names have it. `check`: reads the whole file and compares it with the hash that it was
    written with. `device`: where a model for GPUs runs, "cuda:1" or as torch's; None, "cuda": on the current device."""
    return Model(path, threads, waiting, check, device)

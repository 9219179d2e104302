"""The compiler as a program: where it is, and how it is called."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ._errors import CompileError

_HERE = Path(__file__).resolve().parent


def executable() -> Path:
    """The program `ptc`: what PTC_EXECUTABLE names, else the one in this package, else the one on the PATH."""
    if named := os.environ.get("PTC_EXECUTABLE"):
        return Path(named)
    packaged = _HERE / "bin" / "ptc"
    if packaged.exists():
        return packaged
    if found := shutil.which("ptc"):
        return Path(found)
    raise FileNotFoundError(
        "the program ptc is not in this package and not on the PATH (install the wheel, or set PTC_EXECUTABLE)"
    )


def run(*arguments: str | os.PathLike[str]) -> str:
    """What the program prints when it is called with these arguments; its error is a CompileError."""
    done = subprocess.run([executable(), *arguments], capture_output=True, text=True)
    if done.returncode:
        message = done.stderr.strip().removeprefix("ptc: error: ") or f"ptc ended with {done.returncode}"
        raise CompileError(done.returncode, message)
    return done.stdout


def compile(model: Any, output: str | os.PathLike[str], args: tuple | None = None, *, dynamic_shapes: Any = None,
            **options: Any) -> Path:
    """Compiles MODEL to the library OUTPUT, and answers its path.

    MODEL is the path of a .pt2, .graph, .onnx or .mlir file, a torch.export.ExportedProgram, or a torch.nn.Module,
    which torch.export.export(MODEL, ARGS, dynamic_shapes=DYNAMIC_SHAPES) exports first, in the mode it is in.
    Options are those of `ptc compile`, with underscores: `march="x86-64-v3"`, `target="cuda"`, `fallback=True`,
    `clip_grad_norm=1.0`; a list gives an option several times, None and False leave it out.

    Raises CompileError with ptc's message, and where in the model's source, when the model or an option is refused;
    then nothing is written.
    """
    arguments: list[str] = []
    for name, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if each is not None and each is not False:
                arguments.append("--" + name.replace("_", "-"))
                arguments += [] if each is True else [os.fspath(each) if isinstance(each, os.PathLike) else str(each)]
    if isinstance(model, (str, os.PathLike)):
        if args is not None or dynamic_shapes is not None:
            raise TypeError("args and dynamic_shapes are for a module, which is exported; a file is exported already")
        run("compile", model, "-o", output, *arguments)
        return Path(output)
    import torch

    if isinstance(model, torch.nn.Module):
        if args is None:
            raise TypeError("a module is exported with example inputs: ptc.compile(module, output, (x,))")
        model = torch.export.export(model, tuple(args), dynamic_shapes=dynamic_shapes)
    elif not isinstance(model, torch.export.ExportedProgram):
        raise TypeError(f"the model is a path, an ExportedProgram or a torch.nn.Module, not {type(model).__name__}")
    with tempfile.TemporaryDirectory(prefix="ptc-") as folder:
        file = Path(folder, "model.pt2")
        torch.export.save(model, file)
        run("compile", file, "-o", output, *arguments)
    return Path(output)


@functools.cache
def machine() -> str:
    """What code for `--march native` depends on: the processor's name and extensions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")
    found = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in wanted:
            found.setdefault(name.strip(), value.strip())
    return repr(sorted(found.items()))


def build() -> str:
    """Tells builds of the program apart, without reading it."""
    status = executable().stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def cache_directory() -> Path:
    """PTC_CACHE_DIR, else ptc in the user's cache folder."""
    if named := os.environ.get("PTC_CACHE_DIR"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ptc"


def digest(*parts: bytes | memoryview) -> str:
    """A name for these bytes in a cache."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:32]

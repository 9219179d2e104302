"""The compiler as a program: where it is, and how it is called."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._errors import CompileError, CompileWarning
from ._options import to_arguments

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
    return _call(*arguments).stdout


def _call(*arguments: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([executable(), *arguments], capture_output=True, text=True)
    if done.returncode:
        errors = _told(done.stderr, "error") or [done.stderr.strip() or f"ptc ended with {done.returncode}"]
        raise CompileError(done.returncode, "\n".join(errors))
    return done


def _told(text: str, kind: str) -> list[str]:
    """The errors or warnings in what the program has printed."""
    start = f"ptc: {kind}: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def compile_file(
    model: str | os.PathLike[str], output: str | os.PathLike[str], options: Mapping[str, Any]
) -> list[str]:
    """`compile` of a file; answers what the program warns of."""
    done = _call("compile", model, f"--output={os.fspath(output)}", *to_arguments(options))
    if options.get("time"):
        print(done.stderr, end="", file=sys.stderr)
    return _told(done.stderr, "warning")


def compile(
    model: Any,
    output: str | os.PathLike[str],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Path:
    """Compiles MODEL to the library OUTPUT, and answers its path.

    MODEL is the path of a .pt2, .graph, .onnx or .mlir file, a torch.export.ExportedProgram, or a torch.nn.Module,
    which torch.export.export(MODEL, ARGS, KWARGS, dynamic_shapes=DYNAMIC_SHAPES) exports first, in the mode it is in;
    ARGS are its example inputs, a tuple, or the only one.
    Options are those of `ptc compile`, with underscores: `march="x86-64-v3"`, `fp32_precision="tf32"`,
    `fallback=True`, `fullgraph=False`; a list gives several values, `optimizer_options={"lr": 0.1}` some by name, and
    None leaves an option out.

    Raises CompileError with ptc's message, and where in the model's source, when the model or an option is refused;
    then nothing is written. What ptc warns of is a CompileWarning.
    """
    if isinstance(model, (str, os.PathLike)):
        if args is not None or kwargs is not None or dynamic_shapes is not None:
            raise TypeError("example inputs and dynamic_shapes are for a module; a file is exported already")
        warned = compile_file(model, output, options)
    else:
        import torch.export

        program = _export(model, args, kwargs, dynamic_shapes)
        with tempfile.TemporaryDirectory(prefix="ptc-") as folder:
            file = Path(folder, "model.pt2")
            torch.export.save(program, file)
            warned = compile_file(file, output, options)
    for warning in warned:
        warnings.warn(f"ptc: {warning}", CompileWarning, stacklevel=2)
    return Path(output)


def _export(model: Any, args: Any, kwargs: Mapping[str, Any] | None, dynamic_shapes: Any) -> Any:
    """The program of a module, or the one that is given."""
    import torch.export

    if isinstance(model, torch.nn.Module):
        if args is None and kwargs is None:
            raise TypeError("a module is exported with example inputs: ptc.compile(module, output, (x,))")
        args = () if args is None else tuple(args) if isinstance(args, (tuple, list)) else (args,)
        return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    if not isinstance(model, torch.export.ExportedProgram):
        raise TypeError(f"the model is a path, an ExportedProgram or a torch.nn.Module, not {type(model).__name__}")
    if args is not None or kwargs is not None or dynamic_shapes is not None:
        raise TypeError("example inputs and dynamic_shapes are for a module; a program is exported already")
    return model


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

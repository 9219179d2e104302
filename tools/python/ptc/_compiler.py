"""The compiler as a program: where it is, and how it is called."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

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


def compile(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    march: str = "native",
    target: str = "cpu",
    gpu_arch: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    fallback: bool = False,
    initializers: str = "overridable",
) -> Path:
    """Compiles a .pt2, .graph, .onnx or .mlir file to a library; the arguments are those of `ptc compile`. `target`:
    "cpu" or "cuda", wherever the model was exported; `gpu_arch` as "sm_90a,sm_80", which is what None stands for.

    Raises CompileError with ptc's message when the model cannot be compiled; then nothing is written.
    """
    options: list[str | os.PathLike[str]] = ["--march", march, "--target", target, "--initializers", initializers]
    for name, value in (("--weights", weights), ("--cache", cache), ("--gpu-arch", gpu_arch)):
        if value is not None:
            options += [name, value]
    if fallback:
        options.append("--fallback")
    run("compile", model, "-o", output, *options)
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

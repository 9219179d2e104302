"""Captures what Dynamo makes of ordinary Python: all graphs, the breaks between them, the guards, in one file.

    ptc capture script.py:model -o model.graph          # or: python -m ptc.capture
    ptc explain model.graph

The target is a function or a torch.nn.Module of the script. Its arguments are `--args`, an expression over the script's
names (`--args "torch.randn(2, 8), flag=True"`), else the script's `example_inputs`: a tuple, a dict of keyword
arguments, or a function that answers one of these.

A branch that data decide is a break with two ways on. The run with the given arguments takes one of them; the others
are captured by further runs, in which the condition is answered the other way (`--paths`). The target's state is put
back after each run; what it does to the rest of the world happens again.

The ptc program carries this package and hands it to the Python that has torch: it imports nothing else of ptc.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import sys
import traceback
import warnings
from typing import Any

from .errors import CaptureError
from .file import safetensors, to_text, write_atomically
from .places import is_own, is_torch
from .run import capture_target


def load_target(name: str) -> tuple[Any, dict[str, Any]]:
    path, _, attribute = name.rpartition(":")
    if not path or not attribute:
        raise CaptureError(f"'{name}' is no SCRIPT.py:NAME (as in script.py:model)")
    if not os.path.isfile(path):
        raise CaptureError(f"{path}: no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise CaptureError(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            import difflib

            near = difflib.get_close_matches(part, [name for name in dir(value) if not name.startswith("_")], 3)
            raise CaptureError(f"{path}: has no '{part}'" + (f" (did you mean {', '.join(near)}?)" if near else ""))
        value = getattr(value, part)
    if not callable(value):
        raise CaptureError(f"{name}: is a {type(value).__name__}, and neither a function nor a module")
    return value, vars(module)


def find_arguments(expression: str | None, names: dict[str, Any]) -> tuple[tuple, dict]:
    import torch

    if expression is not None:
        try:
            return eval(f"(lambda *args, **kwargs: (args, kwargs))({expression})", {"torch": torch, **names})
        except Exception as error:
            raise CaptureError(f"--args: {type(error).__name__}: {error}") from None
    given = names.get("example_inputs", ())
    given = given() if callable(given) else given
    if isinstance(given, dict):
        return (), given
    return (tuple(given) if isinstance(given, (tuple, list)) else (given,)), {}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="ptc capture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("target", metavar="SCRIPT.py:NAME", help="a function or module of a Python script")
    result.add_argument("-o", "--output", required=True, help="the file to write; weights go beside it")
    result.add_argument(
        "--args", metavar="EXPR", help="arguments, as in a call; without it the script's example_inputs"
    )
    result.add_argument("--dynamic", action="store_true", default=None, help="symbolic sizes from the first call on")
    result.add_argument("--paths", type=int, default=16, help="at most so many runs to see both ways of branches")
    result.add_argument("--fullgraph", action="store_true", help="a break is an error")
    return result


def describe_break(found: dict[str, Any]) -> str:
    where = found["source"] or "model"
    return f"{where}: {found['reason']}" + (f" (at `{found['code']}`)" if found["code"] else "")


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)  # Dynamo's words about breaks, which the file has
    warnings.filterwarnings("ignore", module=r"torch\.")
    try:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise CaptureError(
                f"{sys.executable} has no torch (install it, or name another Python in PTC_PYTHON)"
            ) from None
        if options.paths < 1:
            raise CaptureError("--paths: at least 1")
        target, names = load_target(options.target)
        args, kwargs = find_arguments(options.args, names)
        if getattr(target, "training", False):
            print(
                "ptc: note: the module is in training mode; call .eval() in the script for inference", file=sys.stderr
            )
        try:
            capture = capture_target(target, args, kwargs, dynamic=options.dynamic, paths=options.paths)
        except Exception as error:
            stack = getattr(error, "real_stack", None) or traceback.extract_tb(error.__traceback__)
            frames = [frame for frame in stack if not is_own(frame.filename) and not is_torch(frame.filename)]
            where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
            message = " ".join(str(error).split())[:400]
            raise CaptureError(f"{where}{type(error).__name__}: {message}") from error
        if options.fullgraph and capture.breaks:
            raise CaptureError(describe_break(capture.breaks[0]) + f"; {len(capture.breaks)} breaks in all")
        if not capture.graphs and not capture.breaks:
            raise CaptureError(f"{options.target}: Dynamo found no graph (the code does nothing with tensors)")
        if capture.weights.tensors:
            path = os.path.splitext(options.output)[0] + ".safetensors"
            write_atomically(path, safetensors(capture.weights.tensors))
        write_atomically(options.output, to_text(capture, options.target).encode())
    except (CaptureError, OSError) as error:
        if os.environ.get("PTC_TRACEBACK") and error.__cause__:
            traceback.print_exception(error.__cause__)
        print(f"ptc: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    counts = ", ".join(f"{len(items)} {name}{'s' * (len(items) != 1)}" for items, name in
                       ((capture.graphs, "graph"), (capture.breaks, "break"), (capture.paths, "run")))
    print(f"{options.output}: {counts} (ptc explain {options.output} says more)", file=sys.stderr)
    return 0

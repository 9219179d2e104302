"""Places in the user's program: which frames are the user's own, and what stands there."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import traceback
from typing import Any

HERE = os.path.dirname((lambda: 0).__code__.co_filename) + os.sep


def is_own(path: str) -> bool:
    """Whether a file is one of this package, which is nothing that a user asks about."""
    return path.startswith(HERE)


def plain_name(function: str) -> str:
    """Dynamo continues `f` behind a break in `torch_dynamo_resume_in_f_at_12`."""
    while found := re.fullmatch(r"torch_dynamo_resume_in_(.+)_at_\d+", function):
        function = found.group(1)
    return function


def is_torch(path: str) -> bool:
    import torch

    return path.startswith(os.path.dirname(torch.__file__) + os.sep) or path.startswith("<")


def describe_frame(frame: traceback.FrameSummary) -> dict[str, Any]:
    code = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return {"source": f"{frame.filename}:{frame.lineno}", "function": plain_name(frame.name), "code": code}


def users_stack(stack: Any) -> list[dict[str, Any]]:
    """Outermost first. The user's own code; all of it where there is none."""
    frames = [frame for frame in stack or [] if not is_own(frame.filename) and "runpy" not in frame.filename]
    own = [frame for frame in frames if not is_torch(frame.filename)]
    return [describe_frame(frame) for frame in own or frames]


def statement_at(path: str, line: int) -> str:
    """The statement that begins on or contains a line; of a compound one, its head."""
    text = "".join(linecache.getlines(path))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return linecache.getline(path, line).strip()
    best = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if best is None or node.lineno >= best.lineno:
                best = node
    if best is None:
        return linecache.getline(path, line).strip()
    body = getattr(best, "body", None)
    end = body[0].lineno - 1 if body else best.end_lineno
    lines = text.splitlines()[best.lineno - 1 : max(end or 0, best.lineno)]
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].strip().startswith("#")):
        lines.pop()
    return "\n".join(inspect.cleandoc("\n".join(lines)).splitlines()[:12])

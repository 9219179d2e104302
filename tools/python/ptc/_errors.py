"""What goes wrong, as exceptions."""

from __future__ import annotations

import re

from . import _abi as abi


class Error(RuntimeError):
    """A call that the model refused; `status` is its ptc_status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class MismatchError(Error, ValueError):
    """An input that does not fit what the model was compiled for: its rank, type, a size, or a condition on sizes."""


class OutOfRangeError(Error, IndexError):
    """An index in the data that was out of range."""


class CompileError(Error):
    """What the program ptc refused. `status` is its exit status: 1 the model's fault, 2 the command line's, 3 ours.
    `file`, `line`, `column`, `node` (of the graph) and `module` ("encoder.layers.0") are the place in the model, each
    None where it is not known; `message` is what is wrong there, and `hint` what to do about it, or None. As text it is
    all of them.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        place = _PLACE.match(text)
        self.file, self.node = (place["file"], place["node"] or place["only"]) if place else (None, None)
        self.module = place["module"] if place else None
        self.line, self.column = (int(place[n]) if place and place[n] else None for n in ("line", "column"))
        self.message, self.hint = _split_hint(text[place.end() :] if place else text)


class CompileWarning(UserWarning):
    """What the program ptc did, but not as one would expect."""


# "net.py:12, node add_3, module encoder.0: ", "model.mlir:3:7: ", "node add_3: "
_PLACE = re.compile(
    r"(?:(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?(?:, node (?P<node>.+?))?|node (?P<only>.+?))"
    r"(?:, module (?P<module>.+?))?: "
)


def _split_hint(text: str) -> tuple[str, str | None]:
    """WHAT (HINT): the parentheses at the end, and what is before them."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[index], 0)
        if depth == 0:
            is_hint = text[index] == "(" and text[index - 1 : index] == " "
            return (text[: index - 1], text[index + 1 : -1]) if is_hint else (text, None)
    return text, None


_KINDS = {abi.MISMATCH: MismatchError, abi.INDEX_ERROR: OutOfRangeError}


def error_for(status: int, message: str) -> Error:
    return _KINDS.get(status, Error)(status, message)

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
    `file`, `line` and `node` (of the graph) are the place in the model's source that the message begins with, or None.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        place = re.match(r"([^:\n]+):(\d+)(?:, node ([^:\s]+))?: ", message)
        self.file, self.line, self.node = (place[1], int(place[2]), place[3]) if place else (None, None, None)


_KINDS = {abi.MISMATCH: MismatchError, abi.INDEX_ERROR: OutOfRangeError}


def error_for(status: int, message: str) -> Error:
    return _KINDS.get(status, Error)(status, message)

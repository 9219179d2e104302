"""What a capture can fail by."""

from __future__ import annotations


class CaptureError(Exception):
    """The user's to put right: one line."""


def one_line(error: BaseException) -> str:
    """Its type and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__

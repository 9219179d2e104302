"""Keywords of Python as options of `ptc compile`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

_REPEATED = ("freeze", "group")  # a list for another option is one value, with commas
_ON = ("fullgraph", "winograd")  # the command line has --no-NAME of them


def to_arguments(options: Mapping[str, Any]) -> list[str]:
    """fp32_precision="tf32" becomes --fp32-precision=tf32. True gives an option without a value, None and False leave
    it out; a list gives several values, and a dict several KEY=VALUE."""
    return [word for name, value in options.items() for word in _spell(name, value)]


def _spell(name: str, value: Any) -> Iterator[str]:
    option = "--" + name.replace("_", "-")
    if name in _ON and isinstance(value, bool):
        option, value = "--no-" + name, str(not value).lower()
    if isinstance(value, Mapping):
        value = [f"{key}={_text(each)}" for key, each in value.items()]
    if isinstance(value, (list, tuple)) and name not in _REPEATED:
        value = ",".join(map(_text, value)) or None
    for each in value if isinstance(value, (list, tuple)) else (value,):
        if each is True:
            yield option
        elif each is not None and each is not False:
            yield f"{option}={_text(each)}"


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)

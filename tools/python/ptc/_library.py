"""Libraries that ptc compiled: opening their files, and contexts on a device."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any

from . import _abi as abi
from ._errors import Error, error_for


@dataclass
class Library:
    """An open library with a context, which is its user's to destroy."""

    api: abi.Api
    context: ctypes.c_void_p
    signature: abi.Signature

    @property
    def is_for_gpu(self) -> bool:
        return self.signature.target == b"cuda"


def open_library(path: str, check: bool, device: Any) -> Library:
    """`check`: the file against its hash. `device`: as torch writes it; None: the current one of the library's kind."""
    kind, number = _parse_device(device) if device is not None else ("", -1)
    table = _open(path)(abi.VERSION)
    if not table:
        raise Error(abi.UNSUPPORTED, f"{path}: speaks another version of the interface than {abi.VERSION}")
    api = table.contents
    context = _create_context(api, number, check, path)
    if not (signature := api.signature()):
        api.context_destroy(context)
        raise MemoryError(f"{path}: no memory for the signature")
    library = Library(api, context, signature.contents)
    if kind and library.is_for_gpu != (kind == "cuda"):
        api.context_destroy(context)
        compiled_for = signature.contents.target.decode()
        raise error_for(abi.MISMATCH, f"{path}: was compiled for {compiled_for}, not for {device}")
    return library


def has(api: abi.Api, function: str) -> bool:
    """Whether the library is of a version that has this function."""
    return api.size > getattr(abi.Api, function).offset


def require(api: abi.Api, function: str) -> None:
    if not has(api, function):
        raise Error(abi.UNSUPPORTED, f"an earlier version of ptc compiled the library: it has no {function}")


def _parse_device(device: Any) -> tuple[str, int]:
    """"cpu" or "cuda", and a number, -1 where the device has none."""
    kind, colon, number = str(device).partition(":")
    if kind not in ("cpu", "cuda") or number.isdecimal() != bool(colon):
        raise ValueError(f"there is no device '{device}' (only as 'cpu', 'cuda', 'cuda:1')")
    return kind, int(number) if colon else -1


def _create_context(api: abi.Api, number: int, check: bool, path: str) -> ctypes.c_void_p:
    context, flags = ctypes.c_void_p(), abi.CHECK_FILE if check else 0
    made = ctypes.byref(context)
    if number >= 0:
        require(api, "context_create_on")
        status = api.context_create_on(number, flags, made)
    elif check:
        require(api, "context_create_with")
        status = api.context_create_with(flags, made)
    else:
        status = api.context_create(made)
    if status:
        raise error_for(status, f"{path}: {(api.last_error(None) or b'').decode()}")
    return context


def _open(path: str) -> Any:
    """The library's function ptc_get_api; of the file that is there now, even if another was opened under its name."""
    opened, there = None, _spell_file(path)
    while opened != there:  # again where it was replaced meanwhile
        opened = there
        try:
            library = ctypes.CDLL(opened, mode=os.RTLD_NOW | os.RTLD_LOCAL)
            get_api = library.ptc_get_api
        except (OSError, AttributeError) as error:
            why = str(error).replace(opened, path)
            raise Error(abi.INVALID_ARGUMENT, f"{path}: no library that ptc compiled, or not whole ({why})") from None
        there = _spell_file(path)
    get_api.argtypes, get_api.restype = [ctypes.c_uint32], ctypes.POINTER(abi.Api)
    return get_api


def _spell_file(path: str) -> str:
    """A path of a file that no other file has: dlopen knows a library by its path, and would answer with the old one
    where the file was written anew. Between folder and name it spells device and inode in steps that lead nowhere, "/."
    for a one and "/" for a zero, as ptc.hpp does."""
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
    except OSError:
        return real  # dlopen says what is wrong
    folder, name = os.path.split(real)
    steps = f"{status.st_dev:064b}{status.st_ino:064b}".replace("0", "/").replace("1", "/.")
    return f"{folder.rstrip('/')}{steps}/{name}"

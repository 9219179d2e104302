"""What programs in C and C++ need: headers, and files for CMake and pkg-config that find them from where they lie."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from .common import ROOT, Fault

# How a file finds the folder that has `include` and `bin`: in the sources that is the one above.
HOMES = {"cmake/ptc-config.cmake": "${_ptc_here}/..", "pkgconfig/ptc.pc": "${pcfiledir}/.."}


def place(source: str, folder: str) -> bytes:
    """The file as it is in `folder` of what is shipped."""
    text = (ROOT / "runtime" / source).read_text()
    if home := HOMES.get(source):
        if text.count(home) != 1:
            raise Fault(f"runtime/{source}: it must say {home} once")
        text = text.replace(home, home.removesuffix("..") + "/".join(".." for _ in PurePosixPath(folder).parts))
    return text.encode()


def interface(cmake: str, pkgconfig: str) -> dict[str, bytes]:
    """All of it by path, with the folders for CMake's files and for pkg-config's."""
    files = {f"include/ptc/{name}": (ROOT / "runtime/include/ptc" / name).read_bytes() for name in ("ptc.h", "ptc.hpp")}
    files["include/dlpack/dlpack.h"] = Path("/usr/include/dlpack/dlpack.h").read_bytes()
    for name in ("ptc-config.cmake", "ptc-config-version.cmake"):
        files[f"{cmake}/{name}"] = place(f"cmake/{name}", cmake)
    files[f"{pkgconfig}/ptc.pc"] = place("pkgconfig/ptc.pc", pkgconfig)
    return files

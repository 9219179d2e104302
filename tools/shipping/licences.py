"""The software of others in what is shipped: one table for NOTICES.txt and for the SBOM.

The table follows what the BUILD files link; texts are those of Debian's packages, and of notices/ where these lack one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .common import VERSION, Fault

LLVM = ("Apache-2.0 WITH LLVM-exception", "Organization: LLVM Project")
GCC = ("GPL-3.0-or-later WITH GCC-exception-3.1", "Organization: Free Software Foundation")
DOCS, COMMON = Path("/usr/share/doc"), Path("/usr/share/common-licenses")


@dataclass(frozen=True)
class Component:
    package: str  # Debian's, which says the version and has the text
    name: str
    licence: str  # an SPDX expression
    originator: str  # as SPDX has it: "Organization: NAME" or "Person: NAME"
    in_models: bool = False  # parts of it are in the libraries that the program makes


COMPONENTS = (
    Component("llvm-22-dev", "LLVM", *LLVM),
    Component("libmlir-22-dev", "MLIR", *LLVM),
    Component("liblld-22", "lld", *LLVM),
    Component("libclc-22", "libclc, functions for GPUs", f"{LLVM[0]} AND SunPro", LLVM[1], in_models=True),
    Component("libprotobuf-dev", "protobuf", "BSD-3-Clause", "Organization: Google"),
    Component("libonnx-dev", "ONNX, its file format", "Apache-2.0", "Organization: ONNX Project"),
    Component("libminizip-dev", "minizip", "Zlib", "Person: Gilles Vollant"),
    Component("zlib1g-dev", "zlib", "Zlib", "Person: Jean-loup Gailly and Mark Adler"),
    Component("libzstd-dev", "Zstandard", "BSD-3-Clause OR GPL-2.0-only", "Organization: Meta Platforms"),
    Component("libcli11-dev", "CLI11", "BSD-3-Clause", "Organization: University of Cincinnati"),
    Component("libfmt-dev", "fmt", "MIT", "Person: Victor Zverovich"),
    Component("libdlpack-dev", "DLPack, its header", "Apache-2.0", "Organization: DLPack Contributors", in_models=True),
    Component("python3-xstatic-dagre", "dagre, on explain's page", "MIT", "Person: Chris Pettitt"),
    Component("libstdc++-12-dev", "libstdc++", *GCC, in_models=True),
    Component("libgcc-12-dev", "libgcc", *GCC),
)
# What programs find where they run; it is not shipped.
GLIBC = Component("libc6", "glibc", "LGPL-2.1-or-later", "Organization: Free Software Foundation")

# Texts that no file of Debian's has.
NOTICES = {
    "libclc: erf, erfc and lgamma come from Sun's fdlibm": "sunpro.txt",
    "PyTorch: the table of its operators is made from its list of functions": "pytorch.txt",
}

INTRODUCTION = f"""\
ptc {VERSION} is distributed with software of others, or with parts of it. Each has its own licence; the texts follow.
In the libraries that ptc makes are parts of those marked with *, and of ptc's own runtime (LICENSE).
"""


def read_text(file: Path) -> str:
    try:
        return file.read_text("utf-8").rstrip()
    except FileNotFoundError:
        raise Fault(f"{file}: there is no such file (tools/setup/install installs the packages)") from None


def notices() -> str:
    """The text of NOTICES.txt: every component, each licence once, and the common ones that licences refer to."""
    texts: dict[str, list[Component]] = {}
    for component in COMPONENTS:
        texts.setdefault(read_text(DOCS / component.package / "copyright"), []).append(component)
    sections = {}
    for text, components in texts.items():
        sections[", ".join(f"{component.name} ({component.package})" for component in components)] = text
    for title, name in NOTICES.items():
        sections[title] = read_text(Path(__file__).parent / "notices" / name)
    referred = set(re.findall(rf"{COMMON}/([\w.+-]*\w)", "\n".join(sections.values())))
    # GPL is a link to GPL-3, and the like.
    for name in sorted({(COMMON / name).resolve().name for name in referred}):
        sections[f"{COMMON}/{name}"] = read_text(COMMON / name)
    listed = "".join(
        f"{'*' if component.in_models else ' '} {component.name} ({component.package}): {component.licence}\n"
        for component in COMPONENTS
    )
    rule = "=" * 80
    return f"{INTRODUCTION}\n{listed}" + "".join(
        f"\n{rule}\n{title}\n{rule}\n\n{text}\n" for title, text in sections.items()
    )

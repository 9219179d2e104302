"""The Python package: compiler, loader, backend of torch.compile, headers for C and C++."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from .common import LICENCE, ROOT, VERSION
from .interface import interface
from .licences import notices
from .program import Program

METADATA = f"""\
Metadata-Version: 2.4
Name: ptc
Version: {VERSION}
Summary: Compiles PyTorch models ahead of time to self-contained libraries; a backend of torch.compile
License-Expression: {LICENCE}
License-File: LICENSE
License-File: NOTICES.txt
Requires-Python: >=3.10
Requires-Dist: numpy
Provides-Extra: torch
Requires-Dist: torch >=2.11 ; extra == "torch"
"""
ENTRY_POINTS = """\
[console_scripts]
ptc = ptc.__main__:main

[torch_dynamo_backends]
ptc = ptc.dynamo:backend
"""


def contents(program: Path) -> dict[str, bytes]:
    package = ROOT / "tools/python/ptc"
    files = {f"ptc/{path.relative_to(package)}": path.read_bytes() for path in package.rglob("*.py")}
    files["ptc/py.typed"] = (package / "py.typed").read_bytes()
    files["ptc/bin/ptc"] = program.read_bytes()
    files |= {f"ptc/{name}": content for name, content in interface(cmake="cmake", pkgconfig="pkgconfig").items()}
    return dict(sorted(files.items()))


def write_wheel(folder: Path, program: Program) -> Path:
    # A development build runs where Debian's LLVM is, and nowhere else.
    tag = "linux_x86_64" if program.others else f"manylinux_{program.glibc.replace('.', '_')}_x86_64"
    info = f"ptc-{VERSION}.dist-info"
    head = f"Wheel-Version: 1.0\nGenerator: tools/wheel\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    data = contents(program.path)
    data |= {f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": head.encode()}
    data |= {f"{info}/entry_points.txt": ENTRY_POINTS.encode()}
    data |= {f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}
    data |= {f"{info}/licenses/NOTICES.txt": notices().encode()}
    wheel = folder / f"ptc-{VERSION}-py3-none-{tag}.whl"
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in data.items():
            entry = zipfile.ZipInfo(name)  # without a date: the same sources give the same file
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name == "ptc/bin/ptc" else 0o100644) << 16
            archive.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), record + f"{info}/RECORD,,\n")
    return wheel

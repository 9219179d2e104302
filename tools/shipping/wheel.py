"""The Python package: compiler, loader, backend of torch.compile, headers for C and C++."""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

from .common import ROOT, VERSION
from .interface import interface
from .licences import notices
from .program import Program

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def metadata() -> str:
    """pyproject.toml, as a wheel says it (packaging.python.org, core metadata)."""
    lines = ["Metadata-Version: 2.4", f"Name: {PROJECT['name']}", f"Version: {VERSION}"]
    lines += [f"Summary: {PROJECT['description']}", f"License-Expression: {PROJECT['license']}"]
    lines += ["License-File: LICENSE", "License-File: NOTICES.txt", f"Requires-Python: {PROJECT['requires-python']}"]
    lines += [f"Requires-Dist: {package}" for package in PROJECT["dependencies"]]
    for extra, packages in PROJECT["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {package} ; extra == "{extra}"' for package in packages]
    return "\n".join(lines) + "\n"


def entry_points() -> str:
    groups = {"console_scripts": PROJECT["scripts"], **PROJECT["entry-points"]}
    texts = []
    for group, places in groups.items():
        texts.append(f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in places.items()))
    return "\n".join(texts)


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
    data |= {f"{info}/METADATA": metadata().encode(), f"{info}/WHEEL": head.encode()}
    data |= {f"{info}/entry_points.txt": entry_points().encode()}
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

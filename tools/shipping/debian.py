"""Debian's part: what its packages say of themselves, and a package of ptc."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from .common import VERSION, Fault, ask
from .program import Program

CONTROL = """\
Package: ptc
Version: {version}
Architecture: amd64
Maintainer: The developers of ptc
Installed-Size: {kibibytes}
Depends: {depends}
Recommends: libdlpack-dev
Section: devel
Priority: optional
Description: ahead-of-time compiler of PyTorch models
 Compiles an exported PyTorch or ONNX model into one self-contained shared
 library with a C interface, for x86-64 and for NVIDIA's GPUs. Programs in C
 and C++ that call such libraries need libdlpack-dev to be built.
"""


def versions(packages: list[str]) -> dict[str, str]:
    """Of installed packages."""
    lines = ask("dpkg-query", "-W", "-f", "${Package}\t${Version}\n", *packages).splitlines()
    return dict(line.split("\t") for line in lines)


def needed_packages(program: Program) -> list[str]:
    """The packages whose shared libraries the program needs: of a release, libc6 alone."""
    loaded = dict(re.findall(r"^\s*(\S+) => (\S+) \(0x", ask("ldd", program.path.absolute()), re.M))
    packages = set()
    for name in program.needed:
        if name.startswith("ld-linux"):
            continue  # glibc's, under a path of its own
        if name not in loaded:
            raise Fault(f"{program.path}: its library {name} is not found here")
        # /lib is a link to /usr/lib, and dpkg knows each file by one of both names.
        file = str(Path(loaded[name]).resolve()).removeprefix("/usr")
        packages.add(ask("dpkg-query", "-S", f"*{file}").split(":")[0])
    return sorted(packages)


def lay_out(tree: Path, files: dict[str, bytes], epoch: int) -> None:
    """A tree as dpkg-deb packs it, with modes and times that do not depend on who makes it."""
    for name, content in files.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if name.startswith("usr/bin/") else 0o644)
    for path in (tree, *tree.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch))


def write_debian(folder: Path, program: Program, files: dict[str, bytes], epoch: int) -> Path:
    """The package of `files`, which have their paths below /usr."""
    package = folder / f"ptc_{VERSION}_amd64.deb"
    installed = versions(needed_packages(program)) | {"libc6": program.glibc}
    control = CONTROL.format(
        version=VERSION,
        kibibytes=-(-sum(map(len, files.values())) // 1024),
        depends=", ".join(f"{name} (>= {version})" for name, version in sorted(installed.items())),
    )
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    with tempfile.TemporaryDirectory() as tree:
        files = {f"usr/{name}": content for name, content in files.items()} | {"DEBIAN/control": control.encode()}
        lay_out(Path(tree), files, epoch)
        ask("dpkg-deb", "--root-owner-group", "--build", tree, package, environment=environment)
    return package

"""The program: how it is built, and what it needs where it runs."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .common import ROOT, Fault, ask


@dataclass(frozen=True)
class Program:
    path: Path
    needed: list[str]  # shared libraries, by the names that the loader looks for
    glibc: str  # the oldest that has all it asks for, "2.36"

    @property
    def others(self) -> list[str]:
        """Shared libraries beside glibc's: a development build has Debian's LLVM there, a release none."""
        return [name for name in self.needed if not re.match(r"lib[cm]\.so|ld-linux", name)]


def build() -> Path:
    done = subprocess.run(["bazel", "build", "--config=release", "//tools/ptc"], cwd=ROOT)
    if done.returncode:
        raise Fault(f"bazel: the release program is not built (exit status {done.returncode})")
    return ROOT / "bazel-bin/tools/ptc/ptc"


def examine(path: Path) -> Program:
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            raise Fault(f"{path}: it is no ELF program")
    read = ask("readelf", "--wide", "-d", "-V", path.absolute())
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", read)]
    if not versions:
        raise Fault(f"{path}: it asks for no version of glibc")
    return Program(path, re.findall(r"\(NEEDED\).*\[(.*)\]", read), ".".join(map(str, max(versions)[:2])))

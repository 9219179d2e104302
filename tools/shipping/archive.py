"""An archive that unpacks anywhere: the program, the interface of models for C and C++, licences."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from .common import VERSION


def write_archive(folder: Path, files: dict[str, bytes], epoch: int) -> Path:
    """`files` by path, in one folder that is named as the archive is."""
    name = f"ptc-{VERSION}-linux-x86_64"
    archive = folder / f"{name}.tar.gz"
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        with tarfile.open(mode="w", fileobj=packed, format=tarfile.USTAR_FORMAT) as tar:
            for path, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"{name}/{path}")  # owner 0 without a name
                entry.size, entry.mtime = len(content), epoch
                entry.mode = 0o755 if path.startswith("bin/") else 0o644
                tar.addfile(entry, io.BytesIO(content))
    return archive

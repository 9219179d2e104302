"""What `pip install .` in a checkout calls (PEP 517): a wheel of the release program, which Bazel builds.

`pip install . --config-settings ptc=FILE` packs a program that is there already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .program import build, examine
from .wheel import write_wheel


Settings = dict[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    given = (config_settings or {}).get("ptc")
    return write_wheel(Path(wheel_directory), examine(Path(given) if given else build())).name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    raise NotImplementedError("the sources of ptc are its repository: they are no archive that pip could build from")

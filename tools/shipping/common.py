"""What everything that is shipped has in common: version, errors of one line, files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = runpy.run_path(str(ROOT / "tools/python/ptc/_version.py"))["__version__"]
LICENCE = "Apache-2.0 WITH LLVM-exception"


class Fault(Exception):
    """What is wrong, in one line for whoever runs the tool."""


def ask(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    """What a command prints."""
    text = [str(part) for part in command]
    done = subprocess.run(text, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Fault(f"{command[0]}: {said[-1]}")
    return done.stdout


def run_tool(name: str, tool: Callable[[], None]) -> None:
    """An error that has a reason is one line, and status 1."""
    try:
        tool()
    except Fault as fault:
        sys.exit(f"{name}: error: {fault}")
    except OSError as error:
        sys.exit(f"{name}: error: {error.filename or ''}: {error.strerror}")


@contextlib.contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder whose files are moved to `out` when all of them are made; of an error nothing stays."""
    out = out.absolute()
    beside = out if out.is_dir() else out.parent
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=beside) as folder:
        yield Path(folder)
        out.mkdir(exist_ok=True)
        for file in sorted(Path(folder).iterdir()):
            os.replace(file, out / file.name)


def find_epoch() -> int:
    """The time that files carry: SOURCE_DATE_EPOCH (reproducible-builds.org), else that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        try:
            given = ask("git", "log", "-1", "--format=%ct")
        except (Fault, OSError) as error:
            raise Fault(f"the time of the last commit is not known (set SOURCE_DATE_EPOCH): {error}") from error
    if not given.strip().isdecimal():
        raise Fault(f"SOURCE_DATE_EPOCH: '{given.strip()}' is no number of seconds")
    return int(given)

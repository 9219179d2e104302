"""What these tests share: an example's commands as its reader would run them, and its network in eager PyTorch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/python"))
torch.set_num_threads(1)  # networks as small as these are hardly faster with more


def run(command: str, folder: Path) -> str:
    """A command in a shell, which finds `ptc` and the programs of `folder`; what it prints, less its errors."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PTC_", "PYTHON"))}
    environment["PATH"] = f"{folder}:{Path(sys.executable).parent}:{environment['PATH']}"
    print(f"$ {command}", flush=True)
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    print(done.stdout, flush=True)
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}: {command}")
    return done.stdout


def run_commands(example: str, folder: Path, **programs: str) -> list[str]:
    """What the commands at the top of examples/EXAMPLE/export.py print, run in `folder` in their order. `programs`, ptc
    first of all, are there already: a command that compiles one is left out."""
    for part in ("examples", "tools"):
        (folder / part).symlink_to(ROOT / part)
    for name, path in programs.items():
        (folder / name).symlink_to(Path(path).resolve())
    header = (ROOT / "examples" / example / "export.py").read_text().split('"""')[1]
    commands = [line for line in re.findall(r"^    (\S.*)$", header, re.M) if not line.startswith("c++ ")]
    return [run(command, folder) for command in commands]


def load_eager(network: type[torch.nn.Module], exported: Path) -> torch.nn.Module:
    """The module with the weights that its export has."""
    module = network().eval()
    module.load_state_dict(torch.export.load(exported).state_dict)
    return module.requires_grad_(False)

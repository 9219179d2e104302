"""docs/deploy.md, as a reader would follow it: its files are written, its commands run, one after the other.

deploy_test.py PTC
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

PTC = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"^(?:#|//) (\S+\.\w+)$")


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    subprocess.run([ROOT / "tools/wheel", "--ptc", PTC, "--out", folder / "dist"], check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    # torch and NumPy are those of the environment that runs this test: nothing is downloaded.
    (packages,) = (folder / "venv").glob("lib/python3*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PTC_", "PYTHON"))}
    environment |= {"PATH": f"{folder}/venv/bin:{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
    environment |= {"CC": "clang-22", "CXX": "clang++-22"}
    steps = 0
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/deploy.md").read_text(), re.M | re.S):
        first, _, rest = block.partition("\n")
        if kind != "sh":
            (folder / NAMED.match(first)[1]).write_text(block if kind == "cpp" else rest)
            continue
        script = block.replace("c++ -std", "clang++-22 -std")  # what tools/setup installs
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        print(f"$ {block}{done.stdout}")
        if done.returncode:
            sys.exit(f"FAIL: exit {done.returncode}\n0 passed, 1 failed")
        steps += 1
    print(f"{steps} passed, 0 failed")


if __name__ == "__main__":
    main()

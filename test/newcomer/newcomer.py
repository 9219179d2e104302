"""A new user's path on a bare Debian 12, in a chroot: commands and programs of README, docs and examples as they stand there.

newcomer.py DIST        # as root; DIST has what tools/release made, and Debian's mirror is asked for the rest

It needs mmdebstrap and a quarter of an hour, most of it for README's first command, and so is no part of the test run. What asks for torch (the export) is test/wheel/deploy_test.py's,
which goes through the same page; here models are those of examples/digits.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"^(?:#|//) (\S+\.\w+)$")
# What a user of Debian has installed by then: git to build ptc, and to use it compilers, CMake, Python with NumPy.
BUILDER = ["ca-certificates", "git"]
USER = ["ca-certificates", "cmake", "g++", "libdlpack-dev", "make", "pkg-config", "python3-numpy", "python3-pip", "python3-venv", "rustc"]


class Chroot:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "root"
        self.steps = 0

    def run(self, script: str) -> str:
        """A shell's commands, as a user with a virtual environment on the path types them."""
        command = ["chroot", self.folder, "env", "-i", "HOME=/root", "PATH=/root/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                   "bash", "-e", "-o", "pipefail", "-c", f"cd\n{script}"]  # fmt: skip
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print("".join(f"$ {line}\n" for line in script.strip().splitlines()) + done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"FAIL: exit {done.returncode}\n0 passed, 1 failed")
        self.steps += 1
        return done.stdout


def blocks(page: str) -> list[tuple[str, str]]:
    """Of a page: the kind of each block of code, and its text."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def commands(page: str, beginning: str) -> str:
    """The lines of a page's shell blocks from the one that begins so to the end of its block."""
    for kind, block in blocks(page):
        if kind == "sh" and (at := re.search(rf"^{re.escape(beginning)}", block, re.M)):
            return block[at.start() :]
    raise SystemExit(f"FAIL: {page} has no line that begins with '{beginning}'\n0 passed, 1 failed")


def header_commands(program: str) -> str:
    """The commands that a program's first comment has."""
    found = re.findall(r"^(?://|#)?     ?((?:ptc|rustc|PYTHONPATH=\S+) .*)$", (ROOT / program).read_text(), re.M)
    return "\n".join(found)


def write_files(chroot: Chroot, page: str) -> None:
    """The files that a page's blocks name in their first line."""
    for kind, block in blocks(page):
        if found := NAMED.match(block.partition("\n")[0]):
            (chroot.home / found[1]).write_text(block if kind == "cpp" else block.partition("\n")[2])


def walk(chroot: Chroot, dist: Path) -> None:
    shutil.copytree(dist, chroot.home / "dist")
    for name in ("examples", "tools/python"):
        shutil.copytree(ROOT / name, chroot.home / name)
    digits = "examples/digits"
    # From the Debian package: the program, the headers, and a library that runs.
    deb = re.search(r"apt install (\./ptc_\S+_amd64\.deb)", (ROOT / "docs/release.md").read_text())[1]
    chroot.run(f"apt-get install -y -q ./dist/{deb.removeprefix('./').replace('VERSION', '*')} > /dev/null")
    chroot.run(f"cp {digits}/model.pt2 digits.pt2 && cp {digits}/images.safetensors in.safetensors")
    first = re.search(r"^ptc compile model\.pt2 -o model\.so.*\nptc run .*$", (ROOT / "README.md").read_text(), re.M)[0]
    chroot.run(f"cp digits.pt2 model.pt2\n{first}\nptc doctor model.so")
    # docs/deploy.md: C++ by CMake, which compiles the model too, and by pkg-config.
    write_files(chroot, "docs/deploy.md")
    said = chroot.run("cmake -B build > /dev/null\ncmake --build build\nbuild/classify build/digits.so")
    assert "image 0 is a" in said, said
    pkg_config = commands("docs/deploy.md", "c++ -std=c++17").replace("PKG_CONFIG_PATH=$(python -m ptc.paths pkgconfig) ", "")
    chroot.run(f"ptc compile digits.pt2 -o digits.so\n{pkg_config}")
    assert "refused" in chroot.run(header_commands("examples/rust/classify.rs"))
    # From the wheel, in an environment with NumPy alone.
    chroot.run("apt-get remove -y -q ptc > /dev/null\npython3 -m venv --system-site-packages venv")
    chroot.run(commands("docs/deploy.md", "pip install dist/"))
    assert "digit" in chroot.run(header_commands("examples/python/classify.py").replace("PYTHONPATH=tools/python ", ""))
    chroot.run("cmake -B build2 -Dptc_DIR=$(python -m ptc.paths cmake) > /dev/null\ncmake --build build2\nbuild2/classify build2/digits.so")


def build(chroot: Chroot) -> None:
    """README's first command from a clean clone, and the program that it says is there then."""
    subprocess.run(["git", "clone", "--quiet", ROOT, chroot.home / "ptc"], check=True)
    demo, path = re.search(r"^## First command.*?```\n(.*?)```.*?```\n(.*?)```", (ROOT / "README.md").read_text(), re.M | re.S).groups()
    assert "360" in chroot.run(f"cd ptc\n{demo}")
    chroot.run(f"cd ptc\n{path}ptc --version")


@contextlib.contextmanager
def debian(packages: list[str]):
    with tempfile.TemporaryDirectory(prefix="ptc-newcomer-") as name:
        folder = Path(name) / "debian"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(packages)}", "bookworm", folder], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)
        try:
            yield Chroot(folder)
        finally:
            subprocess.run(["umount", folder / "proc"], check=True)


def main() -> None:
    dist = Path(sys.argv[1]).resolve()
    with debian(USER) as user:
        walk(user, dist)
    with debian(BUILDER) as builder:
        build(builder)
    print(f"{user.steps + builder.steps} passed, 0 failed")


if __name__ == "__main__":
    main()

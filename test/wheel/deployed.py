"""What tests of packages share: commands in a user's environment, and programs built against an unpacked package."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLANG = {"CC": "clang-22", "CXX": "clang++-22"}  # what tools/setup installs

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(deployed CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(ptc 0.1 REQUIRED)
ptc_add_model(digits MODEL {root}/examples/digits/model.pt2)
add_executable(classify {root}/examples/cpp/classify.cpp)
target_link_libraries(classify PRIVATE ptc::api)
"""


def attempt(*command: object, **named) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PTC_", "PYTHON"))}
    environment.update(named.pop("env", {}))
    return subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        **named,
    )


def run(*command: object, **named) -> str:
    done = attempt(*command, **named)
    if done.returncode:
        raise AssertionError(f"{command[0]}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def build_with_cmake(folder: Path, ptc_dir: Path | str) -> str:
    """Compiles a model and a program that calls it; what the program says."""
    source, build = folder / "source", folder / "build"
    source.mkdir(parents=True)
    (source / "CMakeLists.txt").write_text(CMAKE.format(root=ROOT))
    run("cmake", "-S", source, "-B", build, f"-Dptc_DIR={ptc_dir}", env=CLANG)
    run("cmake", "--build", build)
    return run(build / "classify", build / "digits.so")


def build_with_pkg_config(folder: Path, pkgconfig: Path | str) -> None:
    """Compiles the examples in C and C++."""
    flags = run("pkg-config", "--cflags", "--libs", "ptc", env={"PKG_CONFIG_PATH": str(pkgconfig)}).split()
    folder.mkdir(parents=True, exist_ok=True)
    run(CLANG["CXX"], "-std=c++17", ROOT / "examples/cpp/classify.cpp", "-o", folder / "classify", *flags)
    run(CLANG["CC"], "-std=c99", ROOT / "examples/c/classify.c", "-o", folder / "classify_c", *flags)

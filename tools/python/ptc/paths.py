"""Where the files are that programs in C and C++ need: `python -m ptc.paths include|cmake|pkgconfig`.

cmake -B build -Dptc_DIR=$(python -m ptc.paths cmake)
c++ -std=c++17 -I$(python -m ptc.paths include) program.cpp -o program -ldl
"""

from __future__ import annotations

import sys
from pathlib import Path

KINDS = ("include", "cmake", "pkgconfig")


def folder(kind: str) -> Path:
    """include: ptc/ptc.h, ptc/ptc.hpp, dlpack/dlpack.h. cmake: ptc-config.cmake. pkgconfig: ptc.pc."""
    if kind not in KINDS:
        raise ValueError(f"'{kind}' is none of {', '.join(KINDS)}")
    here = Path(__file__).resolve().parent
    # In a checkout they are where they were written.
    return here / kind if (here / kind).exists() else here.parents[2] / "runtime" / kind


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: python -m ptc.paths {'|'.join(KINDS)}")
    print(folder(sys.argv[1]))


if __name__ == "__main__":
    main()

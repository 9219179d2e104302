"""`python -m ptc ...` and the command `ptc` of the wheel: the compiler's command line."""

from __future__ import annotations

import os
import sys

from ._compiler import executable


def main() -> None:
    program = executable()
    os.environ.setdefault("PTC_PYTHON", sys.executable)  # `ptc capture` runs the user's script in this Python
    os.execv(program, ["ptc", *sys.argv[1:]])


if __name__ == "__main__":
    main()

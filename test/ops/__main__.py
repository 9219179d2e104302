"""Operators against PyTorch: exports each row, compiles it with ptc, compares on inputs that the export has not seen.

python test/ops --ptc PATH [--jobs N] [--march NAME | --target cuda] [PATTERN ...]

Rows whose name contains a pattern; all without one.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import run_rows  # noqa: E402
from runner import ROWS, run_all  # noqa: E402

if __name__ == "__main__":
    sys.exit(run_all(__doc__, ROWS, lambda ptc, rows, options: (run_rows(ptc, rows, options), Counter())))

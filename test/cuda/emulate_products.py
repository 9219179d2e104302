"""product_cases.py and attention_cases.py under the emulator, on architectures with wgmma and without.

python test/cuda/emulate_products.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import attention_cases
import product_cases
from emulate import export, try_case


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])
    passed, failed, running = 0, 0, []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        for arch in ("sm_90a", "sm_80"):
            for case in [*product_cases.cases(), *attention_cases.cases()]:
                if not sys.argv[3:] or case.name in sys.argv[3:]:
                    folder = Path(name) / str(len(running))
                    export(case, folder, as_exported=True)
                    running.append((f"{case.name}, {arch}", pool.submit(try_case, case, folder, ptc, libcuda, arch)))
        for name, future in running:
            found = future.result()
            failed, passed = failed + bool(found), passed + (not found)
            if found:
                print(f"FAIL {name}: {found}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()

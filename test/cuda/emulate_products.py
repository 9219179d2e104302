"""product_cases.py and attention_cases.py under the emulator, on architectures with wgmma and without.

python test/cuda/emulate_products.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]

import attention_cases
import parallel
import product_cases
from emulate import export, try_case
from harness import Case

ARCHS = ("sm_90a", "sm_80")
TF32, QUANTIZED = ("--fp32-precision", "tf32"), ("--quantize", "int8-dynamic")
# With the options of the library for the GPU, and of that for the CPU.
GROUPS = [
    ([*product_cases.cases(), *attention_cases.cases()], (), ()),
    ([*product_cases.tf32_cases()], TF32, ()),
    ([*product_cases.quantized_cases()], QUANTIZED, QUANTIZED),
]


def main() -> None:
    ptc, libcuda = (Path(argument).resolve() for argument in sys.argv[1:3])

    def results() -> Iterator[tuple[str, str]]:
        for cases, options, of_cpu in GROUPS:

            def attempt(case: Case, folder: Path) -> list[str]:
                return [try_case(case, folder, ptc, libcuda, arch, options, of_cpu) for arch in ARCHS]

            chosen = [case for case in cases if not sys.argv[3:] or case.name in sys.argv[3:]]
            for name, found in parallel.run(chosen, attempt, partial(export, as_exported=True)):
                yield from zip((f"{name}, {arch}" for arch in ARCHS), found, strict=True)

    parallel.report(results())


main()

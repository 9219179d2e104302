"""product_cases.py and attention_cases.py under the emulator, on architectures with wgmma and without.

python test/cuda/emulate_products.py PTC LIBCUDA [NAME…]
"""

from __future__ import annotations

import itertools
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
        for arch, (cases, options, of_cpu) in itertools.product(("sm_90a", "sm_80"), GROUPS):
            attempt = partial(try_case, ptc=ptc, libcuda=libcuda, arch=arch, options=options, cpu_options=of_cpu)
            chosen = [case for case in cases if not sys.argv[3:] or case.name in sys.argv[3:]]
            for name, found in parallel.run(chosen, attempt, partial(export, as_exported=True)):
                yield f"{name}, {arch}", found

    parallel.report(results())


main()

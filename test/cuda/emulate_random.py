"""Random programs of prims under the emulator (emulation.py), against the reference's answers.

python test/cuda/emulate_random.py PTC LIBCUDA RANDOM_PRIMS [FIRST COUNT]    # seeds
python test/cuda/emulate_random.py PTC LIBCUDA FOLDER                        # of programs that were saved
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import random_programs
from emulation import Emulated, Failed

REFUSALS = ("not supported", "no lowering to loops", "no CUDA code for")


def check(base: Path, ptc: Path, libcuda: Path) -> str:
    """What is wrong with a program; nothing where all is well."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            model = Emulated(ptc, libcuda, base.with_name(f"{base.name}.mlir"), Path(folder))
            for index, (_, expected, inputs) in enumerate(random_programs.calls(base)):
                answers = model.run("cuda", inputs, FAKE_SEED=str(index))
                if isinstance(answers, str):
                    return f"call {index}: {answers}"
                for output, (answer, bounds) in enumerate(zip(answers, expected, strict=True)):
                    if found := random_programs.difference(answer, bounds):
                        return f"call {index}, output {output}: {found}"
        except (Failed, subprocess.TimeoutExpired) as error:
            return " ".join(str(error).split())
    return ""


def main() -> None:
    ptc, libcuda, source = (Path(argument).resolve() for argument in sys.argv[1:4])
    first, count = sys.argv[4:6] or (1, 100)
    passed, failed, refused = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        if not source.is_dir():
            subprocess.run([source, "--save", folder, "--seed", str(first), "--count", str(count)], check=True)
            source = Path(folder)
        bases = random_programs.programs(source)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for base, found in zip(bases, pool.map(lambda base: check(base, ptc, libcuda), bases), strict=True):
                if any(text in found for text in REFUSALS):
                    refused += 1
                elif found:
                    failed += 1
                    print(f"FAIL {base.name}: {found}", flush=True)
                else:
                    passed += 1
    print(f"{refused} refused\n{passed} passed, {failed} failed")
    sys.exit(1 if failed or 4 * refused > passed else 0)


if __name__ == "__main__":
    main()

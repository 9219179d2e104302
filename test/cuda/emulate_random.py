"""Random programs of prims under the emulator (emulation.py), against the reference's answers.

python test/cuda/emulate_random.py PTC LIBCUDA RANDOM_PRIMS [FIRST COUNT]    # seeds
python test/cuda/emulate_random.py PTC LIBCUDA FOLDER                        # of programs that were saved
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import parallel
import random_programs
from emulation import Emulated, Failed

REFUSALS = ("not supported", "no lowering to loops", "no CUDA code for")


def check(base: Path, folder: Path, ptc: Path, libcuda: Path) -> str:
    """What is wrong with a program; nothing where all is well."""
    try:
        model = Emulated(ptc, libcuda, base.with_name(f"{base.name}.mlir"), folder)
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
    with tempfile.TemporaryDirectory() as folder:
        if not source.is_dir():
            subprocess.run([source, "--save", folder, "--seed", str(first), "--count", str(count)], check=True)
            source = Path(folder)
        bases = random_programs.programs(source)
        parallel.report(parallel.run(bases, partial(check, ptc=ptc, libcuda=libcuda)), REFUSALS)


if __name__ == "__main__":
    main()

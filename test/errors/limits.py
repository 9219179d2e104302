"""Compiles and runs a model where memory or threads are short: it works, or says so in one line.

    limits.py PTC DIGITS [COUNT]
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PTC, DIGITS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 40
NOBODY = 65534  # limits of threads do not hold for root
NAMES = {resource.RLIMIT_AS: "address space", resource.RLIMIT_DATA: "data", resource.RLIMIT_NPROC: "threads"}


def find_problem(command, limits, output, user=None):
    def limit():
        if user is not None:
            os.setuid(user)
        for kind, value in {resource.RLIMIT_CPU: 60, **limits}.items():
            resource.setrlimit(kind, (value, value))

    where = f"{command[1]} with {', '.join(f'{NAMES[kind]} {value}' for kind, value in limits.items())}"
    try:
        done = subprocess.run(command, capture_output=True, timeout=600, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"{where}: no answer within ten minutes"
    stderr = done.stderr.decode(errors="replace")
    if done.returncode == 0 and output.exists():
        return None
    is_line = done.returncode == 1 and len(stderr.splitlines()) == 1 and stderr.startswith("ptc: error: ")
    if is_line and not output.exists():
        return None
    # Where nothing of ptc starts, the kernel or the loader has ended it.
    if subprocess.run([command[0], "--version"], capture_output=True, preexec_fn=limit).returncode:
        return None
    return f"{where}: exit status {done.returncode}, output {'is there' if output.exists() else 'is not there'}: {stderr[:300]!r}"


def main():
    user = NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        for file in DIGITS.iterdir():
            if file.suffix in (".pt2", ".safetensors"):
                shutil.copy(file, folder)
        program = shutil.copy(PTC, folder / "ptc")
        subprocess.run([program, "compile", folder / "model.pt2", "-o", folder / "model.so"], check=True)

        def attempt(number):
            output = folder / f"output-{number}"
            compiles = number % 2 == 0
            command = [program, "compile", folder / "model.pt2", "-o", output]
            if not compiles:
                command = [program, "run", folder / "model.so", "--inputs", folder / "images.safetensors", "--outputs", output]
            step = number // 2
            kind = (resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC)[step % 4]
            share = (step // 4 + 1) / (COUNT // 8 + 1)
            if kind == resource.RLIMIT_NPROC:
                return find_problem(command, {kind: step // 4}, output, user)
            least, most = (1 << 20, 200 << 20 if compiles else 16 << 20)
            if kind == resource.RLIMIT_AS:  # with the mapped libraries
                least, most = 160 << 20, 1 << 30
            return find_problem(command, {kind: int(least + (most - least) * share**2) >> 12 << 12}, output)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = list(pool.map(attempt, range(COUNT)))
    failures = [problem for problem in problems if problem]
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(problems) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()

"""Attempts at files that nobody would write on purpose: `ptc compile` answers each in one line, writes nothing and stays small."""

import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PTC, DIGITS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
WEIGHTS = (DIGITS / "model.safetensors").read_bytes()
IS_SANITIZED = b"__asan_init" in PTC.read_bytes()  # its shadow memory has no such bound
attempts = []


def attempt(*arguments, **options):
    attempts.append((arguments, options))


def find_problem(name, kind, content, weights=WEIGHTS, must_fail=True, memory=256 << 20):
    """Compiles `content`; what breaks the promise that a bad model is the user's fault and no more, if anything does.
    `memory`: of its own, beside the mapped libraries; the files have less than 1 MB. A function makes `content` late."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        if not IS_SANITIZED:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

    content = content() if callable(content) else content
    with tempfile.TemporaryDirectory() as folder:
        model, output = Path(folder) / f"model.{kind}", Path(folder) / "out.so"
        model.write_bytes(content)
        (Path(folder) / "model.safetensors").write_bytes(weights)
        try:
            done = subprocess.run(
                [PTC, "compile", model, "-o", output], capture_output=True, timeout=600, preexec_fn=limit
            )
        except subprocess.TimeoutExpired:
            return f"{name}: no answer within ten minutes"
        left = sorted(p.name for p in Path(folder).iterdir() if p.name not in (model.name, "model.safetensors"))
        stderr = done.stderr.decode(errors="replace")
        lines = [line for line in stderr.splitlines() if not line.startswith("ptc: warning: ")]
        if done.returncode == 0 and not must_fail:
            return None  # the damage may hit padding, or a name
        problem = None
        if done.returncode != 1:
            problem = f"exit status {done.returncode}"
        elif len(lines) != 1 or not lines[0].startswith("ptc: error: "):
            problem = f"{len(lines)} lines of errors on stderr"
        elif left:
            problem = f"left {', '.join(left)}"
        return problem and f"{name}: {problem}: {stderr[:300]!r}"


def run_attempts(keep=None):
    """Makes all attempts and ends the process; files of those that fail are left in the folder `keep`."""

    def run(number):
        arguments, options = attempts[number]
        problem = find_problem(*arguments, **options)
        if problem and keep:
            _, kind, content, *_ = arguments
            (keep / f"failure-{number}.{kind}").write_bytes(content() if callable(content) else content)
        if problem:
            print("FAIL", problem, flush=True)
        return problem

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [problem for problem in pool.map(run, range(len(attempts))) if problem]
    print(f"{len(attempts) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)

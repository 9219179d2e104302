"""Ten models with their kernels and the runtime under sanitizers, called on several threads.

    python test/sanitize/models.py PTC address|thread

The kernels are compiled as ptc compiles them, up to LLVM's IR; clang adds the checks. Weights are zeros: what is looked for is
memory that is not the model's, and threads that meet in it.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).absolute().parents[2]
sys.path.insert(0, str(ROOT / "test/models"))

import torch  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import nets  # noqa: E402

NETS = ["conv_net", "groups of 8", "frames of (5, 13, 18), (3, 3, 3)", "product and groups", "linear, 127 rows", "transformer",
        "lstm", "softmax", "gather_scatter", "cumsum_sort"]  # fmt: skip
FLAGS = {"address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"], "thread": ["-fsanitize=thread"]}
# What clang would give the functions that it compiles itself.
ATTRIBUTE = {"address": "sanitize_address", "thread": "sanitize_thread"}
CODES = {torch.bool: 6, torch.bfloat16: 4, torch.uint8: 1}
# As runtime/compile.sh, but for what belongs to a library.
CXX = ["clang++-22", "-std=c++17", "-O1", "-g", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-omit-frame-pointer", "-I.",
       "-Iruntime/include", "-fno-sanitize=vptr,function"]  # fmt: skip


def pack(calls: list[tuple]) -> bytes:
    data = struct.pack("<q", len(calls))
    for args in calls:
        tensors = [torch.as_tensor(value).contiguous() for value in tree_leaves(args)]
        data += struct.pack("<q", len(tensors))
        for t in tensors:
            code = CODES.get(t.dtype, 2 if t.is_floating_point() else 0)
            content = t.reshape(-1).view(torch.uint8).numpy().tobytes()
            data += struct.pack(f"<{4 + t.dim()}q", code, t.dtype.itemsize * 8, t.dim(), *t.shape, len(content)) + content
    return data


def run(command: list, **options: object) -> None:
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: exit {done.returncode}: {done.stderr[:4000]}")


def check(ptc: Path, kind: str, case: nets.Case, folder: Path, objects: list[Path]) -> None:
    model, program = folder / "model.pt2", folder / "caller"
    torch.export.save(next(iter(case.exports()))[1], model)
    run([ptc, "compile", model, "--emit", "llvm", "-o", folder / "model.ll"])
    # The kernels' module and the tables' one.
    modules = re.split(r"(?m)^(?=; ModuleID = )", (folder / "model.ll").read_text())[1:]
    parts = []
    for i, module in enumerate(modules):
        part = folder / f"{i}.ll"
        part.write_text(re.sub(r"(?m)^(attributes #0 = \{)", rf"\1 {ATTRIBUTE[kind]}", module))
        parts.append(part)
    run([*CXX, *FLAGS[kind], "-march=native", "-Wno-override-module", *objects, *parts, "-o", program, "-ldl", "-lpthread", "-lm"])
    (folder / "inputs").write_bytes(pack([case.args, *case.others]))
    run([program, folder / "inputs"], timeout=600)


def main() -> None:
    ptc, kind = Path(sys.argv[1]).resolve(), sys.argv[2]
    cases = [case for case in nets.cases() if case.name in NETS]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [*sorted((ROOT / "runtime").glob("*.cpp")), *sorted((ROOT / "runtime/special").glob("*.cpp")), ROOT / "test/sanitize/caller.cpp"]
        objects = [folder / f"{source.stem}.o" for source in sources]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda source, out: run([*CXX, *FLAGS[kind], "-c", source, "-o", out]), sources, objects))
        for case in cases:
            (folder / case.name).mkdir()
            try:
                check(ptc, kind, case, folder / case.name, objects)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL {case.name}: {error}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed or len(cases) != len(NETS) else 0)


if __name__ == "__main__":
    main()

"""Runs a compiled model on wrong inputs: one line that names the input, status 1, no output file.

    wrong_inputs.py PTC
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PTC = Path(sys.argv[1]).resolve()
GRAPH = """ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 8]", y: "f32[s0, 8]", i: "i64[3]"):
            sum_1: "f32[s0, 8]" = torch.ops.aten.add.Tensor(x, y)
            picked: "f32[3, 8]" = torch.ops.aten.index_select.default(sum_1, 0, i)
            return (sum_1, picked)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT
    i: USER_INPUT

    # outputs
    sum_1: USER_OUTPUT
    picked: USER_OUTPUT

Range constraints: {s0: VR[2, 64]}
"""
FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i"}


def tensor(dtype, shape, value=0):
    count = 1
    for size in shape:
        count *= size
    return dtype, shape, struct.pack(f"<{count}{FORMATS[dtype]}", *[value] * count)


def pack(tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


FINE = {"x": tensor("F32", [4, 8]), "y": tensor("F32", [4, 8]), "i": tensor("I64", [3])}
WRONG = {
    "an input missing": ({"x": FINE["x"], "i": FINE["i"]}, "'y'"),
    "a tensor that is no input": ({**FINE, "z": FINE["x"]}, "'z' is no input"),
    "a tensor given twice": ({**FINE, "0": FINE["x"]}, "'x' is given twice"),
    "another dtype": ({**FINE, "x": tensor("F64", [4, 8])}, "'x'"),
    "another dtype of that width": ({**FINE, "y": tensor("I32", [4, 8])}, "'y'"),
    "a dimension less": ({**FINE, "x": tensor("F32", [8])}, "'x'"),
    "a dimension more": ({**FINE, "x": tensor("F32", [1, 4, 8])}, "'x'"),
    "no dimensions": ({**FINE, "x": tensor("F32", [])}, "'x'"),
    "another static size": ({**FINE, "x": tensor("F32", [4, 7])}, "'x'"),
    "too few rows": ({**FINE, "x": tensor("F32", [1, 8]), "y": tensor("F32", [1, 8])}, "'x'"),
    "no rows": ({**FINE, "x": tensor("F32", [0, 8]), "y": tensor("F32", [0, 8])}, "'x'"),
    "too many rows": ({**FINE, "x": tensor("F32", [65, 8]), "y": tensor("F32", [65, 8])}, "'x'"),
    "rows that differ": ({**FINE, "y": tensor("F32", [5, 8])}, "'y'"),
    "an index out of range": ({**FINE, "i": tensor("I64", [3], 4)}, "index out of range in picked: 4 is not from 0 to 3"),
    "a negative index": ({**FINE, "i": tensor("I64", [3], -(1 << 62))}, "a value beyond 48 bits is not from 0 to 3"),
}


def main():
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "model.graph").write_text(GRAPH)
        subprocess.run([PTC, "compile", path / "model.graph", "-o", path / "model.so"], check=True)

        def run(name, content, message=None):
            nonlocal passed
            (path / "in").write_bytes(content)
            command = [PTC, "run", path / "model.so", "--inputs", path / "in", "--outputs", path / "out"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            lines = done.stderr.splitlines()
            wrote = (path / "out").exists()
            (path / "out").unlink(missing_ok=True)
            if message is None:
                fine = done.returncode == 0 and wrote and not lines
            else:
                fine = done.returncode == 1 and not wrote and len(lines) == 1
                fine = fine and lines[0].startswith("ptc: error: ") and message in lines[0]
            passed += fine
            if not fine:
                failures.append(f"{name}: status {done.returncode}, {done.stderr[:300]!r}, wrote output: {wrote}")

        run("the right inputs", pack(FINE))
        for name, (tensors, message) in WRONG.items():
            run(name, pack(tensors), message)
        content = pack(FINE)
        for step in range(50):
            run(f"inputs cut at {step}/50", content[: len(content) * step // 50], str(path / "in"))
    for failure in failures:
        print("FAIL", failure)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()

"""tools/gpu where there is no GPU: it says so, and compiles all that it would run; a cubin lies in a library where the
environment's ptxas, triton's, makes one.

gpu_test.py MAIN_FILE PTC
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import triton

TOOL, PTC = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
PTXAS = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
PYTHON = sys.executable
RELU = """def forward(self, x: "f32[4, 8]"):
    relu: "f32[4, 8]" = torch.ops.aten.relu.default(x)
    return (relu,)
"""
ELF = b"\x7fELF\x02\x01"  # what a cubin begins with, and a library
ARCH = "sm_80"


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, env={**os.environ, **environment})


class ToolTest(unittest.TestCase):
    def test_all_compile(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder, "results.json")
            options = ["--compile-only", "--size", "64", "--json", results]
            done = run(PYTHON, TOOL, "--ptc", PTC, *options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            found = json.loads(results.read_text())
        for part, least in (("models", 11), ("bandwidth", 9)):
            self.assertGreaterEqual(len(found[part]), least)
            for name, result in found[part].items():
                self.assertGreater(result["compile_s"], 0, name)
        self.assertNotIn("operators", found)

    def test_what_fails_counts(self) -> None:
        done = run(PYTHON, TOOL, "--ptc", "/bin/false", "--compile-only", "perceptron")
        self.assertNotEqual(done.returncode, 0)

    def test_without_a_gpu(self) -> None:
        done = run(PYTHON, TOOL, "--ptc", PTC, CUDA_VISIBLE_DEVICES="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU here", done.stderr)

    def test_parts_are_known(self) -> None:
        done = run(PYTHON, TOOL, "--parts", "models,weather")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no part weather", done.stderr)


class PtxasTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "model.graph").write_text(RELU)

    def compile(self, *options: object, **environment: str) -> bytes:
        library = self.folder / "model.so"
        command = [PTC, "compile", self.folder / "model.graph", "-o", library, "--target", "cuda", "--gpu-arch", ARCH]
        done = run(*command, *options, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return library.read_bytes()

    def test_the_same_ptxas_gives_the_same_bytes(self) -> None:
        first, second = self.compile("--ptxas", PTXAS), self.compile("--ptxas", PTXAS)
        self.assertEqual(first, second)
        self.assertIn(b"ptxas 1", first)
        self.assertEqual(first.count(ELF), self.compile("--ptxas", "none").count(ELF) + 1)

    def test_a_package_of_a_python_in_path_brings_one(self) -> None:
        """No other is looked for where PATH has one: as triton's, here under a name of its own."""
        site = self.folder / "environment/lib/python3.11/site-packages/triton/backends/nvidia/bin"
        binaries = self.folder / "environment/bin"
        for made in (site, binaries):
            made.mkdir(parents=True)
        (site / "ptxas").symlink_to(PTXAS)
        (binaries / "python3").symlink_to(PYTHON)
        toolkit = self.folder / "toolkit"
        (toolkit / "bin").mkdir(parents=True)
        (toolkit / "bin/ptxas").symlink_to(PTXAS)
        doctor = run(PTC, "doctor", "--json", PATH=f"{binaries}:/usr/bin:/bin", CUDA_HOME="", CUDA_PATH="")
        found = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}["ptxas"]
        expected = {str(site / "ptxas"), "/usr/local/cuda/bin/ptxas"} | set(self.of_system())
        self.assertIn(found["file"], expected)
        doctor = run(PTC, "doctor", "--json", PATH=str(binaries), CUDA_HOME=str(toolkit))
        found = {check["name"]: check for check in json.loads(doctor.stdout)["checks"]}["ptxas"]
        self.assertEqual(found["file"], str(toolkit / "bin/ptxas"))

    @staticmethod
    def of_system() -> list[str]:
        return [str(path) for path in (Path("/usr/bin/ptxas"), Path("/bin/ptxas")) if path.exists()]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""The wheel, as users have it: in an environment of its own, with NumPy alone, from CMake and from pkg-config.

wheel_test.py PTC
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

from deployed import ROOT, build_with_cmake, build_with_pkg_config, run

PTC = Path(sys.argv[1]).resolve()
FOLDER = Path(tempfile.mkdtemp())

PROGRAM = """
import importlib.metadata, sys
import numpy, ptc
ptc.compile(sys.argv[1], "digits.so")
model = ptc.load("digits.so")
assert "torch" not in sys.modules
(probabilities,) = model(numpy.zeros((2, 1, 8, 8), numpy.float32))
print(probabilities.numpy().shape, [str(tensor) for tensor in model.inputs])
try:
    ptc.compile("nothing.pt2", "nothing.so")
except ptc.CompileError as error:
    print(error.status, error)
print([entry.value for entry in importlib.metadata.entry_points(group="torch_dynamo_backends", name="ptc")])
"""

LICENCE = """
import importlib.metadata
metadata = importlib.metadata.metadata("ptc")
print(metadata["License-Expression"], metadata.get_all("License-File"))
"""


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        run(ROOT / "tools/wheel", "--ptc", PTC, "--out", FOLDER)
        # Debian's NumPy, so that nothing is downloaded.
        run("/usr/bin/python3", "-m", "venv", "--system-site-packages", FOLDER / "venv")
        (wheel,) = FOLDER.glob("*.whl")
        run(FOLDER / "venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
        cls.python = FOLDER / "venv/bin/python"
        (cls.packages,) = FOLDER.glob("venv/lib/python3*/site-packages")
        (cls.info,) = cls.packages.glob("ptc-*.dist-info")

    def test_the_same_sources_give_the_same_wheel(self) -> None:
        (wheel,) = FOLDER.glob("*.whl")
        before = wheel.read_bytes()
        run(ROOT / "tools/wheel", "--ptc", PTC, "--out", FOLDER)
        self.assertEqual(wheel.read_bytes(), before)

    def test_pip_builds_the_same_wheel(self) -> None:
        pip = self.python.parent / "pip"
        options = ["--quiet", "--no-index", "--no-deps", "--config-settings", f"ptc={PTC}"]
        run(pip, "wheel", *options, "-w", FOLDER / "pip", ROOT)
        (ours,), (theirs,) = FOLDER.glob("*.whl"), FOLDER.glob("pip/*.whl")
        self.assertEqual((theirs.name, theirs.read_bytes()), (ours.name, ours.read_bytes()))

    def test_commands(self) -> None:
        version = run(PTC, "--version")
        self.assertEqual(run(FOLDER / "venv/bin/ptc", "--version"), version)
        self.assertEqual(run(self.python, "-m", "ptc", "--version"), version)

    def test_numpy_alone(self) -> None:
        said = run(self.python, "-c", PROGRAM, ROOT / "examples/digits/model.pt2", cwd=FOLDER)
        self.assertIn("(2, 10) ['images: float32[s34, 1, 8, 8]']", said)
        self.assertIn("1 nothing.pt2: ", said)
        self.assertIn("['ptc.dynamo:backend']", said)

    def test_licence(self) -> None:
        said = run(self.python, "-c", LICENCE)
        self.assertIn("Apache-2.0 WITH LLVM-exception ['LICENSE', 'NOTICES.txt']", said)
        self.assertEqual((self.info / "licenses/LICENSE").read_bytes(), (ROOT / "LICENSE").read_bytes())

    def test_cmake(self) -> None:
        cmake = run(self.python, "-m", "ptc.paths", "cmake").strip()
        self.assertIn("image 1 is a 7", build_with_cmake(FOLDER, cmake))

    def test_pkg_config(self) -> None:
        build_with_pkg_config(FOLDER, run(self.python, "-m", "ptc.paths", "pkgconfig").strip())

    @unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
    def test_torch_lists_the_backend(self) -> None:
        program = "import torch; print(torch._dynamo.list_backends())\n"
        program += "print(torch.compile(lambda x: x + 1, backend='ptc')(torch.ones(2)))"
        environment = {"PYTHONPATH": str(self.packages), "PTC_CACHE_DIR": str(FOLDER / "cache")}
        said = run(sys.executable, "-W", "error::UserWarning:ptc", "-c", program, env=environment)
        self.assertIn("'ptc'", said)
        self.assertIn("tensor([2., 2.])", said)
        self.assertEqual(len(list((FOLDER / "cache/dynamo").glob("*.so"))), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

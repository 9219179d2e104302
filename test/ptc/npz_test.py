"""`ptc run` with NumPy's .npz files: what goes in and what comes out, and files that are none.

npz_test.py PTC
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

PTC = Path(sys.argv[1]).resolve()
FOLDER = tempfile.TemporaryDirectory()
NUMBERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]

MLIR = {"bool": "i1", "uint8": "ui8", "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "complex<f32>"}


def compile_text(text: str) -> Path:
    model, library = Path(FOLDER.name, "model.mlir"), Path(FOLDER.name, "model.so")
    model.write_text(text)
    subprocess.run([PTC, "compile", model, "-o", library], check=True)
    return library


def identity(kind: str, sizes: str) -> Path:
    tensor = f"tensor<{sizes}{MLIR.get(kind, kind.replace('int', 'i'))}>"
    return compile_text(f"""
func.func @forward(%x: {tensor} {{ptc.input = "a/x"}}) -> ({tensor} {{ptc.output = "y"}}) {{
  %0 = aten.clone.default %x : ({tensor}) -> {tensor}
  return %0 : {tensor}
}}
""")


def run(library: Path, inputs: Path, outputs: str = "outputs.npz") -> subprocess.CompletedProcess:
    command = [PTC, "run", library, "--inputs", inputs, "--outputs", Path(FOLDER.name, outputs)]
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def results(library: Path, inputs: Path) -> dict[str, np.ndarray]:
    done = run(library, inputs)
    assert done.returncode == 0, done.stderr
    with np.load(Path(FOLDER.name, "outputs.npz")) as arrays:
        return dict(arrays)


class NpzTest(unittest.TestCase):
    def save(self, save=np.savez, **arrays: np.ndarray) -> Path:
        path = Path(FOLDER.name, "inputs.npz")
        save(path, **arrays)
        return path

    def test_types(self) -> None:
        for kind in NUMBERS:
            array = (np.arange(6) % 4).reshape(2, 3).astype(kind)
            found = results(identity(kind, "2x3x"), self.save(**{"a/x": array}))
            self.assertEqual((list(found), found["0"].dtype), (["0"], array.dtype), kind)
            np.testing.assert_array_equal(found["0"], array)

    def test_shapes_orders_and_compression(self) -> None:
        rng = np.random.default_rng(1)
        for shape in ((), (0, 3), (5,), (2, 3, 4)):
            array = rng.standard_normal(shape, np.float32) if shape else np.float32(3)
            library = identity("float32", "".join(f"{size}x" for size in shape))
            for given in (array, np.asarray(array, order="F")):
                for save in (np.savez, np.savez_compressed):
                    found = results(library, self.save(save, **{"0": given}))["0"]
                    self.assertEqual(found.shape, shape)
                    np.testing.assert_array_equal(found, array)

    def test_the_same_bytes_again(self) -> None:
        library, inputs = identity("float32", "4x"), self.save(**{"0": np.ones(4, np.float32)})
        self.assertEqual(run(library, inputs, "one.npz").returncode, 0)
        self.assertEqual(run(library, inputs, "two.npz").returncode, 0)
        self.assertEqual(Path(FOLDER.name, "one.npz").read_bytes(), Path(FOLDER.name, "two.npz").read_bytes())

    def test_what_is_no_array_of_numbers(self) -> None:
        library = identity("float32", "4x")
        ones = np.ones(4, np.float32)
        for array, what in (
            (ones.astype(">f4"), "array 'x' has elements of NumPy's type '>f4'"),
            (np.array(["a"]), "array 'x' has elements of NumPy's type '<U1'"),
            (np.zeros(2, [("u", "<f4"), ("v", "<i4")]), "array 'x' is no array of numbers"),
        ):
            done = run(library, self.save(x=array))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"inputs.npz: {what}", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_damaged_files(self) -> None:
        library, path = identity("float32", "4x"), self.save(**{"0": np.ones(4, np.float32)})
        whole = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            array = archive.read("0.npy")
        damaged = {
            "cut": whole[:-30], "byte": whole.replace(b"NUMPY", b"NUMBY"), "empty": b"PK\x03\x04",
            "short": array[:-3], "long": array + b"1", "header": array[:11], "negative": array.replace(b"(4,)", b"-4,)"),
            "huge": array.replace(b"(4,), }" + b" " * 20, b"(9999999999999, 9999999), }"),
        }  # fmt: skip
        for name, content in damaged.items():
            file = Path(FOLDER.name, f"{name}.npz")
            if content[:2] == b"PK":
                file.write_bytes(content)
            else:
                with zipfile.ZipFile(file, "w") as archive:
                    archive.writestr("0.npy", content)
            done = run(library, file, f"never-{name}.npz")
            self.assertEqual(done.returncode, 1, name)
            self.assertRegex(done.stderr, rf"^ptc: error: .*{name}\.npz: .*\n$")
            self.assertFalse(Path(FOLDER.name, f"never-{name}.npz").exists())

    def test_types_that_numpy_lacks(self) -> None:
        library = compile_text("""
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xbf16> {ptc.output = "y"}) {
  %0 = prims.convert %x {dtype = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
""")
        inputs = self.save(x=np.ones(4, np.float32))
        done = run(library, inputs, "none.npz")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.npz: output '0' has a type that NumPy lacks (name the file .safetensors)", done.stderr)
        self.assertFalse(Path(FOLDER.name, "none.npz").exists())
        self.assertEqual(run(library, inputs, "some.safetensors").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""The Python loader, on models made by hand; torch and NumPy tensors in, out, and in place.

loader_test.py MAKE_MODEL LOADER_FILE...
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

import numpy as np
import torch

MAKE_MODEL = str(Path(sys.argv[1]).resolve())
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))
import ptc  # noqa: E402
from ptc import _abi as abi  # noqa: E402

FOLDER = Path(tempfile.mkdtemp())


def load(name: str, **options: object) -> ptc.Model:
    path = FOLDER / f"{name}.so"
    if not path.exists():
        subprocess.run([MAKE_MODEL, name, path], check=True)
    return ptc.load(path, **options)


def affine(x: np.ndarray) -> np.ndarray:
    steps = np.arange(1, 9, dtype=np.float32)
    return x * steps + 10 * steps


class LoaderTest(unittest.TestCase):
    def setUp(self) -> None:
        self.model = load("affine")
        self.x = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)

    def test_numpy(self) -> None:
        (y,) = self.model(self.x)
        np.testing.assert_array_equal(y.numpy(), affine(self.x))
        np.testing.assert_array_equal(np.asarray(y), affine(self.x))

    def test_by_name_strided_and_read_only(self) -> None:
        turned = np.asfortranarray(self.x)[::-1]
        turned.flags.writeable = False
        (y,) = self.model(x=turned)
        np.testing.assert_array_equal(y.numpy(), affine(turned))

    def test_torch(self) -> None:
        x = torch.from_numpy(self.x).t().contiguous().t()
        (y,) = self.model(x)
        back = torch.from_dlpack(y)
        again = torch.from_dlpack(y)
        del y
        gc.collect()
        np.testing.assert_array_equal(back.numpy(), affine(self.x))
        self.assertEqual(back.data_ptr(), again.data_ptr())

    def test_results_outlive_the_model(self) -> None:
        y = self.model(self.x)[0].numpy()
        del self.model
        gc.collect()
        np.testing.assert_array_equal(y, affine(self.x))

    def test_a_file_that_was_written_anew_is_another_model(self) -> None:
        path, models = FOLDER / "new.so", []
        for name in ("affine", "increment"):
            subprocess.run([MAKE_MODEL, name, FOLDER / "newer.so"], check=True)
            (FOLDER / "newer.so").rename(path)
            models.append(ptc.load(path))
        self.assertEqual([model.name for model in models], ["affine", "increment"])
        maps = Path("/proc/self/maps").read_text().count(str(path))
        models.append(ptc.load(path))
        self.assertEqual(Path("/proc/self/maps").read_text().count(str(path)), maps)
        with self.assertRaisesRegex(ptc.Error, f"^{FOLDER}/no.so: no library .*: cannot open"):
            ptc.load(FOLDER / "no.so")

    def test_unconsumed_capsules_are_freed(self) -> None:
        (y,) = self.model(self.x)
        capsule, freed = y.__dlpack__(), weakref.ref(y)
        del y
        self.assertIsNotNone(freed())
        del capsule
        self.assertIsNone(freed())

    def test_results_leave_exceptions_alone(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "must match the size"):
            torch.from_dlpack(self.model(self.x)[0]) - torch.zeros(3, 3)
        with self.assertRaisesRegex(TypeError, "PyCapsule"):
            int(self.model(self.x)[0].__dlpack__())

    def test_types_that_numpy_does_not_export(self) -> None:
        words = np.array([0x3F80, 0x4000], np.uint16)
        sizes = (ctypes.c_int64 * 1)(2)
        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda address: None)
        view = abi.DLTensor(words.ctypes.data, abi.Device(1, 0), 1, abi.DataType(4, 16, 1), sizes, None, 0)
        managed = abi.DLManagedTensor(view, None, deleter)
        y = ptc.Tensor(ctypes.addressof(managed), None)
        self.assertEqual(torch.from_dlpack(y).tolist(), [1, 2])
        self.assertEqual(y.numpy().astype(np.float32).tolist(), [1, 2])
        del y  # before what it stands on

    def test_read_only_memory_is_not_written(self) -> None:
        class Foreign:
            def __dlpack__(self, **options):
                return fixed.__dlpack__(**options)

        np.save(FOLDER / "saved.npy", np.zeros((5, 8), np.float32))
        fixed = np.zeros(4, np.float32)
        fixed.flags.writeable = False
        for out in (np.load(FOLDER / "saved.npy", mmap_mode="r"), np.broadcast_to(np.float32(0), (5, 8))):
            with self.assertRaisesRegex(ptc.MismatchError, r"output 'y' \(0\): its memory is read-only"):
                self.model(self.x, out=[out])
        increment = load("increment")
        for x in (fixed, Foreign()):
            with self.assertRaisesRegex(ptc.MismatchError, r"input 'x' \(0\): its memory is read-only"):
                increment(x)
        with self.assertRaisesRegex(TypeError, r"input 'x' \(0\): a list has no memory"):
            increment([0, 0, 0, 0])
        self.assertEqual(fixed.tolist(), [0, 0, 0, 0])

    def test_what_is_no_tensor(self) -> None:
        scalar = load("scalar")
        for x, why in (
            (self.x.astype(object), "an array of dtype object is no tensor"),
            (self.x.astype("M8[s]"), "an array of dtype datetime64"),
            (self.x.astype(">f4"), "an array of dtype >f4"),
            (None, "None is no tensor"),
            ("text", "'text' is no tensor"),
        ):
            with self.assertRaisesRegex(TypeError, why):
                self.model(x)
        with self.assertRaisesRegex(TypeError, r"2\.5 is no tensor \(int64 is wanted\)"):
            scalar(self.x, 2.5)
        with self.assertRaisesRegex(BufferError, "gradient"):
            self.model(torch.zeros(5, 8, requires_grad=True))
        with self.assertRaisesRegex(BufferError, "^Can't export tensors with layout other than torch.strided$"):
            self.model(torch.zeros(5, 8).to_sparse())
        with self.assertRaisesRegex(BufferError, "conj"):
            self.model(torch.zeros(5, 8, dtype=torch.complex64).conj())

    def test_optional_inputs(self) -> None:
        model = load("optional")
        self.assertEqual([info.name for info in model.inputs], ["x"])
        self.assertEqual([str(info) for info in model.optional_inputs], ["w: float32[8]", "b: float32[8]"])
        self.assertIn("b: float32[8] = ...) ->", repr(model))
        w, b = np.full(8, 3, np.float32), torch.full((8,), 5.0)
        steps = np.arange(1, 9, dtype=np.float32)
        for given, named, expected in (
            ((), {}, affine(self.x)),
            ((w, b), {}, self.x * w + 5),
            ((None, b), {}, self.x * steps + 5),
            ((), {"b": b}, self.x * steps + 5),
            ((w,), {"b": None}, self.x * w + 10 * steps),
        ):
            np.testing.assert_array_equal(model(self.x, *given, **named)[0].numpy(), expected)
        with self.assertRaisesRegex(ptc.MismatchError, r"input 'b' \(2\): dimension 0 has size 9"):
            model(self.x, b=np.zeros(9, np.float32))
        with self.assertRaisesRegex(TypeError, r"the model takes \['x'\], and may take \['w', 'b'\]"):
            model(self.x, v=w)
        self.assertEqual(self.model.optional_inputs, [])

    def test_out(self) -> None:
        out = np.zeros((5, 16), np.float32)
        self.model(self.x, out=[out[:, ::2]])
        np.testing.assert_array_equal(out[:, ::2], affine(self.x))
        with self.assertRaisesRegex(TypeError, "2 outputs were given, but the model has 1"):
            self.model(self.x, out=[out[:, ::2], out])

    def test_errors(self) -> None:
        with self.assertRaisesRegex(ptc.Error, r"input 'x' \(0\): dimension 0 has size 1, allowed: 2..1024 \(s0\)"):
            self.model(self.x[:1])
        with self.assertRaisesRegex(TypeError, "is missing"):
            self.model()
        with self.assertRaisesRegex(TypeError, "the model takes"):
            self.model(self.x, z=1)

    def test_files_that_are_not_whole(self) -> None:
        whole = (FOLDER / "affine.so").read_bytes()
        path = FOLDER / "damaged.so"
        path.write_bytes(whole[:-200])
        with self.assertRaisesRegex(ptc.Error, "no library that ptc compiled, or not whole"):
            ptc.load(path)
        path = FOLDER / "changed.so"
        path.write_bytes(whole.replace(np.arange(1, 9, dtype=np.float32).tobytes(), bytes(32)))
        with self.assertRaisesRegex(ptc.Error, "changed.so: the library's file was changed"):
            ptc.load(path, check=True)
        ptc.load(FOLDER / "affine.so", check=True)

    def test_signature_and_memory(self) -> None:
        self.assertEqual(self.model.inputs[0].shape[0], ptc.Dim("s0", 2, 1024))
        self.assertEqual(self.model.outputs[0].dtype, "float32")
        self.model(self.x)
        self.assertGreater(self.model.memory.reserved, 0)
        self.model.trim()
        self.assertEqual(self.model.memory.reserved, 0)

    def test_numbers_for_scalars(self) -> None:
        model = load("scalar")
        for number in (3, np.int32(3), np.array(3)):
            (y,) = model(np.ones((7, 8), np.float32), number)
            self.assertEqual(y.shape, (7, 8))
        with self.assertRaisesRegex(ptc.Error, r"input 'n' \(1\): is 1000, allowed: 1..100 \(s0\)"):
            model(np.ones((7, 8), np.float32), 1000)

    def test_states(self) -> None:
        model = load("running")
        model(np.ones(4, np.float32))
        self.assertEqual(model.get_state("total"), [104])
        model.set_state("total", np.array([1], np.float32))
        self.assertEqual(model(np.ones(4, np.float32))[1].numpy(), [5])
        model.reset_states()
        self.assertEqual(model.get_state("total"), [100])

    def test_updates_torch_in_place(self) -> None:
        x = torch.zeros(4)
        load("increment")(x)
        self.assertEqual(x.tolist(), [1, 1, 1, 1])

    def test_external_functions(self) -> None:
        model = load("external")
        self.assertEqual([place.name for place in model.externals], ["mylib::twice.default"] * 2)
        first, second = model.externals
        self.assertEqual((first.source, str(first.inputs[0])), ("net.py:5", ": float32[s0, 8]"))
        self.assertEqual((second.outputs[0], second.call["args"]), (None, [{"tensor": 0}, 2.0]))
        with self.assertRaisesRegex(ptc.Error, "'mylib::twice.default' is not registered, called at net.py:5"):
            model(self.x)
        model.register("mylib::twice.default", lambda x, factor: (x * np.float32(factor),) * 2)
        (y,) = model(self.x)
        np.testing.assert_allclose(y.numpy(), 2 * affine(2 * self.x), rtol=1e-6)
        with model.profile(FOLDER / "external.json"):
            model(self.x)
        events = json.loads((FOLDER / "external.json").read_text())["traceEvents"]
        self.assertEqual(sum(event.get("cat") == "external" for event in events), 2)

    def test_external_functions_that_fail(self) -> None:
        model = load("external")
        model.register("mylib::twice.default", lambda x, factor: x.setfield(1, np.float32))
        with self.assertRaisesRegex(ptc.Error, "failed with 1: ValueError: .*called at net.py:5") as raised:
            model(self.x)
        self.assertIsInstance(raised.exception.__cause__, ValueError)
        model.register("mylib::twice.default", lambda x, factor: x.astype(np.float64))
        with self.assertRaisesRegex(ptc.Error, r"TypeError: result 0: answered float64\[5, 8\], not float32\[5, 8\]"):
            model(self.x)
        model.register("mylib::twice.default", lambda x, factor: None)
        with self.assertRaisesRegex(ptc.Error, "TypeError: answered 0 tensors"):
            model(self.x)
        with self.assertRaisesRegex(KeyError, "it calls: .*mylib::twice.default"):
            model.register("mylib::thrice.default", abs)
        with self.assertRaisesRegex(LookupError, "torch.ops has no mylib::twice.default"):
            load("external").register_torch_operators()

    def test_profile(self) -> None:
        with self.model.profile(FOLDER / "trace.json"):
            self.model(self.x)
        names = {event["name"] for event in json.loads((FOLDER / "trace.json").read_text())["traceEvents"]}
        self.assertLessEqual({"affine", "scale_rows", "add_row"}, names)

    def test_asks_torchs_openmp_and_loads_no_other(self) -> None:
        self.assertIsNone(self.model.openmp)
        x = np.ones(100_000, np.int64)
        load("neighbours")(x)
        loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "omp" in line}
        self.assertEqual(len({name for name in loaded if "libgomp" in name or "libomp" in name}), 1, loaded)
        torch.set_num_threads(1)
        self.assertEqual(self.model.threads, 1)

    def test_beside_torchs_threads(self) -> None:
        """Calls in turns with operators of torch, whose threads go on spinning for a while."""
        model, x = load("neighbours"), np.arange(200_000)
        expected, = load("neighbours", threads=1)(x)
        matrix = torch.ones(256, 256)
        torch.set_num_threads(2)
        for _ in range(200):
            self.assertEqual(torch.mm(matrix, matrix)[0, 0], 256)
            np.testing.assert_array_equal(model(x)[0], expected)

    def test_waiting(self) -> None:
        model = ptc.load(FOLDER / "affine.so", threads=2, waiting="active")
        self.assertEqual(model.waiting, "active")
        for mode in ("passive", "adaptive", None):
            model.waiting = mode
            np.testing.assert_array_equal(model(self.x)[0].numpy(), affine(self.x))
        self.assertEqual(model.activity.calls, 3)
        self.assertIn(model.activity.threads, range(3, 7))
        with self.assertRaisesRegex(ValueError, "no way to wait 'idle' .only None, 'adaptive', 'passive', 'active'"):
            model.waiting = "idle"

    def test_python_threads(self) -> None:
        wrong = []

        def work(seed: int) -> None:
            x = np.random.default_rng(seed).standard_normal((20 + seed, 8)).astype(np.float32)
            for _ in range(50):
                if not np.array_equal(self.model(x)[0].numpy(), affine(x)):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

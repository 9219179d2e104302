"""The Python package's calls of models for a GPU, under the fake driver: arrays of the host, of CuPy (fake_cupy.py) and
of others, streams, sizes that data decide, states, errors. The fake driver does work when a stream is waited for: what
has not been waited for is not there.

python_test.py PTC LIBCUDA LOADER_FILE
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import torch

PTC, LIBCUDA = (Path(argument).resolve() for argument in sys.argv[1:3])
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(Path(sys.argv[3]).resolve().parent.parent)]

import fake_cupy  # noqa: E402
import ptc  # noqa: E402
from emulation import Emulated  # noqa: E402
from fake_cupy import Stream  # noqa: E402
from ptc._cuda import CudaModel  # noqa: E402

os.environ["PTC_EXECUTABLE"] = str(PTC)
FOLDER = Path(tempfile.mkdtemp())
TABLE = torch.arange(40, dtype=torch.float32).reshape(5, 8)


class Lookup(torch.nn.Module):
    """A size that calls decide, a state, an index that may be out of range."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", TABLE)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x, places):
        self.count.add_(1)
        return x * 2 + self.table[places], self.count + 0


class Static(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1, x.sum(1)


class Positive(torch.nn.Module):
    """A size that data decide, without a bound that sizes give."""

    def forward(self, x, counts):
        return torch.repeat_interleave(x, counts), x[x > 0] * 2


def build() -> None:
    n = torch.export.Dim("n", min=1, max=100)
    programs = {
        "lookup": torch.export.export(
            Lookup(), (torch.zeros(3, 8), torch.zeros(3, dtype=torch.int64)), dynamic_shapes=({0: n}, {0: n})
        ),
        "static": torch.export.export(Static(), (torch.zeros(4, 8),)),
        "positive": torch.export.export(Positive(), (torch.zeros(4), torch.ones(4, dtype=torch.int64))),
    }
    for name, program in programs.items():
        (FOLDER / name).mkdir()
        torch.export.save(program, FOLDER / name / "model.pt2")
        Emulated(PTC, LIBCUDA, FOLDER / name / "model.pt2", FOLDER / name)
        ptc.compile(FOLDER / name / "model.pt2", FOLDER / name / "cpu.so")


def load(name: str, **options: object) -> ptc.Model:
    os.environ["FAKE_IMAGE"] = str(FOLDER / name / "image.so")
    return ptc.load(FOLDER / name / "cuda.so", **options)


class CudaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        build()
        fake_cupy.install(str(LIBCUDA))

    def setUp(self) -> None:
        self.model = load("lookup")
        self.x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
        self.places = np.array([3, 0, 4, 3])
        self.expected = self.x * 2 + TABLE.numpy()[self.places]

    def on_gpu(self) -> list[fake_cupy.ndarray]:
        return [fake_cupy.array(self.x), fake_cupy.array(self.places)]

    def test_arrays_of_the_host(self) -> None:
        self.assertIsInstance(self.model, CudaModel)
        self.assertEqual((self.model.device, self.model.target), ("cuda:0", "cuda"))
        y, count = self.model(self.x, places=self.places)
        self.assertEqual((y.device, y.shape), ("cpu", (4, 8)))
        np.testing.assert_array_equal(y.numpy(), self.expected)
        self.assertEqual(count.numpy(), [1])
        out = [np.zeros((4, 8), np.float32), np.zeros(1, np.float32)]
        self.assertIs(self.model(self.x, self.places, out=out), out)
        np.testing.assert_array_equal(out[0], self.expected)

    def test_names_and_shapes(self) -> None:
        names = [info.name for info in self.model.outputs]
        turned = self.x.T.copy()
        for x, wrong in (
            (self.x, turned),
            (fake_cupy.array(self.x), fake_cupy.array(turned)),
            (fake_cupy.Foreign(self.x), fake_cupy.Foreign(turned)),
        ):
            results = self.model({"places": self.places, "x": x})
            self.assertEqual(list(results.keys()), names)
            self.assertIs(results[names[1]], results[1])
            (y,) = self.model.run(names[:1], {"places": self.places, "x": x})
            self.assertEqual(y.shape, (4, 8))
            with self.assertRaisesRegex(
                ptc.MismatchError, r"shape is \[8, 4\], the model's \[s\d+, 8\] \(transposed\? transpose\(1, 0\) fits\)$"
            ):
                self.model(wrong, self.places)
        with self.assertRaisesRegex(TypeError, "there is no input 'place', did you mean 'places'"):
            self.model(self.x, place=self.places)

    def test_calls_return_before_their_work_is_done(self) -> None:
        for stream in (Stream(null=True), Stream()):
            with stream.use():
                inputs = self.on_gpu()
                waits = fake_cupy.driver.fake_waits()
                y, _ = self.model(*inputs)
                self.assertEqual(fake_cupy.driver.fake_waits(), waits)
                self.assertIsInstance(y, fake_cupy.ndarray)
                self.assertEqual([array.streams for array in inputs], [[-1], [-1]])
                np.testing.assert_array_equal(y.get(), self.expected)
        np.testing.assert_array_equal(self.model(self.x, self.places)[0].numpy(), self.expected)
        self.assertEqual(self.model.get_state("count"), [3])

    def test_sizes_that_are_known(self) -> None:
        model = load("static")
        waits = fake_cupy.driver.fake_waits()
        y, total = model(fake_cupy.array(self.x))
        self.assertEqual(fake_cupy.driver.fake_waits(), waits + 1)  # for the array
        np.testing.assert_array_equal(y.get(), self.x * 2 + 1)
        np.testing.assert_allclose(total.get(), self.x.sum(1), rtol=1e-5)

    def test_work_is_in_the_order_of_its_stream(self) -> None:
        """A result is the next call's input, without a wait between, and its array may go before it is read."""
        with Stream().use():
            y = self.on_gpu()[0]
            places = fake_cupy.array(np.zeros(4, np.int64))
            for _ in range(3):
                y, _ = self.model(y, places)
            gc.collect()
            np.testing.assert_allclose(y.get(), self.x * 8 + 7 * TABLE.numpy()[0], rtol=1e-6)

    def test_strided_inputs_and_outputs(self) -> None:
        turned = fake_cupy.array(self.x.T.copy()).T
        out = [fake_cupy.empty((8, 4), "float32").T, fake_cupy.empty((1,), "float32")]
        self.assertIs(self.model(turned, self.places, out=out), out)
        np.testing.assert_array_equal(fake_cupy.ndarray((8, 4), "float32", out[0].data).get().T, self.expected)

    def test_other_libraries_arrays(self) -> None:
        x = fake_cupy.Foreign(self.x)
        y, _ = self.model(x, self.places)
        self.assertEqual((x.streams, y.device, str(y)), ([1], "cuda:0", "ptc.Tensor(float32[4, 8], cuda:0)"))
        self.assertEqual(y.__dlpack_device__(), (2, 0))
        with self.assertRaisesRegex(TypeError, "not in the host's memory: torch.from_dlpack"):
            y.numpy()
        with self.assertRaises(BufferError):
            y.__dlpack__(copy=True)
        # It waits for nobody: what the interface says is there.
        address = y.__cuda_array_interface__["data"][0]
        memory = fake_cupy.ndarray((4, 8), "float32", type("Kept", (), {"ptr": address, "owner": y})())
        np.testing.assert_array_equal(memory.get(), self.expected)
        again, _ = self.model(y, self.places)
        out = np.zeros((4, 8), np.float32)
        self.model(again, self.places, out=[out, np.zeros(1, np.float32)])
        np.testing.assert_allclose(out, self.expected * 4 + 3 * TABLE.numpy()[self.places], rtol=1e-6)
        mixed = [fake_cupy.array(self.x), fake_cupy.Foreign(self.places)]
        np.testing.assert_array_equal(self.model(*mixed)[0].get(), self.expected)
        self.assertEqual([array.streams for array in mixed], [[-1], [1]])

    def test_to_device(self) -> None:
        x = self.model.to_device(self.x.T.copy().T)
        out = np.zeros((4, 8), np.float32)
        self.model(x, self.places, out=[out, np.zeros(1, np.float32)])
        np.testing.assert_array_equal(out, self.expected)
        capsules = [x.__dlpack__(stream=1, max_version=(1, 0)) for _ in range(2)]
        del x, capsules
        gc.collect()

    def test_sizes_that_data_decide(self) -> None:
        model = load("positive")
        x = np.array([1, -2, 3, -4], np.float32)
        for counts in ([1, 0, 2, 1], [0] * 4, [1000, 0, 500, 9]):
            repeated, positive = model(fake_cupy.array(x), fake_cupy.array(np.array(counts)))
            np.testing.assert_array_equal(repeated.get(), np.repeat(x, counts))
            np.testing.assert_array_equal(positive.get(), [2, 6])

    def test_states(self) -> None:
        with Stream().use():
            self.model(*self.on_gpu())
            self.assertEqual(self.model.get_state("count"), [1])
            value = fake_cupy.array(np.array([7], np.float32))
            self.model.set_state("count", value)
            self.assertEqual(value.streams, [1])
            self.assertEqual(self.model(*self.on_gpu())[1].get(), [8])
        self.model.reset_states()
        self.assertEqual(self.model.state_dict()["count"], [0])

    def test_an_index_out_of_range_is_told_later(self) -> None:
        bad = fake_cupy.array(np.array([0, 5, 0, 0]))
        self.model(fake_cupy.array(self.x), bad)
        with self.assertRaisesRegex(ptc.OutOfRangeError, "index"):
            self.model.synchronize()
        self.model.synchronize()
        np.testing.assert_array_equal(self.model(*self.on_gpu())[0].get(), self.expected)
        with self.assertRaises(IndexError):
            self.model(self.x, np.array([0, 5, 0, 0]))

    def test_devices(self) -> None:
        path = FOLDER / "lookup" / "cuda.so"
        self.assertEqual(load("lookup", device=torch.device("cuda", 0)).device, "cuda:0")
        with self.assertRaisesRegex(ptc.Error, "7"):
            ptc.load(path, device="cuda:7")
        with self.assertRaisesRegex(ptc.MismatchError, "was compiled for cuda, not for cpu"):
            ptc.load(path, device="cpu")
        with self.assertRaisesRegex(ptc.MismatchError, "was compiled for cpu, not for cuda"):
            ptc.load(FOLDER / "lookup" / "cpu.so", device="cuda")
        with self.assertRaisesRegex(ValueError, "no device 'gpu'"):
            ptc.load(path, device="gpu")
        with self.assertRaisesRegex(ptc.MismatchError, "input 'x' .*the model runs on the CPU"):
            ptc.load(FOLDER / "lookup" / "cpu.so")(*self.on_gpu())

    def test_python_threads(self) -> None:
        """Each in a stream of its own, on one model."""
        wrong, model = [], load("positive")

        def work(seed: int) -> None:
            fake_cupy.enter()
            x = np.random.default_rng(seed).standard_normal(4).astype(np.float32)
            with Stream().use():
                for count in range(20):
                    arrays = fake_cupy.array(x), fake_cupy.array(np.full(4, count))
                    if not np.array_equal(model(*arrays)[0].get(), np.repeat(x, count)):
                        wrong.append((seed, count))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

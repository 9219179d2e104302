"""torch.compile(backend=ptc) of tensors on a GPU, as far as it goes without one: which graphs become libraries for
which GPU, and which run in eager mode. The tensors are fake, and libraries are compiled and not opened.

cuda_test.py PTC LOADER_FILE
"""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
os.environ["PTC_CACHE_DIR"] = tempfile.mkdtemp()
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: E402

from ptc.dynamo import FallbackWarning, _library, backend  # noqa: E402
from ptc.dynamo._graph import Refused  # noqa: E402

F = nn.functional
NOT_OPENED = "there is no GPU to open it on"


class CudaTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        self.opened: list[tuple[Path, str]] = []
        self.graphs: list[_library.Graph] = []
        self.fakes = FakeTensorMode(shape_env=ShapeEnv())
        self.enterContext(mock.patch.object(_library, "Model", self.open))
        self.enterContext(mock.patch("torch.cuda.get_device_capability", lambda gpu: (9, gpu.index)))
        self.enterContext(mock.patch("torch.cuda.get_device_name", lambda gpu: "Fake GPU"))
        self.enterContext(torch.no_grad())

    def open(self, library: Path, device: torch.device) -> None:
        self.opened.append((library, str(device)))
        raise Refused(NOT_OPENED)

    def tensor(self, *shape: int, device: str = "cuda:0") -> torch.Tensor:
        with self.fakes:
            return torch.empty(shape, device=device)

    def compile(self, function, *arguments: object, **options: object) -> str:
        """What the warning says."""
        compiled = torch.compile(function, backend=backend, options=options or None)
        with self.fakes, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", FallbackWarning)
            compiled(*arguments)
        (warning,) = [w for w in caught if w.category is FallbackWarning]
        return str(warning.message)

    def check(self, function, *arguments: object, device: str = "cuda:0", **options: object) -> Path:
        """That it becomes a library, which is answered."""
        self.assertIn(NOT_OPENED, self.compile(function, *arguments, **options))
        library, where = self.opened[-1]
        self.assertEqual(where, device)
        self.assertTrue(library.exists())
        return library

    def test_networks(self) -> None:
        with self.fakes, torch.device("cuda:0"):
            network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
            decoder = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True)
        self.check(network.eval(), self.tensor(2, 3, 8, 8))
        self.check(network.train(), self.tensor(2, 3, 8, 8))
        self.check(decoder, self.tensor(2, 5, 32), self.tensor(2, 7, 32))
        self.check(lambda x: F.interpolate(F.dropout(x, 0.5), scale_factor=2), self.tensor(2, 3, 8, 8))

    def test_the_gpu_decides_what_is_compiled(self) -> None:
        library = self.check(lambda x: x * 2 + 1, self.tensor(8))
        self.assertIn(b".target sm_90a", library.read_bytes())
        library = self.check(lambda x: x * 2 + 1, self.tensor(8, device="cuda:1"), device="cuda:1")
        self.assertIn(b".target sm_80", library.read_bytes())
        library = self.check(lambda x: x * 2 + 1, self.tensor(8), gpu_arch="sm_86")
        self.assertIn(b".target sm_86", library.read_bytes())
        with mock.patch("torch.cuda.get_device_capability", lambda gpu: (7, 5)):
            said = self.compile(lambda x: x * 3, self.tensor(8))
        self.assertIn("cuda:0 (Fake GPU) has compute capability 7.5, and ptc needs 8.0", said)

    def test_numbers_and_tables_of_the_host(self) -> None:
        self.check(lambda x: x * torch.tensor(2.0), self.tensor(8))
        self.check(lambda x: x * torch.tensor([2.0] * 8, device="cuda:0"), self.tensor(8))
        self.check(lambda x, y: x * y, self.tensor(8), self.tensor(device="cpu"))

    def test_tensors_that_come_and_go(self) -> None:
        self.check(lambda x, y: x + y.to("cuda:0"), self.tensor(8), self.tensor(8, device="cpu"))
        self.check(lambda x, y: x + y[0].to("cuda:0"), self.tensor(8), self.tensor(2, 8, device="cpu"))
        self.check(lambda x: (x * 2).to("cpu"), self.tensor(8))

    def test_the_host_does_not_compute(self) -> None:
        said = self.compile(lambda x, y: x + (y * 2).to("cuda:0"), self.tensor(8), self.tensor(8, device="cpu"))
        self.assertRegex(said, r"cuda_test\.py:\d+, node mul: .* computes on the CPU, but input .* on cuda:0")
        said = self.compile(lambda x: (x * 2).to("cpu") + 1, self.tensor(8))
        self.assertRegex(said, r"node add: .* computes on the CPU")

    def test_one_gpu(self) -> None:
        said = self.compile(lambda x, y: (x * 2, y * 2), self.tensor(8), self.tensor(8, device="cuda:1"))
        self.assertRegex(said, "input .* is on device cuda:1, but input .* is on cuda:0")

    def test_other_devices(self) -> None:
        said = self.compile(lambda x: x * 2, self.tensor(8, device="xpu:0"))
        self.assertIn("is on device xpu:0 (ptc's backend: cpu and cuda)", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

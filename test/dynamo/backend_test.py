"""torch.compile(backend=ptc): small networks against eager, and what the backend promises.

backend_test.py PTC LOADER_FILE
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

os.environ["PTC_EXECUTABLE"] = str(Path(sys.argv[1]).resolve())
os.environ["PTC_CACHE_DIR"] = tempfile.mkdtemp()
sys.path.insert(0, str(Path(sys.argv[2]).resolve().parent.parent))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import ptc  # noqa: E402
from ptc.dynamo import FallbackWarning, backend  # noqa: E402

F = nn.functional
CACHE = Path(os.environ["PTC_CACHE_DIR"]) / "dynamo"


class Decoder(nn.Module):
    """A transformer that keeps the keys and values of what it has seen, in place."""

    def __init__(self, width: int = 32, heads: int = 4, length: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, length, width // heads))

    def forward(self, x, positions):
        q, k, v = self.qkv(self.norm(x)).view(1, x.shape[1], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        mask = torch.arange(self.keys.shape[2]) <= positions[:, None]
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.Hardswish(),
        nn.Conv2d(16, 24, 1), nn.BatchNorm2d(24), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10),
    ).eval()  # fmt: skip


class BackendTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.enterContext(torch.no_grad())
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("error", FallbackWarning)

    def check(self, module, *calls: tuple, tolerance: float = 2e-5, dynamic: bool | None = None, **options):
        """Each call as eager does it: results, their strides and types, and what becomes of arguments and buffers."""
        eager = copy.deepcopy(module)
        compiled = torch.compile(module, backend=backend, dynamic=dynamic, fullgraph=True, options=options or None)
        for arguments in calls:
            ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
            got, expected = compiled(*ours), eager(*theirs)
            states = [list(m.buffers()) if isinstance(m, nn.Module) else [] for m in (module, eager)]
            values = [tree_leaves((got, ours, states[0])), tree_leaves((expected, theirs, states[1]))]
            for a, b in zip(*values, strict=True):
                self.assertIs(type(a), type(b))
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
                if isinstance(a, torch.Tensor):
                    self.assertEqual(a.stride(), b.stride())
        return compiled

    def test_convolutions(self) -> None:
        self.check(conv_net(), (torch.randn(2, 3, 32, 32),))

    def test_channels_last(self) -> None:
        x = torch.randn(2, 3, 16, 16).to(memory_format=torch.channels_last)
        self.check(lambda x: F.conv2d(x, torch.ones(4, 3, 3, 3)).relu(), (x,))

    def test_other_sizes_make_it_dynamic(self) -> None:
        self.check(conv_net(), *((torch.randn(n, 3, 32, 32),) for n in (2, 3, 5)))

    def test_dynamic_from_the_start(self) -> None:
        def function(x, n):
            return (x * n).sum(0), x.view(-1)[: x.shape[1]], x.shape[0] * 2 + 1

        self.check(function, *((torch.randn(n, 8), n) for n in (3, 7)), dynamic=True)

    def test_numbers_that_change(self) -> None:
        self.check(lambda x, a: x * a + 1, (torch.randn(4), 2.5), (torch.randn(4), 3.25), (torch.randn(4), 0.1))

    def test_numbers_that_are_rounded(self) -> None:
        def function(x, n):
            return x[: round(n / 2 + 1)] + round(n / 2), x + round(n / 2 * 123.4567, 1), x.new_full((2,), n > 3)

        self.check(function, *((torch.zeros(9), n) for n in range(2, 8)), dynamic=True)

    def test_state_in_place(self) -> None:
        calls = [(torch.randn(1, 4, 32), torch.arange(4))]
        calls += [(torch.randn(1, 1, 32), torch.tensor([n])) for n in (4, 5)]
        self.check(Decoder().eval(), *calls)

    def test_updates_count_as_versions(self) -> None:
        x = torch.ones(3)
        version = x._version
        torch.compile(lambda x: x.add_(1), backend=backend)(x)
        self.assertGreater(x._version, version)

    def test_batch_norm_in_training_form(self) -> None:
        self.check(nn.BatchNorm1d(8), (torch.randn(16, 8),), (torch.randn(16, 8),))

    def test_encoder_layers_fast_path(self) -> None:
        for norm_first in (False, True):
            torch._dynamo.reset()
            options = {"activation": "gelu", "batch_first": True, "norm_first": norm_first}
            layer = nn.TransformerEncoderLayer(16, 2, 32, **options).eval()
            padding = torch.arange(5)[None] >= torch.tensor([[5], [3]])
            self.check(layer, (torch.randn(2, 5, 16),))
            self.check(layer, (torch.randn(2, 5, 16), None, padding))

    def test_views_of_arguments_stay_views(self) -> None:
        def function(x):
            x[1:].mul_(2)
            return x.t(), x[0], x

        x = torch.randn(3, 4)
        compiled = self.check(function, (x.clone(),))
        turned, row, same = compiled(x)
        self.assertIs(same, x)
        self.assertEqual(turned.data_ptr(), x.data_ptr())
        self.assertEqual(row.data_ptr(), x.data_ptr())

    def test_views_of_results_share_memory(self) -> None:
        def function(x):
            y = x + 1
            return y[0], y.t(), y.unfold(0, 2, 1)

        compiled = self.check(function, (torch.randn(3, 4),), (torch.randn(5, 4),))
        row, turned, _ = compiled(torch.randn(3, 4))
        row.zero_()
        self.assertEqual(turned[:, 0].tolist(), [0] * 4)
        self.check(lambda x: x.chunk(4), *((torch.randn(n),) for n in (4, 8, 11, 12)))

    def test_strided_and_empty_arguments(self) -> None:
        self.check(lambda x: x * 2 + 1, (torch.randn(6, 8)[::2, ::3],), (torch.randn(4, 3).t(),), (torch.randn(0, 3),))

    def test_eight_bit_floats(self) -> None:
        def function(x):
            return x.float() + 1, (x.float() * 2).to(torch.float8_e5m2)

        x = torch.randn(4, 3).to(torch.float8_e4m3fn)
        for ours, theirs in zip(torch.compile(function, backend=backend)(x), function(x), strict=True):
            self.assertTrue(torch.equal(ours, theirs))

    def test_types(self) -> None:
        kinds = (torch.bool, torch.uint8, torch.int16, torch.int64, torch.bfloat16, torch.float16, torch.float64)
        self.check(lambda *t: [x.to(torch.float32) + 1 for x in t], tuple(torch.ones(3).to(kind) for kind in kinds))
        self.check(lambda *t: [x == 1 for x in t], tuple(torch.ones(3).to(kind) for kind in kinds))

    def test_complex_and_conjugated(self) -> None:
        self.check(lambda x: (x * 2j).abs(), (torch.randn(4, dtype=torch.complex64).conj(),))

    def test_sizes_that_data_decide(self) -> None:
        self.enterContext(torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True))
        compiled = torch.compile(lambda x: x[x > 0] * 2, backend=backend, fullgraph=True)
        for x in (torch.tensor([1.0, -1, 2]), torch.tensor([-1.0, -2, -3])):
            torch.testing.assert_close(compiled(x), x[x > 0] * 2)

    def test_sizes_that_data_decide_need_a_bound(self) -> None:
        self.enterContext(torch._dynamo.config.patch(capture_scalar_outputs=True))

        def function(x, n, most=None):
            size = n.item()
            if most is not None:
                torch._check(size <= most)
            return torch.cat([x, x.new_ones(size)])

        compiled = torch.compile(function, backend=backend, fullgraph=True)
        self.assertEqual(compiled(torch.zeros(2), torch.tensor(3), 8).tolist(), [0, 0, 1, 1, 1])
        with self.assertWarnsRegex(FallbackWarning, r"read from data, at node .*torch\._check"):
            compiled(torch.zeros(2), torch.tensor(3))

    def test_sizes_that_data_decide_are_not_taken_as_known(self) -> None:
        self.enterContext(torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True))

        def function(x, y):
            chosen = x.nonzero()
            torch._check(chosen.shape[0] == 4)
            return chosen + y

        compiled = torch.compile(function, backend=backend, fullgraph=True)
        with self.assertWarnsRegex(FallbackWarning, "takes what aten.nonzero.default finds in the data as known"):
            compiled(torch.tensor([0, 1, 1, 1, 1]), torch.zeros(4, 1))

    def test_places_counted_from_either_end(self) -> None:
        def function(x, n):
            x[n] = -1
            return x[n + 1 if n < -1 else n]

        self.check(function, *((torch.zeros(7), n) for n in (2, 3, 5, -7, -5)))

    def test_branches(self) -> None:
        def function(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

        self.check(function, (torch.ones(3),), (-torch.ones(3),))

    def test_random_numbers_follow_the_seed(self) -> None:
        compiled = torch.compile(lambda x: F.dropout(x, 0.5) + torch.rand(64), backend=backend)
        draws = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            draws.append(compiled(torch.ones(64)))
        self.assertTrue(torch.equal(draws[0], draws[1]))
        self.assertFalse(torch.equal(draws[0], draws[2]))
        self.assertFalse(torch.equal(draws[2], compiled(torch.ones(64))))

    def test_parameters_may_change(self) -> None:
        module = nn.Linear(4, 4)
        compiled = torch.compile(module, backend=backend)
        x = torch.randn(2, 4)
        compiled(x)
        module.load_state_dict({"weight": torch.ones(4, 4), "bias": torch.zeros(4)})
        torch.testing.assert_close(compiled(x), module(x))

    def test_freezing(self) -> None:
        self.check(conv_net(), (torch.randn(2, 3, 32, 32),), (torch.randn(3, 3, 32, 32),), freezing=True)
        self.check(Decoder().eval(), (torch.randn(1, 4, 32), torch.arange(4)), freezing=True)

    def test_inference_mode(self) -> None:
        with torch.inference_mode():
            self.check(conv_net(), (torch.randn(2, 3, 32, 32),))

    def test_cache(self) -> None:
        def compile_once() -> int:
            torch._dynamo.reset()
            torch.compile(lambda x: x * 3 - x.tanh(), backend=backend)(torch.ones(17))
            return len(list(CACHE.glob("*.so")))

        before = len(list(CACHE.glob("*.so")))
        self.assertEqual([compile_once(), compile_once()], [before + 1, before + 1])
        self.assertEqual(list(CACHE.glob("*.safetensors")), [])

    def test_threads(self) -> None:
        compiled = torch.compile(lambda x: (x @ x.t()).softmax(-1), backend=backend)
        compiled(torch.randn(8, 8))
        wrong = []

        def work(seed: int) -> None:
            x = torch.randn(8, 8, generator=torch.Generator().manual_seed(seed))
            with torch.no_grad():
                expected = (x @ x.t()).softmax(-1)
                wrong.extend(1 for _ in range(50) if not torch.allclose(compiled(x), expected, atol=1e-5))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_index_out_of_range(self) -> None:
        compiled = torch.compile(F.embedding, backend=backend)
        with self.assertRaisesRegex(IndexError, "embedding"):
            compiled(torch.tensor([7]), torch.randn(4, 2))

    def test_falls_back_with_a_warning_that_names_the_operator(self) -> None:
        @torch.library.custom_op("backend_test::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        twice.register_fake(torch.empty_like)
        with self.assertWarnsRegex(FallbackWarning, r"backend_test\.py:\d+, node .*: operator .*backend_test.twice"):
            result = torch.compile(lambda x: twice(x) + 1, backend=backend)(torch.ones(2))
        self.assertEqual(result.tolist(), [3, 3])
        with self.assertRaisesRegex(Exception, "backend_test.twice"):
            torch.compile(lambda x: twice(x) - 1, backend=backend, options={"fallback": False})(torch.ones(2))

    def test_views_by_strides(self) -> None:
        """They count in memory, whatever the shape of what they are taken of."""
        last = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
        self.check(lambda x: torch.as_strided(x + 1, (8, 3), (1, 5), 2) * 2, (last,))
        self.check(lambda x: torch.as_strided((x + 1)[1:].t(), (3,), (2,)) * 2, (torch.randn(4, 6),))
        self.check(lambda x: (x.t().as_strided((2,), (1,)), (x + 1).t().as_strided((2,), (6,))), (torch.randn(4, 6),))

    def test_operators_fall_back(self) -> None:
        @torch.library.custom_op("backend_test::shifted", mutates_args=())
        def shifted(x: torch.Tensor, by: float) -> torch.Tensor:
            return x + by

        @torch.library.custom_op("backend_test::negate_", mutates_args=("x",))
        def negate_(x: torch.Tensor) -> None:
            x.neg_()

        shifted.register_fake(lambda x, by: torch.empty_like(x))

        def function(x: torch.Tensor) -> torch.Tensor:
            y = shifted(x.exp(), 2.0).log()
            negate_(y)
            return y * 3

        x = torch.randn(5, 3)
        options = {"fallback": True}
        with self.assertWarnsRegex(FallbackWarning, r"backend_test\.py:\d+: backend_test::shifted.default runs in"):
            compiled = torch.compile(function, backend=backend, options=options, dynamic=True, fullgraph=True)
            result = compiled(x)
        torch.testing.assert_close(result, function(x))
        torch.testing.assert_close(compiled(x[:2]), function(x[:2]))

    def test_memory_layout_is_not_guessed(self) -> None:
        with self.assertWarnsRegex(FallbackWarning, "as_strided.* of a tensor that is not contiguous"):
            compiled = torch.compile(lambda x: x.as_strided((2,), (1,)) + 1, backend=backend)
            compiled(torch.ones(3, 4)[:, :2])

    def test_numbers_that_the_program_says(self) -> None:
        self.enterContext(torch._dynamo.config.patch(capture_scalar_outputs=True))

        def function(x, sizes):
            a, b = sizes.tolist()
            torch._check(a == 1)
            torch._check(b == 3)
            return torch.split(x * 2, [a, b])

        compiled = torch.compile(function, backend=backend, fullgraph=True)
        self.assertEqual([part.tolist() for part in compiled(torch.ones(4), torch.tensor([1, 3]))], [[2], [2, 2, 2]])
        with self.assertRaisesRegex(RuntimeError, r"backend_test\.py:\d+.*: the data say 2, where the program says 1"):
            compiled(torch.ones(4), torch.tensor([2, 2]))

    def test_derivatives_by_themselves(self) -> None:
        aten, prims = torch.ops.aten, torch.ops.prims
        for pool, sizes in ((aten.avg_pool2d_backward, (7, 6)), (aten.avg_pool3d_backward, (7, 6, 5))):
            for kernel, strides, padding, ceils, counts in ((3, 2, 1, False, True), (2, 2, 0, True, False)):
                forward = F.avg_pool2d if len(sizes) == 2 else F.avg_pool3d
                x = torch.randn(2, 3, *sizes)
                lists = [[n] * len(sizes) for n in (kernel, strides, padding)]
                grad = torch.randn_like(forward(x, kernel, strides, padding, ceils, counts))
                self.check(lambda g, x: pool(g, x, *lists, ceils, counts, None), (grad, x))  # noqa: B023
        for nearest in (aten.upsample_nearest2d_backward, aten._upsample_nearest_exact2d_backward):
            self.check(lambda g: nearest(g, [7, 9], [2, 3, 4, 5], None, None), (torch.randn(2, 3, 7, 9),))  # noqa: B023
            self.check(lambda g: nearest(g, [6, 8], [2, 3, 3, 4], 2.0, 2.0), (torch.randn(2, 3, 6, 8),))  # noqa: B023
        tensors = torch.randn(2, 4, 3, 3), torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
        self.check(
            lambda *given: aten.convolution_backward(*given, [4], [1], [0], [1], False, [0], 1, [True] * 3), tensors
        )
        integers = torch.randint(-9, 9, (8,)), torch.randint(1, 9, (8,))
        self.check(lambda a, b: (prims.div(a, b), prims.remainder(a, b)), integers)

    def check_training(self, module: nn.Module, *inputs: torch.Tensor) -> None:
        """Two steps of each: results, derivatives, and buffers that the forward pass updates."""
        torch._dynamo.reset()
        self.enterContext(torch.enable_grad())
        eager = copy.deepcopy(module)
        compiled = torch.compile(module, backend=backend, fullgraph=True)
        for _ in range(2):
            values = []
            for call in (compiled, eager):
                arguments = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
                result = call(*arguments)
                result.square().mean().backward()
                owner = eager if call is eager else module
                values.append([result, *(x.grad for x in arguments), *(p.grad for p in owner.parameters())])
                values[-1] += owner.buffers()
            torch.testing.assert_close(*values, rtol=1e-4, atol=2e-5)

    def test_training(self) -> None:
        self.check_training(conv_net().train(), torch.randn(2, 3, 32, 32))
        self.check_training(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), torch.randn(2, 5, 32))
        self.check_training(nn.Sequential(nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 9), nn.LogSoftmax(-1)),
                            torch.randint(0, 9, (2, 5)))  # fmt: skip
        self.check_training(nn.Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(2), nn.Upsample(scale_factor=2), nn.GELU()),
                            torch.randn(2, 3, 12, 12))  # fmt: skip

    def test_determinants_are_derived_as_their_matrix_lies(self) -> None:
        class Determinants(nn.Module):
            def forward(self, a, b):
                return torch.linalg.det(a) + torch.linalg.slogdet(b.mT)[1] + torch.linalg.det(a + b.mT)

        class Turned(Determinants):
            def forward(self, a, b):
                return super().forward(a.mT, b)

        a, b = torch.randn(2, 3, 4, 4)
        for module in (Determinants(), Turned()):
            self.check_training(module, a, b)
            self.check_training(module, a.mT, b)

    def test_updates_in_training_count_once(self) -> None:
        def function(x, weight, state):
            state.add_(1)
            return (x * weight).sum() + state.sum()

        compiled, state = torch.compile(function, backend=backend), torch.zeros(1)
        with torch.enable_grad():
            compiled(torch.ones(1), torch.ones(1, requires_grad=True), state).backward()
        self.assertEqual((state.item(), state._version), (1, 1))

    def test_backward_falls_back_by_itself(self) -> None:
        @torch.library.custom_op("backend_test::cube", mutates_args=())
        def cube(x: torch.Tensor) -> torch.Tensor:
            return x**3

        class Thrice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 3

            @staticmethod
            def backward(ctx, grad):
                return cube(grad)

        cube.register_fake(torch.empty_like)
        x = torch.ones(2, requires_grad=True)
        with torch.enable_grad(), self.assertWarnsRegex(FallbackWarning, "the backward graph runs in eager mode: .*cube"):
            (torch.compile(Thrice.apply, backend=backend)(x) * 2).sum().backward()
        self.assertEqual(x.grad.tolist(), [8, 8])

    def test_constants_have_no_gradients(self) -> None:
        module = nn.Linear(3, 3)
        with torch.enable_grad(), self.assertWarnsRegex(FallbackWarning, "constants have no gradients"):
            torch.compile(module, backend=backend, options={"freezing": True})(torch.ones(1, 3)).sum().backward()
        self.assertEqual(module.bias.grad.tolist(), [1, 1, 1])

    def test_options(self) -> None:
        with self.assertRaisesRegex(Exception, "ptc has no option 'freeze'"):
            torch.compile(lambda x: x + 1, backend=backend, options={"freeze": True})(torch.ones(1))

    def test_errors_are_pythons(self) -> None:
        self.assertTrue(issubclass(ptc.OutOfRangeError, IndexError))
        self.assertTrue(issubclass(ptc.MismatchError, ValueError))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

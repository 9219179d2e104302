"""Checks of torch.compile with ptc's backend, on a real GPU."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import torch
from gpu_checks import GPU, check, same
from ptc.dynamo import FallbackWarning, backend
from torch import nn
from torch.utils._pytree import tree_leaves

F = nn.functional


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 16))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.Hardswish(), nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10),
    )  # fmt: skip


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


NETWORKS = {"an MLP": (mlp, (8, 32)), "a CNN": (cnn, (4, 3, 32, 32)), "a transformer": (transformer, (2, 24, 64))}


def compute_exactly(module: nn.Module, arguments: tuple) -> list[torch.Tensor]:
    """In float64 on the host, by the formulas that the module has."""
    arguments = [x.cpu().double() for x in arguments]
    fuses = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return tree_leaves(copy.deepcopy(module).cpu().double()(*arguments))
    finally:
        torch.backends.mha.set_fastpath_enabled(fuses)


def near_exact(got: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor) -> None:
    """At most twice as far from the exact values as eager is, or some units in the last place of float32. (On GPUs
    torch's fused layer of an encoder has GELU by tanh, and is 3e-4 off.)"""
    assert (got.dtype, got.device, got.shape) == (expected.dtype, expected.device, expected.shape)
    ours, theirs = (float((x.cpu().double() - exact).abs().max()) for x in (got, expected))
    most = 2 * theirs + 4e-6 * (1 + float(exact.abs().max()))
    assert ours <= most, f"{ours:.2e} from the exact values, where eager is {theirs:.2e} from them"


def compare(module: nn.Module | Callable, *calls: tuple, tolerance: float = 2e-4, **options: object) -> None:
    """Each call as eager does it: values, strides, types, and what becomes of arguments and buffers. With `exact` results
    are compared with those of float64."""
    torch._dynamo.reset()
    eager = copy.deepcopy(module)
    dynamic, is_exact = options.pop("dynamic", None), options.pop("exact", False)
    ours = torch.compile(module, backend=backend, fullgraph=True, dynamic=dynamic, options=options or None)
    for arguments in calls:
        given, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        got, expected = ours(*given), eager(*theirs)
        states = [list(m.buffers()) if isinstance(m, nn.Module) else [] for m in (module, eager)]
        values = [tree_leaves((got, given, states[0])), tree_leaves((expected, theirs, states[1]))]
        exact = compute_exactly(module, arguments) if is_exact else []
        exact += [None] * (len(values[0]) - len(exact))  # results come first
        for a, b, c in zip(*values, exact, strict=True):
            assert type(a) is type(b), f"{type(a)} instead of {type(b)}"
            if isinstance(a, torch.Tensor):
                if c is None:
                    same(a, b, tolerance)
                else:
                    near_exact(a, b, c)
                assert a.stride() == b.stride(), f"strides {a.stride()} instead of {b.stride()}"
            else:
                assert a == b


def add_networks() -> None:
    for name, (make, shape) in NETWORKS.items():

        @check(f"torch.compile of {name}")
        def _(make: Callable = make, shape: tuple = shape) -> None:
            with torch.no_grad():
                module = make().eval().to(GPU)
                compare(module, (torch.randn(shape, device=GPU),), exact=True)
                compare(module, (torch.randn(shape, device=GPU),), exact=True, freezing=True)
                calls = [(torch.randn((rows, *shape[1:]), device=GPU),) for rows in (2, 5, 7)]
                torch.backends.mha.set_fastpath_enabled(False)  # whose operator torch cannot trace with dynamic sizes
                try:
                    compare(module, *calls, exact=True, dynamic=True)
                finally:
                    torch.backends.mha.set_fastpath_enabled(True)

        @check(f"a training step of {name}")
        def _(make: Callable = make, shape: tuple = shape) -> None:
            torch._dynamo.reset()
            module = make().train().to(GPU)
            twin, x = copy.deepcopy(module), torch.randn(shape, device=GPU)
            ours = torch.compile(module, backend=backend, fullgraph=True)
            for _ in range(2):
                for call, owner in ((ours, module), (twin, twin)):
                    optimizer = torch.optim.SGD(owner.parameters(), 0.05)
                    optimizer.zero_grad()
                    call(x).square().mean().backward()
                    optimizer.step()
                for (where, a), b in zip(module.named_parameters(), twin.parameters(), strict=True):
                    torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4, msg=lambda m, w=where: f"{w}: {m}")
                    same(a, b, 1e-3)
                for a, b in zip(module.buffers(), twin.buffers(), strict=True):
                    same(a, b, 1e-3)


add_networks()


@check("torch.compile in half precision and under autocast")
def _() -> None:
    with torch.no_grad():
        for kind in (torch.float16, torch.bfloat16):
            module = transformer().eval().to(GPU, kind)
            compare(module, (torch.randn(2, 24, 64, device=GPU, dtype=kind),), tolerance=3e-2)
        module = mlp().to(GPU)
        with torch.autocast("cuda", torch.bfloat16):
            compare(module, (torch.randn(8, 32, device=GPU),), tolerance=3e-2)


@check("torch.compile: views, updates in place, sizes that data decide, the host's numbers")
def _() -> None:
    def function(x, state):
        state.mul_(2)
        return x.t(), x[1:] * state, (x + 1).unbind(0)

    x, state = torch.randn(5, 6, device=GPU), torch.ones(6, device=GPU)
    compare(function, (x, state), (x[:3].clone(), state))
    compare(lambda x, s: x * s + torch.tensor([1.0, 2.0] * 3, device=GPU), (x, torch.tensor(2.5)))
    compare(lambda x: ((x * 2).cpu(), x + 1), (x,))
    compare(lambda x: x.to(GPU) * 2, (torch.randn(4, 4),))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compare(lambda x: x[x > 0] * 2, (x,), (-x.abs(),))


@check("torch.compile: a side stream, without a wait")
def _() -> None:
    module, x, stream = mlp().to(GPU), torch.randn(64, 32, device=GPU), torch.cuda.Stream()
    torch._dynamo.reset()
    ours = torch.compile(module, backend=backend)
    with torch.no_grad():
        ours(x)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(400_000_000)
            result = ours(x * 2) + 1
            assert not stream.query(), "the call waited"
        stream.synchronize()
        same(result, module(x * 2) + 1)


@check("torch.compile: random numbers follow torch's seed")
def _() -> None:
    torch._dynamo.reset()
    ours, draws = torch.compile(lambda x: F.dropout(x, 0.5) + torch.rand(64, device=GPU), backend=backend), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(ours(torch.ones(64, device=GPU)))
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[2], ours(torch.ones(64, device=GPU)))


@check("torch.compile: what computes on several devices runs in eager mode, with a warning")
def _() -> None:
    torch._dynamo.reset()
    x, y = torch.randn(4, device=GPU), torch.randn(4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FallbackWarning)
        same(torch.compile(lambda x, y: x + (y * 2).to(GPU), backend=backend)(x, y), x + (y * 2).to(GPU))
    assert any("computes on the CPU" in str(warning.message) for warning in caught), [str(w.message) for w in caught]


@check("torch.compile: an index out of range is told later")
def _() -> None:
    torch._dynamo.reset()
    ours, weight = torch.compile(F.embedding, backend=backend), torch.randn(4, 2, device=GPU)
    try:
        for _ in range(2):
            ours(torch.tensor([7], device=GPU), weight)
            torch.cuda.synchronize()
    except IndexError as error:
        assert "embedding" in str(error)
    else:
        raise AssertionError("nothing was told")

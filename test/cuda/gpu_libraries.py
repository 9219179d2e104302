"""Checks of libraries from Python, on a real GPU: tensors of torch, NumPy and CuPy, streams, states, threads."""

from __future__ import annotations

import copy
import threading

import torch
from gpu_checks import GPU, check, compiled, cupy, ptc, refuses, same
from torch import nn

F = nn.functional


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(64, 256), nn.LayerNorm(256), nn.Linear(256, 64)

    def forward(self, x):
        return self.last(F.gelu(self.norm(self.first(x)))) + x


class Positive(nn.Module):
    def forward(self, x):
        return x[x > 0] * 2


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(40.0).reshape(5, 8))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, places):
        self.count.add_(1)
        return self.table[places], self.count + 0


torch.manual_seed(0)
NET = Net()
ON_GPU = copy.deepcopy(NET).to(GPU)


def net(**options: object) -> ptc.Model:
    return ptc.load(compiled("net", NET, torch.zeros(3, 64)), **options)


@check("torch's tensors on the current stream")
def _() -> None:
    model, x = net(), torch.randn(33, 64, device=GPU)
    (y,) = model(x)
    assert isinstance(y, torch.Tensor) and y.device == GPU and model.device == "cuda:0"
    same(y, ON_GPU(x))
    (y,) = model(nn.Parameter(x, requires_grad=False))
    same(y, ON_GPU(x))
    refuses(BufferError, "require gradient", lambda: model(x.clone().requires_grad_()))


@check("a call on a side stream returns before its work is done, and is in order")
def _() -> None:
    model, x, stream = net(), torch.randn(512, 64, device=GPU), torch.cuda.Stream()
    model(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)
        given = x * 2
        (y,) = model(given)
        result = y + 1
        assert not stream.query(), "the call waited"
    stream.synchronize()
    same(result, ON_GPU(x * 2) + 1)


@check("tensors may be deleted at once: their memory is used again in order")
def _() -> None:
    model, x, stream = net(), torch.randn(2048, 64, device=GPU), torch.cuda.Stream()
    model(x)
    torch.cuda.synchronize()
    expected = ON_GPU(ON_GPU(x + 1))
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)
        results = []
        for _ in range(8):
            given = x + 1
            (between,) = model(given)
            del given
            spoilt = torch.full_like(x, float("nan"))
            results += model(between)
            del between
            spoilt = torch.full_like(x, float("nan"))  # noqa: F841  takes memory that was freed
    stream.synchronize()
    for result in results:
        same(result, expected)


@check("strided inputs")
def _() -> None:
    model, x = net(), torch.randn(64, 128, device=GPU)
    for view in (x.t(), x[:, ::2], x[::3, 7:71], x[:, :1].expand(64, 64), x.t()[5:].flip(0)):
        same(model(view)[0], ON_GPU(view))


@check("out=, row-major, strided and on the host")
def _() -> None:
    model, x = net(), torch.randn(40, 64, device=GPU)
    for out in (torch.empty(40, 64, device=GPU), torch.empty(64, 40, device=GPU).t(), torch.empty(40, 64)):
        assert model(x, out=[out])[0] is out
        same(out.to(GPU), ON_GPU(x))
    given = x.clone()
    model(given, out=[given])
    same(given, ON_GPU(x))


@check("NumPy's arrays")
def _() -> None:
    x = torch.randn(9, 64)
    (y,) = net()(x.numpy())
    assert y.device == "cpu"
    same(torch.from_numpy(y.numpy()), NET(x).detach())
    same(torch.from_dlpack(net()(x)[0]), NET(x).detach())


@check("tensors on the host beside those on the GPU")
def _() -> None:
    class Sum(nn.Module):
        def forward(self, x, y):
            return x + y

    model = ptc.load(compiled("sum", Sum(), torch.zeros(4, 4), torch.zeros(4, 4)))
    x, y = torch.randn(5, 4), torch.randn(5, 4)
    same(model(x, y.to(GPU))[0].cpu(), x + y)
    same(model(x.to(GPU), y.numpy())[0].cpu(), x + y)


@check("CuPy's arrays, its streams, and torch's beside them")
def _() -> None:
    if cupy is None:
        print("     CuPy is not installed: nothing is checked")
        return
    model, x = net(), torch.randn(20, 64, device=GPU)
    (y,) = model(cupy.asarray(x))
    assert isinstance(y, cupy.ndarray), type(y)
    same(torch.as_tensor(y, device=GPU), ON_GPU(x))
    stream = cupy.cuda.Stream(non_blocking=True)
    torch.cuda.synchronize()
    with stream:
        given = cupy.asarray(x.detach()) * 2
        (y,) = model(given)
        (y,) = model(y.T.copy().T)
        out = cupy.empty((20, 64), "float32")
        model(given, out=[out])
    stream.synchronize()
    same(torch.as_tensor(y, device=GPU), ON_GPU(ON_GPU(x * 2)))
    same(torch.as_tensor(out, device=GPU), ON_GPU(x * 2))


@check("other libraries' DLPack")
def _() -> None:
    model, x = net(), torch.randn(6, 64)
    given = model.to_device(x.numpy())
    (y,) = model(given)
    assert y.device == "cuda:0" and y.__dlpack_device__() == (2, 0)
    shared = torch.from_dlpack(y)
    assert shared.data_ptr() == torch.from_dlpack(y).data_ptr()
    del y, given
    same(shared, ON_GPU(x.to(GPU)))


@check("tensors and models on devices that do not fit")
def _() -> None:
    x = torch.randn(4, 64, device=GPU)
    on_cpu = ptc.load(compiled("net", NET, torch.zeros(3, 64), target="cpu"))
    refuses(ptc.MismatchError, "the model runs on the CPU", lambda: on_cpu(x))
    refuses(ptc.MismatchError, "was compiled for cuda", lambda: net(device="cpu"))
    refuses(ptc.Error, str(torch.cuda.device_count()), lambda: net(device=f"cuda:{torch.cuda.device_count()}"))
    if torch.cuda.device_count() > 1:
        other = x.to("cuda:1")
        refuses(ptc.MismatchError, "input 'x'", lambda: net(device="cuda:0")(other))
        (y,) = net(device="cuda:1")(other)
        assert y.device == other.device
        same(y.cpu(), ON_GPU(x).cpu())


@check("sizes that data decide")
def _() -> None:
    model = ptc.load(compiled("positive", Positive(), torch.zeros(50, 8)))
    for x in (torch.randn(20, 8), -torch.ones(3, 8), torch.ones(700, 8)):
        same(model(x.to(GPU))[0], (x[x > 0] * 2).to(GPU))
        if cupy is not None:
            same(torch.as_tensor(model(cupy.asarray(x.numpy()))[0], device=GPU), (x[x > 0] * 2).to(GPU))


@check("states, and an index out of range that is told later")
def _() -> None:
    model = ptc.load(compiled("lookup", Lookup(), torch.zeros(3, dtype=torch.int64)))
    good, bad = torch.tensor([4, 0, 2], device=GPU), torch.tensor([4, 5, 2], device=GPU)
    with torch.cuda.stream(torch.cuda.Stream()):
        good = good.clone()
        torch.cuda._sleep(50_000_000)
        rows, count = model(good)
        assert model.get_state("count") == [1]
        model.set_state("count", count * 5)
        assert model(good)[1].item() == 6
        same(rows, Lookup().table.to(GPU)[good])
    model(bad)
    refuses(ptc.OutOfRangeError, "index", model.synchronize)
    same(model(good)[0], Lookup().table.to(GPU)[good])


@check("two contexts on two streams at once give the same bits")
def _() -> None:
    x, failures = torch.randn(1024, 64, device=GPU), []
    (expected,) = net()(x)
    torch.cuda.synchronize()

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            model, stream = net(), torch.cuda.current_stream()
            results = [model(x)[0] for _ in range(200)]
            stream.synchronize()
            failures.extend(index for index, result in enumerate(results) if not torch.equal(result, expected))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, f"{len(failures)} of 400 results differ"


@check("one context from two threads, each with a stream")
def _() -> None:
    model, failures = net(), []

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            generator = torch.Generator(GPU).manual_seed(seed)
            for rows in range(2, 120):
                x = torch.randn(rows, 64, device=GPU, generator=generator)
                if not torch.allclose(model(x)[0], ON_GPU(x), rtol=1e-4, atol=1e-4):
                    failures.append((seed, rows))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]

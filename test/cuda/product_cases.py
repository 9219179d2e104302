"""Products and convolutions in every form that their kernels have: by tiles on tensor cores and by fma, with cut depth,
with few rows, in all layouts."""

import torch
from harness import Case
from nets import Function
from torch import nn
from torch.export import Dim

F = nn.functional


class Layer(nn.Module):
    """A linear layer with all that a transformer puts behind it."""

    def __init__(self, k, n):
        super().__init__()
        self.linear = nn.Linear(k, n)

    def forward(self, x, residual):
        return F.gelu(self.linear(x)) + residual


def cases():
    torch.manual_seed(0)
    r = torch.randn
    half, bfloat, double = torch.float16, torch.bfloat16, torch.float64
    matmul = Function(torch.matmul)
    left = Function(lambda x, y: x.mT @ y)
    right = Function(lambda x, y: x @ y.mT)
    rows, many, some = Dim("rows", min=2, max=4096), Dim("many", min=9, max=4096), Dim("some", min=0, max=4096)

    def product(name, m, n, k, dtype=half, module=matmul, batch=()):
        x, y = r(*batch, m, k, dtype=dtype), r(*batch, k, n, dtype=dtype)
        x = x.mT.contiguous() if module is left else x
        y = y.mT.contiguous() if module is right else y
        return Case(name, module, (x, y))

    for dtype in (half, bfloat, torch.float32):
        name = str(dtype).removeprefix("torch.")
        yield Case(f"layer, {name}", Layer(96, 200).to(dtype), (r(3, 50, 96, dtype=dtype), r(3, 50, 200, dtype=dtype)))
    yield product("whole tiles", 128, 128, 64)
    yield product("large tiles", 300, 264, 40)
    yield product("many tiles, in turns", 8530, 248, 16, module=right)
    yield product("many tiles, in turns, half of the last one", 8512, 248, 16, module=right)
    yield product("rhs by columns", 100, 72, 96, module=right)
    yield product("lhs by columns", 104, 72, 96, bfloat, module=left)
    yield product("odd sizes", 77, 51, 45)
    yield product("odd sizes, rhs by columns", 77, 51, 45, bfloat, module=right)
    yield product("odd rows of results", 150, 201, 64, module=right)
    yield product("odd rows of results, bfloat16", 130, 67, 72, bfloat)
    yield product("odd rows of results, batch", 33, 65, 64, module=right, batch=(3,))
    yield Case("odd rows of results, layer", Layer(64, 129).half(), (r(3, 43, 64).half(), r(3, 43, 129).half()))
    yield product("pairs", 70, 66, 38)
    yield product("pairs, rhs by columns", 70, 66, 38, module=right)
    yield product("depth of one", 70, 66, 1)
    yield product("cut depth", 64, 64, 2080, bfloat)
    yield product("cut depth, rhs by columns", 60, 40, 1500, module=right)
    yield product("cut depth, fma", 60, 44, 1100, torch.float32)
    yield product("batch", 40, 72, 64, batch=(3, 2))
    yield product("batch, rhs by columns", 40, 72, 64, torch.float32, right, (5,))
    yield Case("heads", Function(lambda q, k: torch.einsum("bihd,bjhd->bhij", q, k)),
               (r(2, 40, 3, 32, dtype=half), r(2, 24, 3, 32, dtype=half)))  # fmt: skip
    yield Case("dynamic rows", Layer(64, 72).half(), (r(5, 64).half(), r(5, 72).half()),
               ({0: rows}, {0: rows}), [(r(200, 64).half(), r(200, 72).half())])  # fmt: skip
    yield Case("dynamic depth", matmul, (r(20, 99), r(99, 30)), [({1: many}, {0: many})], [(r(20, 9), r(9, 30))])
    yield Case("dynamic depth, none of it", left, (r(2, 99, 64, dtype=half), r(2, 99, 48, dtype=half)),
               [({1: some}, {1: some})], [(r(2, 0, 64).half(), r(2, 0, 48).half())])  # fmt: skip
    yield product("fma, whole tiles", 128, 128, 32, torch.float32)
    yield product("fma, odd sizes", 131, 67, 21, torch.float32)
    yield product("fma, lhs by columns", 68, 64, 24, torch.float32, left)
    yield product("fma, rhs by columns", 129, 72, 48, torch.float32, right)
    yield product("fma, rhs by columns, depth within a step", 65, 70, 36, torch.float32, right)
    yield product("float64", 70, 45, 33, double)
    yield product("float64, rhs by columns", 64, 48, 32, double, right)
    yield product("float64, lhs by columns", 72, 80, 40, double, left)
    yield product("float64, small tiles", 20, 24, 70, double, right, (3,))
    yield product("float64, cut depth", 36, 40, 1031, double)
    yield Case("float64, convolution", nn.Conv2d(6, 20, 3, padding=1).double(), (r(2, 6, 9, 11, dtype=double),))
    yield Case("fma, int32", matmul, (torch.randint(-99, 99, (20, 30)).int(), torch.randint(-99, 99, (30, 40)).int()))

    for m in (1, 3, 8):
        yield product(f"{m} rows, rhs by columns", m, 200, 512, module=right)
        yield product(f"{m} rows", m, 264, 300)
    yield product("3 rows, lines of four", 3, 260, 328)
    yield product("8 rows, cut depth", 8, 40, 4200, bfloat)
    yield product("8 rows, many others", 8, 25352, 64)
    yield product("2 rows, many others, rhs by columns", 2, 25350, 72, bfloat, right)
    yield product("5 columns", 70, 5, 264, module=right)
    yield product("6 rows, batch", 6, 48, 64, batch=(3, 2))
    yield product("1 row, odd sizes", 1, 77, 131, torch.float32)
    yield product("2 rows, odd sizes, rhs by columns", 2, 77, 131, bfloat, module=right)
    yield product("4 columns", 150, 4, 256, torch.float32)
    yield product("2 rows, float64", 2, 33, 700, double, right)
    yield Case("1 row, gelu", Layer(256, 512).half(), (r(1, 256).half(), r(1, 512).half()))

    yield Case("convolution, float16", nn.Conv2d(16, 24, 3, padding=1).half(), (r(2, 16, 9, 11).half(),))
    strided = nn.Conv2d(8, 40, 3, stride=2, padding=1).bfloat16()
    yield Case("convolution, strided", strided, (r(1, 8, 15, 13).bfloat16(),))
    yield Case("convolution, 3 channels", nn.Conv2d(3, 16, 5, padding=2).half(), (r(1, 3, 12, 12).half(),))
    yield Case("convolution, groups", nn.Conv2d(32, 48, 3, groups=2, padding=1), (r(1, 32, 8, 8),))
    yield Case("convolution, depthwise", nn.Conv2d(16, 16, 3, groups=16, padding=1), (r(1, 16, 10, 10),))

    # Bytes, as an integer product of converted tensors has them; sums are exact.
    def byte(*shape, dtype=torch.int8):
        return torch.randint(torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1, shape).to(dtype)

    linear = Function(lambda x, w: x.int() @ w.int().mT)
    for name, m, n, k in (("whole tiles", 128, 128, 128), ("large tiles", 260, 300, 96), ("odd sizes", 77, 51, 45),
                          ("pairs", 70, 66, 38), ("fours", 40, 72, 68), ("cut depth", 40, 24, 2100)):  # fmt: skip
        yield Case(f"bytes, {name}", linear, (byte(m, k, dtype=torch.uint8), byte(n, k)))
        yield Case(f"bytes with signs, {name}", linear, (byte(m, k), byte(n, k)))
    unsigned = (byte(260, 96, dtype=torch.uint8), byte(300, 96, dtype=torch.uint8))
    yield Case("bytes without signs, large tiles", linear, unsigned)
    by_rows = Function(lambda x, w: x.int() @ w.int())
    yield Case("bytes, fma, rhs by rows", by_rows, (byte(70, 64, dtype=torch.uint8), byte(64, 48)))


def tf32_cases():
    """Of float32, with numbers that tf32 has too: products are exact, and sums as close as those of float32."""
    torch.manual_seed(1)

    def r(*shape):
        return torch.randn(*shape).bfloat16().float()

    def exact(module):
        for parameter in module.parameters():
            parameter.data = parameter.data.bfloat16().float()
        return module

    matmul = Function(torch.matmul)
    by_columns = Function(lambda x, y: x @ y.mT)
    rows = Dim("rows", min=9, max=4096)
    yield Case("tf32, layer", exact(Layer(96, 200)), (r(3, 50, 96), torch.randn(3, 50, 200)))
    yield Case("tf32, whole tiles", matmul, (r(128, 64), r(64, 128)))
    yield Case("tf32, large tiles", matmul, (r(300, 40), r(40, 264)))
    yield Case("tf32, rhs by columns", by_columns, (r(100, 96), r(72, 96)))
    yield Case("tf32, lhs by columns", Function(lambda x, y: x.mT @ y), (r(96, 104), r(96, 72)))
    yield Case("tf32, odd sizes", matmul, (r(77, 45), r(45, 51)))
    yield Case("tf32, odd sizes, rhs by columns", by_columns, (r(77, 45), r(51, 45)))
    yield Case("tf32, pairs, rhs by columns", by_columns, (r(70, 38), r(66, 38)))
    yield Case("tf32, depth of one", matmul, (r(70, 1), r(1, 66)))
    yield Case("tf32, cut depth", matmul, (r(64, 2080), r(2080, 64)))
    yield Case("tf32, cut depth, rhs by columns", by_columns, (r(60, 1501), r(40, 1501)))
    yield Case("tf32, batch", matmul, (r(3, 2, 40, 64), r(3, 2, 64, 72)))
    yield Case("tf32, dynamic rows", exact(Layer(64, 72)), (r(15, 64), r(15, 72)), ({0: rows}, {0: rows}),
               [(r(200, 64), r(200, 72))])  # fmt: skip
    yield Case("tf32, convolution", exact(nn.Conv2d(16, 24, 3, padding=1)), (r(2, 16, 9, 11),))
    yield Case("tf32, convolution, strided", exact(nn.Conv2d(8, 40, 3, stride=2, padding=1)), (r(1, 8, 15, 13),))
    yield Case("tf32, convolution, 3 channels", exact(nn.Conv2d(3, 16, 5, padding=2)), (r(1, 3, 12, 12),))
    yield Case("tf32, convolution, groups", exact(nn.Conv2d(32, 48, 3, groups=2, padding=1)), (r(1, 32, 8, 8),))


def quantized_cases():
    torch.manual_seed(2)
    yield Case("int8-dynamic, layer", Layer(96, 200), (torch.randn(3, 50, 96), torch.randn(3, 50, 200)))
    yield Case("int8-dynamic, odd sizes", nn.Linear(77, 51), (torch.randn(45, 77),))

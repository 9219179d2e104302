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
    rows, many = Dim("rows", min=2, max=4096), Dim("many", min=9, max=4096)

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
    yield product("rhs by columns", 100, 72, 96, module=right)
    yield product("lhs by columns", 104, 72, 96, bfloat, module=left)
    yield product("odd sizes", 77, 51, 45)
    yield product("odd sizes, rhs by columns", 77, 51, 45, bfloat, module=right)
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
    yield product("fma, whole tiles", 128, 128, 32, torch.float32)
    yield product("fma, odd sizes", 131, 67, 21, torch.float32)
    yield product("fma, lhs by columns", 68, 64, 24, torch.float32, left)
    yield product("fma, float64", 70, 45, 33, double)
    yield product("fma, float64, rhs by columns", 64, 48, 32, double, right)
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

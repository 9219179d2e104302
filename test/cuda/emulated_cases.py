"""Scatters, sorts, transposes and reductions of columns, of every form that their kernels have."""

import torch
import torch.nn.functional as F
from harness import Case
from nets import Function
from torch import nn
from torch.export import Dim

# Exported as they are, for their operators are what is tested.
AS_EXPORTED = {"attention, causal", "attention, a mask for groups"}

# What is in the errors of calls that must fail.
FAULTS = {"scatter_add, an index too large": "index out of range in scatter_add"}


def ties(*shape):
    """Numbers of which many are equal, and the special ones."""
    x = (torch.randn(*shape) * 3).round()
    for start, step, value in [(0, 7, "nan"), (0, 11, "-0"), (3, 13, "inf"), (5, 17, "-inf")]:
        x.view(-1)[start::step] = float(value)
    return x


def sort(**options):
    return Function(lambda x: tuple(torch.sort(x, stable=True, **options)))


def cumulative(scatter):
    """Of a value that nobody else needs, so that it is changed in place."""
    return Function(lambda x, i, s: torch.cumsum(scatter(torch.cumsum(x, 1), i, s), 1))


class Counter(nn.Module):
    """Counts its calls, and looks at the count at more places than a warp has threads."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.count += 1
        return x.sum(0) * torch.where(self.count == 1, 1.0, 0.5)


def beside_one(rows, columns):
    """Ones, each followed by numbers that are lost where they are added to it one by one."""
    x = torch.full((rows, columns), 2.0**-25)
    x[:, 0] = 1
    return x


def sums_of_rows(x):
    largest = x.amax(1, keepdim=True)
    return (x / (x * largest).sum(1, keepdim=True)).sum(0)


def permutations(rows, columns):
    return torch.stack([torch.randperm(columns) for _ in range(rows)])


def cases():
    torch.manual_seed(0)
    n = Dim("n", min=2, max=100000)
    r, i = torch.randn, torch.randint
    scatter_add = Function(lambda x, i, s: x.scatter_add(0, i, s))
    index_add = Function(lambda x, i, s: x.index_add(0, i, s))
    index_put = Function(lambda x, i, s: x.index_put((i,), s))
    amax = Function(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"))
    yield Case("counter", Counter(), (r(4, 100),))
    # Rows and columns are added up in one kernel: rows are a warp's each, or a warp has them all.
    for rows, columns in [(4, 1000), (3, 77)]:
        yield Case(f"{rows} sums of {columns} in a kernel", Function(sums_of_rows),
                   (beside_one(rows, columns),))  # fmt: skip
    # Vectors of four are read of what is shorter.
    yield Case("sums of three rows, and a zero", Function(lambda x: F.pad(x.sum(1), (0, 1))), (r(3, 130),))
    yield Case("Bessel functions of huge numbers", Function(lambda x: torch.special.bessel_j0(x) * x.sqrt()),
               (torch.linspace(5e307, 1.7e308, 9, dtype=torch.float64),))  # fmt: skip
    yield Case("scatter_add", scatter_add, (r(50, 8), i(0, 50, (400, 8)), r(400, 8)))
    yield Case("scatter_add, few places", scatter_add, (r(3), i(0, 3, (5000,)), r(5000)))
    yield Case("scatter_add, int64", scatter_add, (i(-9, 9, (40,)), i(0, 40, (3000,)), i(-9, 9, (3000,))))
    yield Case("scatter_add, float16", scatter_add, (r(40, 6).half(), i(0, 40, (300, 6)), r(300, 6).half()))
    yield Case("scatter_add, in order", scatter_add, (r(70000, 32), i(0, 5, (20, 32)), r(20, 32)))
    yield Case("scatter_add, an index too large", scatter_add, (r(50), torch.tensor([3, 50] * 10), r(20)))
    yield Case("index_add", index_add, (torch.zeros(3000, 64), i(0, 20, (1500,)), r(1500, 64)))
    yield Case("index_add, dynamic", index_add, (r(50, 8), i(0, 50, (400,)), r(400, 8)), [({}, {0: n}, {0: n})],
               [(r(50, 8), i(0, 50, (2,)), r(2, 8)), (r(50, 8), i(0, 50, (999,)), r(999, 8))])  # fmt: skip
    yield Case("index_put, equal indices", index_put, (r(30, 20), i(0, 30, (500,)), r(500, 20)))
    yield Case("scatter, equal indices", Function(lambda x, i, s: x.scatter(1, i, s)),
               (r(8, 30), i(0, 30, (8, 200)), r(8, 200)))  # fmt: skip
    yield Case("scatter, different indices", Function(lambda x, i, s: x.scatter(1, i, s)),
               (r(8, 100), permutations(8, 100)[:, :40], r(8, 40)))  # fmt: skip
    yield Case("scatter_reduce amax", amax, (r(40), i(0, 40, (60,)), ties(60)))
    yield Case("scatter_reduce amax, int16", amax,
               (i(-99, 99, (41,)).short(), i(0, 41, (300,)), i(-99, 99, (300,)).short()))  # fmt: skip
    yield Case("scatter_reduce prod", Function(lambda x, i, s: x.scatter_reduce(0, i, s, "prod")),
               (r(40, 6), i(0, 40, (300, 6)), r(300, 6)))  # fmt: skip
    yield Case("in place, in order", cumulative(lambda x, i, s: x.scatter_add(1, i, s)),
               (r(4, 40), i(0, 40, (4, 7)), r(4, 7)))  # fmt: skip
    yield Case("in place, chains", cumulative(lambda x, i, s: x.index_add(0, i, s)),
               (r(2000, 40), i(0, 900, (1000,)), r(1000, 40)))  # fmt: skip
    yield Case("in place, owners", cumulative(lambda x, i, s: x.index_put((i,), s)),
               (r(2000, 40), i(0, 900, (1000,)), r(1000, 40)))  # fmt: skip
    yield Case("in place, atomics", cumulative(lambda x, i, s: x.scatter_reduce(1, i, s, "amax")),
               (r(4, 40), i(0, 40, (4, 70)), r(4, 70)))  # fmt: skip

    yield Case("sort, one block", sort(dim=-1), (ties(2, 4096),))
    yield Case("sort, many blocks", sort(dim=-1, descending=True), (ties(3, 5000),))
    yield Case("sort, float16", sort(dim=-1, descending=True), (ties(3, 5000).half(),))
    yield Case("sort, columns", sort(dim=0), (ties(257, 9),))
    yield Case("sort, int64", sort(dim=-1), (i(-50, 50, (2, 9000)) * 10**12,))
    yield Case("sort, bool", sort(dim=-1), (r(4, 77) > 0,))
    yield Case("sort, dynamic", sort(dim=-1), (ties(3, 5000),), [({1: n},)], [(ties(3, 2),), (ties(3, 300),)])
    yield Case("topk", Function(lambda x: tuple(torch.topk(x, 10))), (permutations(4, 1000).float(),))
    yield Case("topk, long rows", Function(lambda x: tuple(torch.topk(x, 50))), (permutations(2, 50000).float(),))
    yield Case("topk, many", Function(lambda x: tuple(torch.topk(x, 2000))), (permutations(2, 5000).double(),))

    def transpose(x):
        return torch.relu(x.transpose(-1, -2))

    yield Case("transpose", Function(transpose), (r(128, 192),))
    yield Case("transpose, parts of tiles", Function(transpose), (r(132, 68),))
    yield Case("transpose, odd sizes", Function(transpose), (r(3, 70, 97),))
    yield Case("transpose, dynamic", Function(transpose), (r(50, 80),), [({0: n},)], [(r(2, 80),), (r(300, 80),)])
    yield Case("transpose, panels", Function(transpose), (r(40, 64 * 40),))
    yield Case("transpose, float16", Function(transpose), (r(2, 200, 136).half(),))
    yield Case("transpose, bfloat16", Function(transpose), (r(2, 101, 136).bfloat16(),))
    yield Case("transpose, float64", Function(transpose), (r(66, 34).double(),))
    yield Case("transpose, int8", Function(transpose), (i(-100, 100, (256, 144)).to(torch.int8),))
    yield Case("transpose, bool", Function(lambda x: ~x.t()), (r(64, 80) > 0,))
    yield Case("transpose, complex", Function(lambda x: x.t() * 2), (torch.complex(r(64, 80), r(64, 80)),))
    yield Case("transpose, to float16", Function(lambda x: x.t().half()), (r(64, 128),))
    yield Case("transpose of a sum", Function(lambda x, y: (x + y).t().contiguous()), (r(64, 128), r(64, 128)))
    yield Case("transpose, two results", Function(lambda x: (x.t() * 2, torch.sigmoid(x.t()))), (r(64, 128),))
    yield Case("transpose and add", Function(lambda x, y: x.mT + y), (r(2, 72, 100).half(), r(2, 100, 72).half()))
    yield Case("transpose and add, odd sizes", Function(lambda x, y: x.mT + y), (r(2, 71, 101), r(2, 101, 71)))
    yield Case("transpose and add, broadcast", Function(lambda x, y, z: x.mT * y + z),
               (r(2, 72, 100), r(100, 1), r(100, 72)))  # fmt: skip
    yield Case("transpose and add to itself", Function(lambda x: x + x.t()), (r(96, 96),))
    yield Case("transpose, padded", Function(lambda x, y: torch.nn.functional.pad(x, (1, 2, 3, 0)).t() + y),
               (r(61, 125), r(128, 64)))  # fmt: skip

    yield Case("transpose, three dimensions", Function(lambda x: x.permute(2, 0, 1).contiguous()), (r(40, 3, 70),))
    norm = Function(lambda x, w: (F.layer_norm(x, x.shape[-1:], w), (x.exp() + 1).softmax(-1).cumsum(-1)))
    yield Case("rows of warps", norm, (r(6, 768).half(), r(768).half()), [({0: n}, {})],
               [(r(2, 768).half(), r(768).half()), (r(9, 768).half(), r(768).half())])  # fmt: skip
    yield Case("rows of warps, places", Function(lambda x: (x.argmax(-1), x.amin(-1), x.nanmean(-1))),
               (ties(6, 128),), [({0: n},)], [(ties(11, 128),)])  # fmt: skip
    halves = Function(lambda x, c: x * c + torch.cat((-x[..., 32:], x[..., :32]), -1))
    yield Case("halves of rows exchanged", halves, (r(2, 3, 5, 64).half(), r(5, 64).half()))
    yield Case("parts of rows at odd places", Function(lambda x, c: x * c + torch.cat((-x[..., 27:], x[..., :27]), -1)),
               (r(2, 3, 5, 64).half(), r(5, 64).half()))  # fmt: skip
    yield Case("rows in shared memory", Function(lambda x: (x.exp() + 1).softmax(-1).cumsum(-1)), (r(5, 3000),))
    yield Case("rows in the workspace", Function(lambda x: (x.exp() + 1).softmax(-1).cumsum(-1)), (r(3, 20000),))

    total = Function(lambda x: x.sum(0))
    yield Case("columns", total, (r(100, 256),))
    yield Case("columns, odd sizes", total, (r(131, 197),))
    yield Case("columns, few", total, (r(1000, 3),))
    yield Case("columns, float16", total, (r(200, 136).half(),))
    yield Case("columns, dynamic rows", total, (r(50, 80),), [({0: n},)], [(r(2, 80),), (r(300, 80),)])
    yield Case("columns, dynamic", total, (r(90, 80),), [({1: n},)], [(r(90, 2),), (r(90, 300),)])
    yield Case("columns, several", Function(lambda x: (x.sum(0), x.amax(0), x.argmax(0))), (r(300, 40),))
    yield Case("columns, images", Function(lambda x: x.mean(1)), (r(3, 200, 136),))
    yield Case("columns, variance", Function(lambda x: x.var(0)), (r(100, 64),))
    yield Case("columns, any", Function(lambda x: (x > 2).any(0)), (r(200, 136),))
    yield Case("columns, argmax of int64", Function(lambda x: x.argmax(0)), (i(-9, 9, (200, 136)),))
    yield Case("columns, product", Function(lambda x: x.prod(0)), (r(70, 34).double(),))
    yield Case("softmax, rows in shared memory", Function(lambda x: x.softmax(-1)), (r(5, 4096),))

    attention = F.scaled_dot_product_attention
    yield Case("attention, causal", Function(lambda q, k, v: attention(q, k, v, is_causal=True)),
               (r(2, 2, 9, 16), r(2, 2, 300, 16), r(2, 2, 300, 16)))  # fmt: skip
    yield Case("attention, a mask for groups", Function(lambda q, k, v, m: attention(q, k, v, m, enable_gqa=True)),
               (r(1, 4, 5, 16), r(1, 2, 70, 16), r(1, 2, 70, 16), r(5, 70) > 0))  # fmt: skip
    yield Case("rows of two dimensions", Function(lambda x: x.sum((1, 2))), (r(3, 60, 512),))
    yield Case("rows of two dimensions, odd sizes", Function(lambda x: x.sum((1, 2))), (r(3, 61, 51),))
    largest = lambda x: F.max_pool1d(x, 1, return_indices=True)[1]  # noqa: E731
    yield Case("places in windows of one element", Function(lambda x: (largest(x), x.sum())), (r(1, 1, 100),))
    yield Case("rows in parts", Function(lambda x: (x.max(), x.argmax(), x.sum())), (r(6, 50000),))
    yield Case("columns in parts", total, (r(20000, 16),))

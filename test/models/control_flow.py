"""Graphs inside graphs: what torch.cond, while_loop, map and scan export."""

import torch
from torch import nn
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from harness import Case, main
from nets import Function


class Branches(nn.Module):
    """Each branch has weights of its own; one answers its argument as it is."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Conv1d(3, 3, 3, padding=1)

    def forward(self, x):
        large = torch.cond(x.sum() > 0, lambda x: self.first(x).relu(), lambda x: x.clone(), (x,))
        return large, torch.cond(x.mean() > 0, lambda x: x * 2, lambda x: self.second(x).tanh(), (x,)) + x


class Repeated(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(8, 8)

    def forward(self, x, n):
        start = torch.zeros((), dtype=torch.int64)
        count, y = while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, torch.tanh(self.step(y)) + x.cos()), (start, x + 0)
        )
        # What the loop computes too, though it may run no iteration.
        return count, y, x.cos()


class Large(nn.Module):
    """Enough work for several threads, in each branch and around it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(512, 512), nn.Linear(512, 512)

    def forward(self, x, n):
        def body(i, x, y):
            z = torch.cond(x.sum() > y.sum(), lambda x, y: torch.tanh(self.first(x)) + y,
                           lambda x, y: torch.sin(self.second(y)) - x, (x, y))  # fmt: skip
            return i + 1, z.softmax(-1) + x * 0.1, z.clone()

        return while_loop(lambda i, x, y: i < n, body, (n * 0, x + 0, x * 2))


def fibonacci(a, b, n):
    return while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b.clone(), a + b), (n * 0, a, b))


def middle_or_zeros(p, x):
    """Of no rows there is no middle one, and it is not asked for."""
    return torch.cond(p.sum() > 0, lambda x: x.median(0, keepdim=True)[0] + x[-2:].sum(0), lambda x: x.new_zeros(1, x.shape[1]), (x,))


def collatz(n):
    """A branch inside a loop inside a loop's condition's reach."""
    def body(n, steps):
        return torch.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, (n,)), steps + 1

    return while_loop(lambda n, steps: n > 1, body, (n, torch.zeros((), dtype=torch.int64)))


def nested_loops(x, n):
    def outer(i, x):
        _, y = while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * 0.5 + x.amax()), (i * 0, x + 1))
        return i + 1, y - 1

    return while_loop(lambda i, x: i < n, outer, (n * 0, x))


def guarded_index(x, i):
    """The branch that does not run would fail."""
    return torch.cond((i < x.shape[0]).all(), lambda x, i: x[i], lambda x, i: x[:2] * 0, (x, i))


def cases():
    torch.manual_seed(1)
    r, rows = torch.randn, Dim("rows", min=2, max=512)
    number = lambda n: torch.tensor(n)  # noqa: E731
    x = r(2, 3, 8)
    yield Case("branches", Branches(), (x,), others=[(x.abs(),), (-x.abs(),)])
    yield Case("loop", Repeated(), (r(3, 8), number(4)), others=[(r(3, 8), number(0)), (r(3, 8), number(1))])
    yield Case("loop_dynamic", Repeated(), (r(3, 8), number(4)), ({0: rows}, {}), [(r(200, 8), number(3))])
    yield Case("loop_of_large_tensors", Large(), (r(512, 512), number(12)))
    yield Case("values_change_places", Function(fibonacci), (r(4), r(4), number(5)),
               others=[(r(4), r(4), number(0)), (r(4), r(4), number(1))])
    yield Case("branch_in_loop", Function(collatz), (number(27),), others=[(number(1),), (number(6),)])
    yield Case("loop_in_loop", Function(nested_loops), (r(5), number(4)), others=[(r(5), number(0))])
    yield Case("other_branch_would_fail", Function(guarded_index), (r(5, 3), torch.tensor([1, 4])),
               others=[(r(5, 3), torch.tensor([1, 7]))])
    yield Case("branch_of_elements", Function(middle_or_zeros), (torch.ones(2), r(5, 3)),
               [({}, {0: Dim("rows", min=0, max=20)})],
               [(torch.zeros(2), r(0, 3)), (torch.zeros(2), r(1, 3)), (torch.ones(2), r(2, 3))])
    yield Case("branch_by_size", Function(lambda x: torch.cond(x.shape[0] > 4, torch.sin, torch.cos, (x,))), (r(6, 2),),
               [({0: rows},)], [(r(4, 2),), (r(5, 2),)])
    yield Case("map", Function(lambda x, y: map_over(lambda x, y: x @ y, x, y)), (r(3, 2, 4), r(4, 5)))
    yield Case("scan", Function(lambda x: scan(lambda c, x: (c * 0.5 + x, (c * x).sin()), torch.zeros(4), x, dim=0)),
               (r(6, 4),))
    yield Case("map_dynamic", Function(lambda x, y: map_over(lambda x, y: x @ y, x, y)), (r(3, 2, 4), r(4, 5)), [({0: rows}, {})],
               [(r(2, 2, 4), r(4, 5)), (r(200, 2, 4), r(4, 5))])
    step = lambda c, x: (c * 0.5 + x, (c * x).sin())  # noqa: E731
    yield Case("scan_dynamic", Function(lambda x: scan(step, torch.zeros(4), x, dim=0)), (r(6, 4),), [({0: rows},)],
               [(r(2, 4),), (r(300, 4),)])
    yield Case("scan_long", Function(lambda x: scan(step, torch.zeros(4), x, dim=0)), (r(5000, 4),))
    yield Case("scan_reversed", Function(lambda x: scan(step, torch.zeros(4, 4), x, dim=1, reverse=True)), (r(4, 900, 1).expand(4, 900, 4).contiguous(),))


if __name__ == "__main__":
    main(list(cases()))

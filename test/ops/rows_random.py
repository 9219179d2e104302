"""Random operators: numbers differ from PyTorch's, so that rows answer facts about them."""

import torch
import torch.nn.functional as F
from harness import op, x

N = 20000


def near(values, mean, deviation):
    """Whether mean and deviation are those of a sample of this size: six standard errors."""
    slack = 6 * deviation / values.numel() ** 0.5
    values = values.double()
    return torch.stack([(values.mean() - mean).abs() < slack, (values.std() - deviation).abs() < 2 * slack])


def between(values, low, high):
    return ((values >= low) & (values <= high)).all()


def fact(name, check, *inputs):
    return op(name, lambda *given: check(*given), *(inputs or (x(1),)))


def whole_channels(a):
    kept = F.dropout2d(a.abs() + 1, 0.5, True) != 0
    return (kept.all(-1).all(-1) | ~kept.any(-1).any(-1)).all()


def mean_of_values(q):
    """Dropped weights leave the mean of what is attended to: of ones, one."""
    ones = torch.ones(50, 4, 9, 8)
    return near(F.scaled_dot_product_attention(ones, ones, ones, dropout_p=0.5)[..., 0], 1, 1 / 3)


HALF = 12**-0.5  # the deviation of numbers between 0 and 1

fills = [
    fact("rand", lambda a: (near(r := torch.rand(N), 0.5, HALF), (r < 1).all(), (r >= 0).all())),
    fact("rand.f64", lambda a: near(torch.rand(N, dtype=torch.float64), 0.5, HALF)),
    fact("rand.bf16", lambda a: (between(r := torch.rand(N, dtype=torch.bfloat16), 0, 1 - 2**-8), near(r, 0.5, HALF))),
    fact("rand_like", lambda a: near(torch.rand_like(a), 0.5, HALF), x(100, 200)),
    fact("rand.draws_differ", lambda a: (torch.rand(N) == torch.rand(N)).float().mean() < 0.01),
    fact("rand.elements_differ", lambda a: (torch.rand(N // 2, 2).diff(dim=1) == 0).float().mean() < 0.01),
    fact("randn", lambda a: (near(r := torch.randn(N), 0, 1), near(r**2, 1, 2**0.5), near(r**3, 0, 15**0.5))),
    fact("randn.f64", lambda a: near(torch.randn(N, dtype=torch.float64), 0, 1)),
    fact("normal", lambda a: near(torch.normal(a * 0 + 3, a * 0 + 2), 3, 2), x(N)),
    fact("normal_", lambda a: near(a.clone().normal_(-1, 0.5), -1, 0.5), x(N)),
    fact("randn.complex", lambda a: (near((r := torch.randn(N, dtype=torch.complex64)).real, 0, 0.5**0.5), near(r.imag, 0, 0.5**0.5))),
    fact("uniform_.complex", lambda a: (near((r := torch.complex(a, a).uniform_(1, 2)).real, 1.5, HALF), near(r.imag, 1.5, HALF)), x(N)),
    fact("uniform_", lambda a: (between(r := a.clone().uniform_(-2, 4), -2, 4), near(r, 1, 6 * HALF)), x(N)),
    fact("log_normal_", lambda a: near(a.clone().log_normal_(1, 0.5).log(), 1, 0.5), x(N)),
    fact("exponential_", lambda a: near(a.clone().exponential_(2), 0.5, 0.5), x(N)),
    fact("geometric_", lambda a: (near(r := a.clone().geometric_(0.25), 4, 12**0.5), (r >= 1).all()), x(N)),
    fact("cauchy_", lambda a: near((a.clone().cauchy_(3, 2) < 5).float(), 0.75, 0.1875**0.5), x(N)),
    fact("randint", lambda a: (between(r := torch.randint(7, (N,)), 0, 6), near(r, 3, 2))),
    fact("randint.low", lambda a: (between(r := torch.randint(-3, 4, (N,)), -3, 3), near(r, 0, 2))),
    fact("randint.wide", lambda a: near(torch.randint(0, 2**40, (N,)) / 2**40, 0.5, HALF)),
    fact("randint_like", lambda a: near(torch.randint_like(a, 2, 9), 5, 2), x(N)),
    fact("randperm", lambda a: (torch.randperm(500).sort().values, (torch.randperm(500) == torch.arange(500)).sum() < 50)),
]  # fmt: skip

DYNAMIC = {"dynamic": ({0: torch.export.Dim("n", min=2, max=500)},), "other": (x(30, 40),)}
fills += [
    op("rand.dynamic", lambda a: (between(r := torch.rand_like(a), 0, 1), (r.diff(dim=1) == 0).sum() < 9), x(100, 40), **DYNAMIC),
    op("dropout.dynamic", lambda a: between((r := F.dropout(a, 0.5, True)) * (r - 2 * a), -1e-6, 1e-6), x(100, 40), **DYNAMIC),
    op("randperm.dynamic", lambda a: torch.randperm(a.shape[0]).sort().values, x(100, 40), **DYNAMIC),
]  # fmt: skip

choices = [
    fact("bernoulli", lambda a: near(torch.bernoulli(a * 0 + 0.3), 0.3, 0.21**0.5), x(N)),
    fact("bernoulli.p", lambda a: near(a.clone().bernoulli_(0.8), 0.8, 0.16**0.5), x(N)),
    fact("multinomial", lambda a: (torch.multinomial(torch.ones(50, 6), 6).sort().values, torch.multinomial(torch.tensor([0.0, 1.0, 2.0]), 2).sort().values)),
    fact("multinomial.replacement", lambda a: near(torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), N, True), 1.5, 0.75**0.5)),
]  # fmt: skip

distributions = [
    *(fact(f"standard_gamma.{a}", lambda x, a=a: near(torch._standard_gamma(x * 0 + a), a, a**0.5), x(N)) for a in (0.05, 0.7, 1, 3, 200)),
    fact("standard_gamma.f64", lambda a: near(torch._standard_gamma(a * 0 + 3), 3, 3**0.5), x(N, dtype=torch.float64)),
    fact("standard_gamma.tail", lambda a: near((torch._standard_gamma(a * 0 + 2) > 5).float(), 0.0404277, 0.19696), x(N)),
    *(fact(f"poisson.{a}", lambda x, a=a: near(torch.poisson(x * 0 + a), a, a**0.5), x(N)) for a in (0.1, 4, 30.5, 2000)),
    fact("poisson.zero", lambda a: (near((torch.poisson(a * 0 + 2) == 0).float(), 0.135335, 0.34208), torch.poisson(a * 0)), x(N)),
    *(fact(f"binomial.{n}.{p}", lambda x, n=n, p=p: near(torch.binomial(x * 0 + n, x * 0 + p), n * p, (n * p * (1 - p)) ** 0.5), x(N)) for n, p in ((1, 0.3), (10, 0.5), (40, 0.97), (5000, 0.2))),
    fact("binomial.ends", lambda a: (torch.binomial(a * 0 + 7, a * 0), torch.binomial(a * 0 + 7, a * 0 + 1), torch.binomial(a * 0, a * 0 + 0.5)), x(9)),
    fact("dirichlet", lambda a: (torch._sample_dirichlet(a * 0 + 2).sum(-1), near(torch._sample_dirichlet(a * 0 + 2)[:, 0], 0.25, (0.25 * 0.75 / 9) ** 0.5)), x(N // 4, 4)),
]  # fmt: skip

dropouts = [
    fact("dropout", lambda a: near(F.dropout(a * 0 + 1, 0.2, True), 1, 0.5), x(N)),
    fact("dropout.values", lambda a: between((r := F.dropout(a, 0.5, True)) * (r - 2 * a), -1e-6, 1e-6), x(N)),
    fact("dropout.bf16", lambda a: near(F.dropout(a * 0 + 1, 0.5, True), 1, 1), x(N, dtype=torch.bfloat16)),
    fact("dropout2d", whole_channels, x(20, 30, 3, 4)),
    fact("alpha_dropout", lambda a: near(F.alpha_dropout(torch.randn_like(a), 0.3, True), 0, 1), x(N)),
    fact("rrelu.training", lambda a: near(F.rrelu(a * 0 - 1, 0, 1, True), -0.5, HALF), x(N)),
    fact("native_dropout", lambda a: ((r := torch.native_dropout(a, 0.5, True))[0] == a * r[1] * 2).all(), x(N)),
    fact("attention.dropout", mean_of_values, x(2, 4, 9, 8)),
]  # fmt: skip

ROWS = [*fills, *choices, *distributions, *dropouts]

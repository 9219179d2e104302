"""torch.special, and functions by the bits of their arguments."""

import torch
from harness import ints, op, special, x

# Functions of one number, with the range in which PyTorch's own formulas are accurate.
UNARY = {
    "lgamma": (-4.5, 9), "digamma": (-4.5, 9), "i0": (-40, 40), "special.i0e": (-40, 40), "special.i1": (-40, 40),
    "special.i1e": (-40, 40), "special.erfcx": (-4, 40), "special.log_ndtr": (-20, 6), "special.ndtri": (0.001, 0.999),
    "special.airy_ai": (-2, 8), "special.bessel_j0": (-20, 20), "special.bessel_j1": (-20, 20),
    "special.bessel_y0": (0.1, 20), "special.bessel_y1": (0.1, 20), "special.modified_bessel_i0": (-9, 9),
    "special.modified_bessel_i1": (-9, 9), "special.modified_bessel_k0": (0.01, 30),
    "special.modified_bessel_k1": (0.01, 30), "special.scaled_modified_bessel_k0": (0.01, 90),
    "special.scaled_modified_bessel_k1": (0.01, 90), "special.spherical_bessel_j0": (-20, 20), "special.entr": (0, 3),
}  # fmt: skip
POLYNOMIALS = [
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip


def function(name):
    return getattr(torch.special, name.removeprefix("special.")) if "." in name else getattr(torch, name)


unary = [op(name, function(name), x(257, low=low, high=high)) for name, (low, high) in UNARY.items()]
unary += [op(f"{name}.special", function(name), special(64)) for name in UNARY if name != "special.airy_ai"]
unary += [op("special.airy_ai.left", torch.special.airy_ai, x(99, low=-40, high=-2), tolerance=(1e-4, 1e-4))]
unary += [op(f"{name}.f64", function(name), x(65, dtype=torch.float64, low=low, high=high), tolerance=(1e-6, 1e-6))
          for name, (low, high) in UNARY.items()]  # fmt: skip

# Twice pi times such a number is none.
unary += [op(f"special.{name}.huge", lambda a, f=getattr(torch.special, name): f(a) * a.abs().sqrt(),
             x(9, dtype=torch.float64, low=1e308, high=1.7e308)) for name in ("i0e", "i1e")]  # fmt: skip

binary = [
    op("igamma", torch.special.gammainc, x(200, low=0, high=30), x(200, low=0, high=30)),
    op("igammac", torch.special.gammaincc, x(200, low=0, high=30), x(200, low=0, high=30)),
    op("gcd", torch.gcd, ints(99, low=-60, high=60), ints(99, low=-60, high=60)),
    op("lcm.i32", torch.lcm, ints(99, low=-60, high=60, dtype=torch.int32), ints(99, low=-60, high=60, dtype=torch.int32)),
    op("polynomial.overflow", torch.special.laguerre_polynomial_l, x(99, low=100, high=1000), ints(99, low=0, high=200)),
    op("mvlgamma.bf16", lambda a: torch.mvlgamma(a, 3), x(99, low=1.1, high=4, dtype=torch.bfloat16)),
    op("igamma.large", torch.special.gammainc, x(200, low=900, high=1100), x(200, low=900, high=1100), tolerance=(1e-4, 1e-3)),
    op("zeta", torch.special.zeta, x(200, low=1.1, high=9), x(200, low=0.1, high=9)),
    *(op(f"polygamma.{n}", lambda a, n=n: torch.polygamma(n, a), x(99, low=0.2, high=9)) for n in range(4)),
    op("mvlgamma", lambda a: torch.mvlgamma(a, 3), x(99, low=1.5, high=9)),
    *(op(name, getattr(torch.special, name), x(99, low=-1, high=1.5), ints(99, low=-1, high=12))
      for name in POLYNOMIALS),
    op("polynomial.n_scalar", lambda a: torch.special.legendre_polynomial_p(a, 5), x(99, low=-1, high=1)),
    *(op(f"{name}.special", getattr(torch.special, name), x(64, low=-1, high=1), special(64)) for name in POLYNOMIALS if "hermite" in name),
    op("hermite.too_high", lambda a: torch.special.hermite_polynomial_h(a, 129), x(9)),
]  # fmt: skip

bits = [
    op("frexp", torch.frexp, special(64)),
    op("frexp.subnormal", lambda a: torch.frexp(a * 1e-38), x(64)),
    op("frexp.f64", torch.frexp, x(64, dtype=torch.float64)),
    op("angle", torch.angle, special(64)),
    *(op(f"nextafter.{t}", torch.nextafter, x(99, dtype=t), x(99, dtype=t))
      for t in (torch.float32, torch.float64, torch.bfloat16)),
    op("nextafter.special", torch.nextafter, special(64), special(64)),
    op("softmax.f64_of_many_rows", lambda a: (-a).softmax(-1, dtype=torch.float64), x(16, 5)),
]  # fmt: skip

ROWS = [*unary, *binary, *bits]

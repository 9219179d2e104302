"""Functions of one, two and three elements."""

import torch
import torch.nn.functional as F
from harness import bools, ints, op, special, x

# Functions of real numbers, with where they are defined.
REAL = {
    "exp": (-3, 3), "exp2": (-3, 3), "expm1": (-3, 3), "log": (0.1, 9), "log1p": (-0.9, 9), "log2": (0.1, 9),
    "log10": (0.1, 9), "sqrt": (0, 9), "rsqrt": (0.1, 9), "reciprocal": (0.5, 4), "sin": (-9, 9), "cos": (-9, 9),
    "tan": (-1.4, 1.4), "asin": (-1, 1), "acos": (-1, 1), "atan": (-9, 9), "sinh": (-3, 3), "cosh": (-3, 3),
    "tanh": (-4, 4), "asinh": (-9, 9), "acosh": (1.01, 9), "atanh": (-0.9, 0.9), "erf": (-3, 3), "erfc": (-3, 3),
    "erfinv": (-0.9, 0.9), "lgamma": (0.3, 9), "digamma": (0.3, 9), "sigmoid": (-6, 6), "logit": (0.1, 0.9),
    "sinc": (-3, 3), "deg2rad": (-180, 180), "rad2deg": (-3, 3),
}  # fmt: skip
# Functions that also keep integers, and must get signs, zeros and NaN right.
EXACT = ["abs", "neg", "sign", "floor", "ceil", "trunc", "round", "square", "frac", "isnan", "isinf", "isfinite",
         "isposinf", "isneginf", "signbit", "nan_to_num", "relu", "logical_not", "positive"]  # fmt: skip
ACTIVATIONS = ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "hardtanh",
               "hardswish", "hardsigmoid", "hardshrink", "softshrink", "tanhshrink", "logsigmoid", "softsign"]  # fmt: skip
ARITHMETIC = ["add", "sub", "mul", "true_divide", "floor_divide", "remainder", "fmod", "maximum", "minimum", "fmax",
              "fmin", "atan2", "copysign", "hypot", "logaddexp", "logaddexp2", "heaviside"]  # fmt: skip
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]

unary = [op(name, getattr(torch, name), x(5, 7, low=low, high=high)) for name, (low, high) in REAL.items()]
unary += [op(f"{name}.int", getattr(torch, name), ints(9, low=1)) for name in ("exp", "sqrt", "sigmoid", "log")]
unary += [op(f"{name}.special", getattr(torch, name), special(64)) for name in EXACT]
unary += [op(f"{name}.int", getattr(torch, name), ints(17)) for name in ("abs", "neg", "sign", "square", "floor")]
unary += [op(f"{name}.bf16", getattr(torch, name), x(33, dtype=torch.bfloat16)) for name in ("exp", "sin", "tanh")]
activations = [op(name, getattr(F, name), x(5, 7, low=-8, high=8)) for name in ACTIVATIONS]
activations += [op(f"{name}.bf16", getattr(F, name), x(33, dtype=torch.bfloat16)) for name in ("gelu", "silu", "mish")]
activations += [
    op("gelu.tanh", lambda a: F.gelu(a, approximate="tanh"), x(33)),
    op("elu.alpha", lambda a: F.elu(a, 0.5), x(33)),
    op("softplus.beta", lambda a: F.softplus(a, 2.0, 3.0), x(33)),
    op("threshold", lambda a: F.threshold(a, 0.5, -7.0), x(33)),
    op("prelu", F.prelu, x(2, 4, 3), x(4)),
    op("glu", lambda a: F.glu(a, 1), x(2, 6, 3)),
    op("rrelu", lambda a: F.rrelu(a, 0.1, 0.3), x(33)),
]

binary = [op(name, getattr(torch, name), x(4, 1, 5), x(3, 1, low=0.5)) for name in ARITHMETIC]
binary += [op(f"{name}.special", getattr(torch, name), special(200), special(200)) for name in
           ("add", "mul", "maximum", "minimum", "fmax", "fmin", "remainder", "fmod", "floor_divide", "copysign", "eq",
            "lt", "hypot", "logaddexp")]  # fmt: skip
binary += [op(f"{name}.int", getattr(torch, name), ints(50, low=-9, high=9), ints(50, low=1, high=5)) for name in
           ("add", "sub", "mul", "true_divide", "floor_divide", "remainder", "fmod", "maximum", "pow", *BITS)]  # fmt: skip
binary += [op(f"{name}.negative", getattr(torch, name), ints(50, low=-9, high=9), ints(50, low=-5, high=0)) for name in
           ("floor_divide", "remainder", "fmod")]  # fmt: skip
binary += [op(name, getattr(torch, name), x(6), x(4, 6)) for name in COMPARISONS]
binary += [op(f"{name}.bool", getattr(torch, name), bools(20), bools(20)) for name in
           ("add", "mul", "logical_and", "logical_or", "logical_xor", *BITS, "eq")]  # fmt: skip

promotion = [
    op("promote.int_float", lambda a, b: a + b, ints(4), x(4)),
    op("promote.f16_f32", lambda a, b: a * b, x(4, dtype=torch.float16), x(4)),
    op("promote.scalar_tensor", lambda a, b: a + b, x(4, dtype=torch.bfloat16), x()),
    op("promote.int_zero_dim_float", lambda a, b: a + b, ints(4), x()),
    op("promote.number", lambda a: a * 2.5 + 1, ints(4)),
    op("promote.int32_number", lambda a: a + 1, ints(4, dtype=torch.int32)),
    op("promote.bool_number", lambda a: a + 1, bools(4)),
    op("pow.uint8", torch.pow, ints(40, low=0, high=9, dtype=torch.uint8), ints(40, low=0, high=256, dtype=torch.uint8)),
    op("promote.uint8", lambda a, b: a + b, ints(4, low=0, high=200, dtype=torch.uint8), ints(4, dtype=torch.int8)),
    op("uint8.wraps", lambda a: a * 3, ints(40, low=0, high=255, dtype=torch.uint8)),
    op("rsub", lambda a: 1 - a, x(4)),
    op("add.alpha", lambda a, b: torch.add(a, b, alpha=3), x(4), x(4)),
    op("sub.alpha", lambda a, b: torch.sub(a, b, alpha=0.5), x(4), x(4)),
]

others = [
    *(op(f"pow.{e}", lambda a, e=e: a**e, x(20, low=0.1)) for e in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 4)),
    op("pow.tensor", torch.pow, x(20, low=0.1), x(20)),
    op("pow.scalar", lambda a: 2.0**a, x(20)),
    # An integer without dimensions does not widen the others, and is not cut to their type either.
    op("true_divide.wide", lambda a, b: (a / b, torch.div(a, b, rounding_mode=None), torch.atan2(a, b), torch.copysign(a, b)),
       ints(30, dtype=torch.int8), ints(low=1000, high=2000)),
    # Operands are of one type before they are conditions: -32768 is 0 as an int8, 1e-9 as a half.
    *(op(f"logical_{name}.common_type", lambda a, f=getattr(torch, f"logical_{name}"): (
          f(a, torch.tensor(-32768, dtype=torch.int16)), f(a.half(), torch.tensor(1e-9))),
         ints(30, low=-1, high=2, dtype=torch.int8)) for name in ("and", "or", "xor")),  # fmt: skip
    # Operands that are known to be zeros when the program is compiled.
    op("atan2.zeros", lambda a: (torch.atan2(a < a, a < a), torch.atan2(-(a * 0.0 - a * 0.0), a < a)), ints(30)),
    op("div.trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), ints(30), ints(30, low=1)),
    op("div.floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), x(30), x(30, low=0.5)),
    op("clamp", lambda a: a.clamp(-1, 1), special(40)),
    op("clamp.tensor", torch.clamp, x(4, 5), x(5, low=-2, high=0), x(5, low=0, high=2)),
    op("clamp_min", lambda a: a.clamp_min(0.5), x(9)),
    op("clamp.int_float", lambda a: a.clamp(-1.5, 1.5), ints(9)),
    op("where", torch.where, bools(4, 1), x(4, 5), x(5)),
    op("where.number", lambda c, a: torch.where(c, a, 0.0), bools(4), x(4)),
    op("lerp", lambda a, b: torch.lerp(a, b, 0.3), x(9), x(9)),
    op("lerp.tensor", torch.lerp, x(9), x(9), x(9, low=0, high=1)),
    op("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), x(9), x(9), x(9)),
    op("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), x(9), x(9), x(9, low=1)),
    op("isclose", torch.isclose, special(60), special(60)),
    op("xlogy", torch.xlogy, x(9, low=0), x(9, low=0.1)),
    op("ldexp", torch.ldexp, x(9), ints(9)),
    op("float_power", torch.float_power, x(9, low=0.1), x(9)),
    op("nextafter", torch.nextafter, x(9), x(9)),
    op("asin.half", torch.asin, x(dtype=torch.float16, low=-1, high=1)),
    # LLVM asks for the sign of a half where it stood as a double, by a function that nobody has.
    op("sign_of_half.double", lambda a: tuple(getattr(torch, n)(a.half()) for n in ("sinh", "asinh", "tanh", "atan", "asin")),
       x(1, dtype=torch.float64, low=-1, high=1)),
    op("erfinv.double", lambda a: torch.erfinv(1 - a), x(33, dtype=torch.float64, low=1e-15, high=1e-13)),
    op("bitwise_not", torch.bitwise_not, ints(9)),
    op("shift", lambda a, b: (a << b) + (a >> b), ints(9), ints(9, low=0, high=4)),
    op("round.decimals", lambda a: torch.round(a, decimals=2), x(30)),
    op("dropout.eval", lambda a: F.dropout(a, 0.5, training=False), x(9)),
]

# A number beside a half type is rounded to it by some operators and not by others: to the last bit as PyTorch, in whole
# vectors (it rounds more often in what is left of them).
NUMBERS = {
    "add": lambda a, b, n: (a + n, a - n, n - a, torch.add(a, n, alpha=1.3)),
    "alpha": lambda a, b, n: (torch.add(a, b, alpha=n), torch.sub(a, b, alpha=n), torch.rsub(a, b, alpha=n)),
    "mul": lambda a, b, n: (a * n, a / n, n / a, a // n),
    "rounding_mode": lambda a, b, n: [torch.div(a, v, rounding_mode=m) for v in (b.abs() + 1, n) for m in ("trunc", "floor")],
    "remainder": lambda a, b, n: (a % n, n % a, torch.fmod(a, n)),
    "compare": lambda a, b, n: [f(a.masked_fill(b > 0, n), n) for f in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)],
    "pow": lambda a, b, n: (a.abs() ** n, torch.pow(abs(n), a), a**3, a**-2),
    "xlogy": lambda a, b, n: (torch.xlogy(a, abs(n)), torch.xlogy(n, a.abs()), torch.xlogy(a, b.abs()),
                              torch.special.xlog1py(a, abs(n)), torch.special.xlog1py(n, a.abs())),
    "logit": lambda a, b, n: (torch.logit(a.abs() / 4), torch.logit(a.abs() / 3, abs(n) / 20)),
    "shrink": lambda a, b, n: (F.hardshrink(a.masked_fill(b > 0, n), abs(n)), F.softshrink(a, abs(n))),
    "clamp": lambda a, b, n: (a.clamp(-abs(n), abs(n)), a.clamp_min(n), a.clamp_max(n), F.hardtanh(a, -abs(n), abs(n))),
    "choose": lambda a, b, n: (torch.where(a > b, a, n), a.masked_fill(b > 0, n), F.threshold(a, n, n), torch.copysign(a, n)),
    "activations": lambda a, b, n: (F.leaky_relu(a, n), F.elu(a, n), F.celu(a, n), F.softplus(a, abs(n), 2.3)),
    "ternary": lambda a, b, n: (torch.addcmul(a, b, b, value=n), torch.addcdiv(a, b, b + 4, value=n)),
    "without_dimensions": lambda a, b, n: [f(*v) for f in (torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide, torch.fmod,
                                                           torch.lt, torch.pow, torch.atan2, torch.maximum)
                                           for v in ((a.abs(), torch.tensor(n)), (torch.tensor(n), a.abs()))],
}  # fmt: skip
halves = [
    op(f"{name}.{n}.{str(dtype)[6:]}", lambda a, b, f=f, n=n: f(a, b, n), x(8, 32, dtype=dtype), x(8, 32, dtype=dtype), tolerance=(0, 0),
       of_these_sizes=True)
    for name, f in NUMBERS.items() for n in (0.1, 2.7, -1.1) for dtype in (torch.bfloat16, torch.float16)
]  # fmt: skip

ROWS = [*halves, *unary, *activations, *binary, *promotion, *others]

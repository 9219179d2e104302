"""Complex numbers and Fourier transforms."""

import torch
from harness import Make, op, x

fft = torch.fft


def z(*shape: int) -> Make:
    """Both parts uniform between -3 and 3."""
    return lambda random: torch.complex(x(*shape)(random), x(*shape)(random))


functions = [
    *(op(f"complex.{name}", getattr(torch, name), z(4, 9)) for name in (
        "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
        "asinh", "acosh", "atanh", "expm1", "log1p", "log2", "log10", "abs", "angle", "sgn", "neg", "conj_physical",
        "square", "isnan", "isfinite", "sum", "mean", "prod", "cumsum_0", "cumprod_0") if hasattr(torch, name)),
    op("complex.pow.zero", lambda a, b: torch.pow(a * 0, torch.complex(b.real.abs() * torch.tensor([0.0, 1, -1]), b.imag)),
       z(4, 3), z(4, 3)),
    *(op(f"complex.{name}", getattr(torch, name), z(4, 9), z(4, 9)) for name in ("add", "sub", "mul", "div", "pow", "eq", "ne")),
    op("complex.add_real", lambda a, b: a + b * 2 - 1j, z(4, 9), x(4, 9)),
    op("complex.scans", lambda a: (a.cumsum(1), a.cumprod(0), a.prod(1)), z(4, 9), tolerance=(1e-3, 1e-3)),
    # safetensors has no complex128.
    op("complex.f64", lambda a: torch.view_as_real((torch.view_as_complex(a) * 2j).exp()), x(4, 3, 2, dtype=torch.float64)),
    op("complex.where", lambda a, b: torch.where(b > 0, a, 0), z(4, 9), x(4, 9)),
    op("complex.views", lambda a: a.reshape(9, 4).T[1:, ::2].flip(0).contiguous(), z(4, 9)),
    op("complex.index", lambda a: (a[:, [1, 3]], torch.cat([a, a], 1), a.sum(0, keepdim=True)), z(4, 9)),
    op("complex.matmul", torch.matmul, z(2, 4, 5), z(2, 5, 3)),
    op("complex.dot", lambda a, b: (torch.dot(a, b), torch.vdot(a, b)), z(9), z(9)),
    op("complex.parts", lambda a: (a.real * 2, a.imag + 1, torch.view_as_real(a) * 2, a.conj() * 1j), z(4, 9)),
    op("complex.make", lambda a, b: (torch.complex(a, b) * 1j, torch.polar(a, b) + 1), x(4, 9), x(4, 9)),
    op("complex.view_dtype", lambda a, b: (a.view(torch.float32) * 2, b.view(torch.complex64) * 2), z(4, 9), x(4, 6)),
    op("complex.view_as_complex", lambda a: torch.view_as_complex(a) * 2j, x(4, 9, 2)),
    op("complex.norm", lambda a: (torch.linalg.vector_norm(a), torch.linalg.vector_norm(a, 1, 0)), z(4, 9)),
    *(op(f"complex.cut.{name}", getattr(torch, name), lambda random: torch.complex(*torch.meshgrid(edges := torch.tensor([-2.0, -0.0, 0.0, 2.0, 1e20]), edges, indexing="ij")))
      for name in ("asinh", "atan", "atanh", "acosh", "asin", "acos", "log1p", "sqrt", "log")),
    op("complex.moments", lambda a: (a.var(), a.std(1), *torch.var_mean(a, 0, correction=0), *torch.std_mean(a)), z(4, 9)),
    op("complex.prod", lambda a: (a.prod(), a.prod(1), a[:0].prod(0), a[:, :0].prod()), z(3, 4), tolerance=(1e-3, 1e-3)),
    op("complex.logsumexp", lambda a: (a.logsumexp(1), torch.logcumsumexp(a, 1), torch.logcumsumexp(a[0, 0], 0), torch.logaddexp(a, a.flip(0))), z(4, 9), tolerance=(1e-3, 1e-4)),
    # More columns than a vector has lanes: nothing is written over what a later vector reads.
    op("complex.logsumexp_wide", lambda a: (a.logsumexp(1), torch.logcumsumexp(a, 1).exp()), z(4, 40), tolerance=(1e-3, 1e-3)),
    op("complex.ramps", lambda a: (torch.linspace(-1j, 3 + 2j, 7) + a, torch.logspace(1, 2j, 7) + a), z(7), tolerance=(1e-4, 1e-4)),
    op("complex.scaled", lambda a, b, c: (torch.addmm(a, b, c, beta=1 + 2j, alpha=2j), torch.lerp(a, b, 1.2 + 0.1j), torch.lerp(a, b, c), torch.add(a, b, alpha=1 + 1j)), z(4, 4), z(4, 4), z(4, 4)),
    op("complex.vecdot", lambda a, b: torch.linalg.vecdot(a, b), z(4, 9), z(4, 9)),
    op("complex.to_real", lambda a: (a.float(), a.double(), a.long(), a.bool(), torch.zeros(4, 9).copy_(a)), z(4, 9)),
    op("complex.rms_norm", lambda a: torch.nn.functional.rms_norm(a, (9,)), z(4, 9)),
    op("complex.dynamic", lambda a: a.exp() * 2, z(4, 9), dynamic=({0: torch.export.Dim("n", min=2)},), other=(z(7, 9),)),
]  # fmt: skip

CLOSE = (1e-3, 2e-4)

transforms = [
    *(op(f"fft.{n}", lambda a: (fft.fft(a), fft.ifft(a)), z(3, n), tolerance=CLOSE)
      for n in (1, 2, 8, 12, 31, 37, 67, 100, 134, 256, 1021, 4000)),
    *(op(f"rfft.{n}", lambda a, n=n: fft.irfft(fft.rfft(a) * 2, n), x(3, n), tolerance=CLOSE) for n in (1, 2, 9, 16, 400, 1536)),
    *(op(f"fft.norm.{norm}", lambda a, norm=norm: (fft.fft(a, norm=norm), fft.ifft(a, norm=norm), fft.rfft(a, norm=norm)), x(3, 10), tolerance=CLOSE)
      for norm in ("ortho", "forward", "backward")),
    op("fft.sizes", lambda a: (fft.fft(a, 4), fft.fft(a, 12, 0), fft.irfft(a, 7), fft.rfft(a, 5)), x(5, 9), tolerance=CLOSE),
    op("fft2", lambda a: (fft.fft2(a), fft.ifft2(a), fft.rfft2(a)), x(2, 6, 10), tolerance=CLOSE),
    op("fftn", lambda a: (fft.fftn(a), fft.ifftn(a, (4, 4), (0, 1))), z(3, 6, 5), tolerance=CLOSE),
    op("irfft2", lambda a: (fft.irfft2(a), fft.irfftn(a, (5, 7))), z(2, 6, 5), tolerance=CLOSE),
    op("hfft", lambda a: (fft.hfft(a), fft.ihfft(a.real)), z(3, 6), tolerance=CLOSE),
    op("hfft2", lambda a: (fft.hfft2(a), fft.ihfft2(a.real)), z(3, 6), tolerance=CLOSE),
    op("fft.f64", lambda a: torch.view_as_real(fft.fft(a)), x(3, 50, dtype=torch.float64)),
    op("fft.f64.stages", lambda a: torch.view_as_real(fft.fft(a)), x(3, 294, dtype=torch.float64)),
    # Doubles inside, where there are few elements: no farther from the exact transform than PyTorch's own.
    op("fft.few", lambda a: (fft.fft(a) - fft.fft(a.double())).abs().max() < 2.7e-6, x(20000, 14)),
    op("fft.real", lambda a: (fft.fft(a, dim=0), fft.fftn(a, dim=(0, 1)).real), x(128, 90, 3), tolerance=CLOSE),
    op("fft.frequencies", lambda a: (fft.fftfreq(7, 0.5) + a, fft.rfftfreq(8) + a[:5]), x(7)),
    op("fftshift", lambda a: (fft.fftshift(a), fft.ifftshift(a, 1)), x(4, 5)),
    op("stft", lambda a, w: torch.stft(a, 16, 5, 12, w, return_complex=True), x(2, 80), x(12, low=0.5), tolerance=CLOSE),
    op("stft.real", lambda a: torch.view_as_real(torch.stft(a, 16, center=False, normalized=True, return_complex=True)), x(80), tolerance=CLOSE),
    op("istft.whole", lambda a: torch.istft(a, 16, onesided=False), z(16, 9), tolerance=CLOSE),
    op("istft", lambda a, w: torch.istft(torch.stft(a, 16, 4, 16, w, return_complex=True) * 2, 16, 4, 16, w), x(2, 80), x(16, low=0.5), tolerance=CLOSE),
]  # fmt: skip

ROWS = [*functions, *transforms]

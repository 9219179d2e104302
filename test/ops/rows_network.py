"""Normalization, convolution, pooling, resizing, recurrence."""

import torch
import torch.nn.functional as F
from harness import ints, op, x

H = torch.export.Dim("h", min=4, max=64)
W = torch.export.Dim("w", min=4, max=64)


class Recurrent:
    """A recurrent network with fixed weights, as a function of its input."""

    def __init__(self, kind, **options):
        torch.manual_seed(0)
        self.network = kind(5, 6, **options).eval().requires_grad_(False)

    def __call__(self, a):
        return self.network(a)


class LastState(Recurrent):
    """The same, of which the last layer's final state is used: torch 2.11 declares those of an LSTM with a dimension more."""

    def __call__(self, a):
        states = self.network(a)[1]
        last = (states[0] if isinstance(states, tuple) else states)[-1]
        return last.softmax(1), last.unsqueeze(0).flatten(1) @ last.flatten()[:, None]


class Convolved:
    """A convolution with fixed weights and something behind it, as a function of its input."""

    def __init__(self, inputs, outputs, padding, kernel=3, **options):
        torch.manual_seed(0)
        self.convolution = torch.nn.Conv2d(inputs, outputs, kernel, padding=padding, **options).requires_grad_(False)

    def __call__(self, a):
        return F.gelu(self.convolution(a)) + 1


def instance_norm_with_statistics(a, mean, variance):
    mean, variance = mean.clone(), variance.clone()
    return F.instance_norm(a, mean, variance, momentum=0.3), mean, variance


normalization = [
    op("batch_norm", lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b), x(2, 4, 3, 3), x(4), x(4, low=0.5), x(4), x(4)),
    op("batch_norm.training", lambda a, w, b: F.batch_norm(a, None, None, w, b, training=True), x(4, 3, 5), x(3), x(3)),
    # Squares of means beyond float32: NaN where PyTorch has it, zeros in rows that are not whole vectors.
    op("norms.huge", lambda a: (F.layer_norm(a, (64,)), F.layer_norm(a[:, :5], (5,)), F.layer_norm(a[:, :60].contiguous(), (60,)),
                                F.group_norm(a.view(4, 4, 16), 2)), x(4, 64, low=1e30, high=1e31)),
    op("layer_norm", lambda a, w, b: F.layer_norm(a, (4, 5), w, b), x(3, 4, 5), x(4, 5), x(4, 5)),
    op("layer_norm.offset", lambda a: F.layer_norm(a, (64,)), x(3, 64, low=1000, high=1001), tolerance=(1e-3, 1e-3)),
    # Where the square of a mean overflows, the variance is no number: of the mean of a part of the row, or of all of it.
    *(op(f"layer_norm.huge.{len(sizes)}.{dtype}", lambda a, sizes=sizes: F.layer_norm(a, sizes), x(90, *sizes, dtype=dtype, low=-3e20, high=3e20))
      for sizes in ((5,), (6, 12), (4, 3, 10), (1, 1, 1, 64)) for dtype in (torch.float32, torch.bfloat16)),
    op("group_norm.huge", lambda a: F.group_norm(a, 2), x(9, 4, 6, 6, low=-3e20, high=3e20), of_these_sizes=True),
    op("layer_norm.bf16", lambda a: F.layer_norm(a, (64,)), x(3, 64, dtype=torch.bfloat16)),
    op("group_norm", lambda a, w, b: F.group_norm(a, 2, w, b), x(2, 4, 3, 3), x(4), x(4)),
    op("instance_norm.statistics", instance_norm_with_statistics, x(2, 4, 5), x(4), x(4, low=0.5)),
    op("instance_norm", lambda a, w: F.instance_norm(a, weight=w), x(2, 4, 5), x(4)),
    op("rms_norm", lambda a, w: F.rms_norm(a, (8,), w), x(3, 8), x(8)),
    op("rms_norm.bf16", lambda a: F.rms_norm(a, (8,)), x(3, 8, dtype=torch.bfloat16, low=-0.01, high=0.01)),
    op("rms_norm.half", lambda a: F.rms_norm(a, (8,)), x(3, 8, dtype=torch.float16, low=-0.01, high=0.01)),
    op("local_response_norm", lambda a: F.local_response_norm(a, 3), x(2, 5, 4, 4)),
]

convolution = [
    op("conv1d", lambda a, w, b: F.conv1d(a, w, b, padding=1), x(2, 3, 9), x(4, 3, 3), x(4)),
    op("conv2d", lambda a, w, b: F.conv2d(a, w, b, stride=2, padding=1), x(2, 3, 8, 9), x(4, 3, 3, 3), x(4)),
    op("conv2d.dilated", lambda a, w: F.conv2d(a, w, dilation=(2, 1)), x(1, 3, 9, 9), x(4, 3, 3, 3)),
    op("conv2d.grouped", lambda a, w: F.conv2d(a, w, groups=2), x(1, 4, 6, 6), x(6, 2, 3, 3)),
    op("conv2d.depthwise", lambda a, w: F.conv2d(a, w, groups=4, padding=1), x(1, 4, 6, 6), x(4, 1, 3, 3)),
    *(op(f"conv2d.narrow.{c}.{c // g}.{kernel}", Convolved(c, c, kernel // 2, kernel, groups=g, stride=s), x(2, c, 5, w))
      for c, g, kernel, s, w in ((40, 40, 3, 1, 9), (40, 20, 3, 2, 9), (24, 6, 5, 1, 8), (272, 272, 9, 1, 61))),  # the last in blocks of channels
    *(op(f"conv2d.narrow.computed.{c // g}", lambda a, w, g=g: F.conv2d(a, torch.tanh(w), padding=1, groups=g), x(2, c, 5, 9), x(c, c // g, 3, 3))
      for c, g in ((40, 40), (40, 20))),
    op("conv2d.narrow.double", Convolved(20, 20, 1, groups=20, dtype=torch.float64), x(2, 20, 5, 9, dtype=torch.float64)),
    op("conv2d.narrow.bf16", Convolved(40, 40, 1, groups=40, dtype=torch.bfloat16), x(2, 40, 5, 9, dtype=torch.bfloat16)),
    op("conv2d.same", lambda a, w: F.conv2d(a, w, padding="same"), x(1, 3, 6, 6), x(4, 3, 4, 3)),
    *(op(f"conv2d.bf16.{name}", lambda a, w, n=n: F.conv2d(a, w, -F.conv2d(a, w, groups=n).flatten(), groups=n),
         x(1, 4, 3, 3, dtype=torch.bfloat16), x(8, 4 // n, 3, 3, dtype=torch.bfloat16)) for name, n in (("bias", 1), ("grouped", 2))),
    *(op(f"conv2d.bf16.{i}.{o}.{g}", lambda a, w, g=g, s=s: F.conv2d(a, w, padding=1, groups=g, stride=s),
         x(2, i, 9, 11, dtype=torch.bfloat16), x(o, i // g, 3, 3, dtype=torch.bfloat16))
      for i, o, g, s in ((3, 40, 1, 2), (32, 33, 1, 1), (10, 6, 2, 1), (4, 8, 4, 1))),
    *(op(f"conv2d.bf16.weights.{i}.{o}.{g}", Convolved(i, o, 1, groups=g, dtype=torch.bfloat16), x(1, i, 9, 17, dtype=torch.bfloat16))
      for i, o, g in ((3, 40, 1), (32, 33, 1), (10, 6, 2))),
    op("conv2d.int", lambda a, w, b: F.conv2d(a, w, b, stride=2, padding=1, groups=2), ints(1, 4, 6, 7), ints(6, 2, 3, 3), ints(6)),
    op("conv_transpose2d.int", lambda a, w: F.conv_transpose2d(a, w, stride=2), ints(1, 3, 4, 4), ints(3, 2, 3, 3)),
    op("conv2d.unbatched", lambda a, w: F.conv2d(a, w), x(3, 6, 6), x(4, 3, 3, 3)),
    op("conv3d", lambda a, w: F.conv3d(a, w), x(1, 2, 4, 5, 5), x(3, 2, 2, 3, 3)),
    op("conv_transpose1d", lambda a, w, b: F.conv_transpose1d(a, w, b, stride=2), x(2, 3, 5), x(3, 4, 3), x(4)),
    op("conv_transpose2d", lambda a, w: F.conv_transpose2d(a, w, stride=2, padding=1, output_padding=1), x(1, 4, 5, 5), x(4, 3, 3, 3)),
    op("conv_transpose2d.grouped", lambda a, w: F.conv_transpose2d(a, w, groups=2), x(1, 4, 5, 5), x(4, 3, 3, 3)),
    op("unfold_fold", lambda a: F.fold(F.unfold(a, 3, padding=1, stride=2), (6, 6), 3, padding=1, stride=2), x(2, 3, 6, 6)),
    *(op(f"conv2d.weights.{i}.{o}.{h}x{w}.{p}", Convolved(i, o, p), x(n, i, h, w), tolerance=(1e-4, 1e-4))
      for n, i, o, h, w, p in ((1, 64, 64, 28, 28, 1), (2, 32, 48, 13, 17, 1), (1, 64, 32, 9, 9, 0), (1, 96, 80, 15, 30, 2))),
    *(op(f"conv2d.first.{o}", Convolved(3, o, 1, stride=2), x(1, 3, 70, 67), tolerance=(1e-4, 1e-4)) for o in (32, 40, 64)),
    op("conv2d.dynamic", lambda a, w: F.conv2d(a, w, padding=1, stride=2), x(1, 3, 8, 8), x(4, 3, 3, 3),
       dynamic=({2: H}, None), other=(x(1, 3, 13, 8), x(4, 3, 3, 3))),
    # The graph's guards say how many channels there are, its type of the input does not.
    op("conv1d.open_channels", lambda a, w, u, g: [f(F.avg_pool1d(a, 3, 2).mT) for f in (
        lambda b: F.conv1d(b, w), lambda b: F.conv_transpose1d(b, u), lambda b: F.conv1d(b, g, groups=5))],
       x(2, 3, 11), x(6, 5, 3), x(5, 6, 3), x(5, 1, 3), dynamic=({2: torch.export.Dim.AUTO}, None, None, None)),
    op("conv1d.few_outputs", lambda a, w: F.conv1d(a, w, padding=3, dilation=2), x(2, 32, 30), x(3, 32, 5), tolerance=(1e-4, 1e-4)),
    *(op(f"conv2d.few_outputs.{o}", lambda a, w, s=s, d=d: F.conv2d(a, w, padding=2, stride=s, dilation=d), x(n, i, h, width),
         x(o, i, k, k), tolerance=(1e-4, 1e-4))
      for n, i, h, width, o, k, s, d in ((2, 16, 11, 40, 1, 3, 2, 1), (1, 48, 6, 70, 4, 3, 1, 2), (1, 64, 9, 21, 3, 5, 1, 1))),
    op("conv2d.few_outputs.weights", Convolved(32, 2, 1), x(1, 32, 9, 17), tolerance=(1e-4, 1e-4)),
    op("conv3d.few_outputs", lambda a, w: F.conv3d(a, w), x(1, 16, 4, 5, 9), x(2, 16, 2, 3, 3), tolerance=(1e-4, 1e-4)),
    op("conv2d.few_outputs.dynamic", lambda a, w: F.conv2d(a, w, padding=1), x(1, 32, 4, 8), x(3, 32, 3, 3),
       dynamic=({3: H}, None), other=(x(1, 32, 4, 33), x(3, 32, 3, 3)), tolerance=(1e-4, 1e-4)),
]  # fmt: skip

pooling = [
    op("max_pool2d", lambda a: F.max_pool2d(a, 3, 2, 1), x(2, 3, 8, 9)),
    op("max_pool2d.indices", lambda a: F.max_pool2d(a, 2, return_indices=True), x(2, 3, 8, 8)),
    op("max_pool2d.all_excluded", lambda a: F.max_pool2d(a.masked_fill(a < 2, -torch.inf), 3, 2, 1, return_indices=True), x(2, 3, 8, 8)),
    *(op(f"max_pool2d.nan.{'last' if last else 'planes'}", lambda a, last=last: (
          (b := a.masked_fill(a > 0, torch.nan).to(memory_format=torch.channels_last if last else torch.contiguous_format)),
          *F.max_pool2d(b, 3, 2, 1, return_indices=True), *F.adaptive_max_pool2d(b, (3, 2), return_indices=True),
          *F.adaptive_max_pool2d(b, (4, 5), return_indices=True), b.flatten(2).max(2)[1], b.argmax(1))[1:], x(2, 19, 8, 9))
      for last in (False, True)),
    op("max_pool3d.nan", lambda a: F.max_pool3d(a.masked_fill(a > 0, torch.nan), 2, return_indices=True), x(1, 2, 4, 4, 9)),
    op("fractional_max_pool2d.nan", lambda a, u: torch.ops.aten.fractional_max_pool2d(a.masked_fill(a > 0, torch.nan), (2, 3), (4, 3), u), x(2, 3, 9, 10), x(2, 3, 2, low=0, high=1)),
    op("max_pool2d.ceil", lambda a: F.max_pool2d(a, 3, 2, ceil_mode=True), x(1, 2, 8, 8)),
    op("max_pool1d", lambda a: F.max_pool1d(a, 3, 2), x(2, 3, 9)),
    op("max_pool3d", lambda a: F.max_pool3d(a, 2), x(1, 2, 4, 4, 4)),
    op("avg_pool2d", lambda a: F.avg_pool2d(a, 3, 2, 1), x(2, 3, 8, 9)),
    op("avg_pool2d.inside", lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), x(2, 3, 8, 9)),
    op("avg_pool2d.ceil", lambda a: F.avg_pool2d(a, 3, 2, 1, ceil_mode=True), x(1, 2, 8, 8)),
    op("avg_pool1d", lambda a: F.avg_pool1d(a, 2), x(2, 3, 9)),
    op("adaptive_avg_pool2d.one", lambda a: F.adaptive_avg_pool2d(a, 1), x(2, 3, 8, 9)),
    op("adaptive_avg_pool2d.even", lambda a: F.adaptive_avg_pool2d(a, (4, 3)), x(2, 3, 8, 9)),
    op("adaptive_avg_pool2d.uneven", lambda a: F.adaptive_avg_pool2d(a, (3, 5)), x(2, 3, 8, 9)),
    op("adaptive_avg_pool2d.none", lambda a: F.adaptive_avg_pool2d(a, (0, 3)), x(2, 3, 8, 9)),
    *(op(f"adaptive_pool2d.rows.{out}", lambda a, out=out: (F.adaptive_avg_pool2d(a, (out, 3)), *F.adaptive_max_pool2d(a, (out, 3), return_indices=True)),
         x(2, 3, 8, 8), dynamic=({2: H},), other=(x(2, 3, 11, 8),)) for out in (3, 5, 13)),
    op("interpolate.area.scale", lambda a: F.interpolate(a, scale_factor=1.5, mode="area"), x(2, 3, 8, 8),
       dynamic=({2: H, 3: W},), other=(x(2, 3, 11, 5),)),
    op("adaptive_max_pool2d", lambda a: F.adaptive_max_pool2d(a, (4, 3)), x(2, 3, 8, 9)),
    op("adaptive_max_pool1d.uneven", lambda a: F.adaptive_max_pool1d(a, 4), x(2, 3, 9)),
    op("adaptive_max_pool2d.indices", lambda a: F.adaptive_max_pool2d(a, (3, 5), return_indices=True), x(2, 3, 8, 9)),
    op("adaptive_max_pool3d.indices", lambda a: F.adaptive_max_pool3d(a, (2, 3, 2), return_indices=True), x(2, 4, 5, 3)),
    op("fractional_max_pool2d", lambda a, u: torch.ops.aten.fractional_max_pool2d(a, (2, 3), (4, 3), u), x(2, 3, 9, 10), x(2, 3, 2, low=0, high=1)),
    op("fractional_max_pool3d", lambda a, u: torch.ops.aten.fractional_max_pool3d(a, (2, 2, 2), (3, 2, 3), u), x(2, 3, 6, 5, 7), x(2, 3, 3, low=0, high=1)),
    op("max_pool2d.backward", lambda g, a: torch.ops.aten.max_pool2d_with_indices_backward(
        g, a, [3, 3], [2, 2], [1, 1], [1, 1], False, F.max_pool2d(a, 3, 2, 1, return_indices=True)[1]), x(2, 3, 4, 5), x(2, 3, 8, 9)),
    op("max_unpool3d", lambda a: F.max_unpool3d(*F.max_pool3d(a, 2, return_indices=True), 2), x(1, 2, 4, 4, 6)),
    op("max_unpool2d", lambda a: F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2), x(1, 2, 6, 6)),
]

resizing = [
    *(op(f"interpolate.{mode}.{size}", lambda a, mode=mode, size=size: F.interpolate(a, size, mode=mode), x(1, 2, 5, 6))
      for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area") for size in ((10, 12), (7, 4))),
    # The weights themselves: PyTorch rounds the place of a pixel once, after the subtraction.
    *(op(f"interpolate.weights.{str(dtype)[-2:]}", lambda a: (F.interpolate(a, scale_factor=1.5, mode="linear") * 2.0**52).long(),
         lambda r, dtype=dtype: torch.eye(24, dtype=dtype)[:, None])
      for dtype in (torch.float32, torch.float64)),
    op("interpolate.aligned", lambda a: F.interpolate(a, (9, 7), mode="bilinear", align_corners=True), x(1, 2, 5, 6)),
    *(op(f"interpolate.f64.{mode}.{anti}", lambda a, mode=mode, anti=anti: F.interpolate(a, (7, 9), mode=mode, antialias=anti),
         x(1, 2, 5, 6, dtype=torch.float64)) for mode in ("bilinear", "bicubic") for anti in (False, True)),
    op("interpolate.bicubic.bf16", lambda a: F.interpolate(a, (7, 10), mode="bicubic"), x(1, 2, 5, 6, dtype=torch.bfloat16)),
    op("interpolate.factor", lambda a: F.interpolate(a, scale_factor=2.5, mode="bilinear"), x(1, 2, 5, 6)),
    op("interpolate.linear", lambda a: F.interpolate(a, 9, mode="linear"), x(1, 2, 5)),
    *(op(f"interpolate.{mode}.{dtype}", lambda a, mode=mode: F.interpolate(a, scale_factor=1.75, mode=mode), x(*sizes, dtype=dtype))
      for mode, sizes in (("linear", (2, 9, 20)), ("trilinear", (1, 3, 4, 6, 5))) for dtype in (torch.bfloat16, torch.float16)),
    op("interpolate.trilinear", lambda a: F.interpolate(a, (3, 5, 4), mode="trilinear"), x(1, 2, 4, 4, 4)),
    op("interpolate.dynamic", lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), x(1, 2, 8, 6),
       dynamic=({2: H},), other=(x(1, 2, 5, 6),)),
    *(op(f"grid_sample.{mode}.{pad}", lambda a, g, mode=mode, pad=pad:
         F.grid_sample(a, g, mode=mode, padding_mode=pad, align_corners=False), x(1, 2, 5, 6), x(1, 4, 4, 2, low=-1.3, high=1.3))
      for mode in ("bilinear", "nearest", "bicubic") for pad in ("zeros", "border", "reflection")),
    *(op(f"grid_sample.f16.{mode}.{len(size)}d", lambda a, g, mode=mode: F.grid_sample(a, g, mode=mode, align_corners=False),
         x(1, 2, *size, dtype=torch.float16), x(1, *size, len(size), low=-1.3, high=1.3, dtype=torch.float16))
      for mode, size in (("bilinear", (5, 6)), ("bicubic", (5, 6)), ("bilinear", (3, 4, 5)))),
    *(op(f"grid_sample.3d.{mode}.{pad}", lambda a, g, mode=mode, pad=pad:
         F.grid_sample(a, g, mode=mode, padding_mode=pad, align_corners=True), x(2, 3, 4, 5, 6), x(2, 3, 4, 2, 3, low=-1.3, high=1.3))
      for mode in ("bilinear", "nearest") for pad in ("zeros", "border", "reflection")),
    *(op(f"interpolate.antialias.{mode}.{align}.{'x'.join(map(str, size))}", lambda a, mode=mode, align=align, size=size:
         F.interpolate(a, size, mode=mode, align_corners=align, antialias=True), x(2, 3, 12, 9))
      for mode in ("bilinear", "bicubic") for align in (True, False) for size in ((5, 4), (20, 11), (7, 20))),
    op("affine_grid.3d", lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=False), x(2, 3, 4)),
    op("affine_grid", lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=True), x(2, 2, 3)),
]  # fmt: skip

recurrence = [
    op("lstm", Recurrent(torch.nn.LSTM, num_layers=2, batch_first=True), x(3, 4, 5)),
    op("lstm.bidirectional", Recurrent(torch.nn.LSTM, bidirectional=True), x(4, 3, 5)),
    op("lstm.last_state", LastState(torch.nn.LSTM, num_layers=2, bidirectional=True), x(4, 3, 5)),
    op("gru.last_state", LastState(torch.nn.GRU, num_layers=2), x(4, 3, 5)),
    # Too many steps to write them out. (torch.export does not leave their number open.)
    op("lstm.long", Recurrent(torch.nn.LSTM, num_layers=2, bidirectional=True), x(400, 2, 5)),
    op("lstm.long.projected", Recurrent(torch.nn.LSTM, proj_size=3, batch_first=True), x(2, 300, 5)),
    op("lstm.long.last_state", LastState(torch.nn.LSTM, num_layers=2), x(300, 3, 5)),
    op("lstm.long.half", Recurrent(torch.nn.LSTM, dtype=torch.bfloat16), x(300, 3, 5, dtype=torch.bfloat16), tolerance=(0.02, 0.02)),
    op("gru.long", Recurrent(torch.nn.GRU, bias=False), x(400, 5)),
    op("rnn.long", Recurrent(torch.nn.RNN, nonlinearity="relu"), x(300, 2, 5)),
    op("lstm.projected", Recurrent(torch.nn.LSTM, proj_size=3), x(4, 3, 5)),
    op("gru", Recurrent(torch.nn.GRU, num_layers=2), x(4, 3, 5)),
    op("rnn", Recurrent(torch.nn.RNN, nonlinearity="relu"), x(4, 3, 5)),
]

ROWS = [*normalization, *convolution, *pooling, *resizing, *recurrence]

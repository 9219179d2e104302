"""Small networks, one for each fact that an end-to-end compile must get right."""

import torch
from torch import nn
from torch.export import Dim

from harness import Case, main

F = nn.functional


class Turned(nn.Module):
    """Two dimensions exchanged."""

    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.transpose(*self.dims)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Attention(nn.Module):
    def __init__(self, width=32, heads=4, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width=32):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, causal=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Counter(nn.Module):
    """Keeps state from call to call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


def conv_net():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.Hardswish(),
        nn.Conv2d(16, 24, 1), nn.BatchNorm2d(24), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10),
    ).eval()  # fmt: skip


class Branches(nn.Module):
    """A sum of convolutions of one tensor and of the tensor itself, each normalized."""

    def __init__(self, width, groups):
        super().__init__()
        kernels = {(5, 3): (2, 1), (1, 1): (0, 0), (3, 1): (1, 0)}
        self.convolutions = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, k, padding=p, groups=groups, bias=False), self.norm(width))
            for k, p in kernels.items()
        )
        self.identity = self.norm(width)

    @staticmethod
    def norm(width):
        norm = nn.BatchNorm2d(width)
        for tensor in (norm.weight.data, norm.bias.data, norm.running_mean, norm.running_var):
            tensor.uniform_(0.5, 1.5)
        return norm

    def forward(self, x):
        return (self.identity(x) + sum(f(x) for f in self.convolutions)).relu()


class Frames(nn.Module):
    """A convolution over frames, with an epilogue that reads its place in each."""

    def __init__(self, channels, outputs, kernel, padding):
        super().__init__()
        self.convolution = nn.Conv3d(channels, outputs, kernel, padding=padding)

    def forward(self, x, residual):
        return (self.convolution(x) + residual).relu()


class Heads(nn.Module):
    """A layer of tokens whose heads' features lie apart, as attention leaves them."""

    def __init__(self, heads, features, outputs):
        super().__init__()
        self.layer = nn.Linear(heads * features, outputs)

    def forward(self, x):
        return self.layer(x.transpose(1, 2).flatten(2))


def with_pixel(x, value, *place):
    """A copy with one number of a pixel in its place."""
    x = x.clone()
    x[(1, 5, *place)] = value
    return x


def write_through_views(x, y):
    z = x.clone()
    z[1:].add_(y)
    z.view(-1)[::2] *= 3
    z[0, 0] = y.sum()
    return z, z.t().relu_()


def rnn_step(x, h, w, u):
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ w + h @ u)
    return h


def cases():
    torch.manual_seed(0)
    rows, columns = Dim("rows", min=1, max=4096), Dim("columns", min=1, max=4096)
    r = torch.randn
    yield Case("sin_cos", Function(lambda x: x.sin().cos()), (r(5, 7),), [({0: rows, 1: columns},)],
               [(r(1, 1),), (r(7, 13),), (r(1000, 1003),)], kernels=1)
    yield Case("promotion", Function(lambda a, b: (a + b, a * 2.5, a // 3, a / 2, a > b)),
               (torch.arange(-6, 6), torch.arange(12, dtype=torch.int32)))
    yield Case("broadcast", Function(lambda a, b: torch.where(a > b, a, b.expand(4, 5)) + a[:, :1]), (r(4, 5), r(5)))
    yield Case("softmax", Function(lambda x: (x.softmax(-1), x.log_softmax(0))), (r(6, 33),), [({0: rows},)],
               [(r(1, 33),), (r(77, 33),)])
    yield Case("reductions", Function(lambda x: (x.sum(0), x.mean((0, 1)), x.amax(1), x.var(1), x.argmax(0), x.prod(1))),
               (r(9, 10),))
    yield Case("layer_norm", nn.LayerNorm(48), (r(3, 5, 48),), ({0: rows},), [(r(1, 5, 48),), (r(8, 5, 48),)])
    yield Case("cat_slice_pad", Function(lambda a, b: F.pad(torch.cat([a[:, 1:], b, a[:, :2]], 1), (1, 2), value=3.0)),
               (r(4, 6), r(4, 3)))
    yield Case("views", Function(lambda x: x.permute(2, 0, 1).reshape(4, -1)[:, ::3].flip(1).contiguous()), (r(2, 6, 4),))
    yield Case("mutation", Function(write_through_views), (r(4, 4), r(3, 4)))
    yield Case("state", Counter(), (r(3),))
    yield Case("gather_scatter", Function(lambda x, i: (x.gather(1, i), x.scatter_add(1, i, x), x[:, i[0]], x.index_select(0, i[0]))),
               (r(5, 5), torch.randint(0, 5, (5, 5))))
    yield Case("embedding", nn.Embedding(50, 16), (torch.randint(0, 50, (3, 7)),), ({1: columns},),
               [(torch.randint(0, 50, (3, 1)),), (torch.randint(0, 50, (3, 64)),)])
    yield Case("linear", nn.Linear(37, 19), (r(11, 37),), ({0: rows},), [(r(1, 37),), (r(130, 37),)])
    yield Case("matmul", Function(lambda a, b: (a @ b, torch.einsum("bij,bkj->bik", a, a))), (r(3, 17, 9), r(9, 21)))
    yield Case("mlp", nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 8), nn.Sigmoid()), (r(6, 20),))
    yield Case("conv_net", conv_net(), (r(2, 3, 18, 18),), ({0: rows},), [(r(1, 3, 18, 18),), (r(5, 3, 18, 18),)])
    for groups in (1, 4, 12):
        yield Case(f"branches, {groups} groups", Branches(12, groups).eval(), (r(2, 12, 7, 9),), ({0: rows},),
                   [(r(1, 12, 7, 9),)])
    # Groups of a few channels share vectors, the last of which is not whole; pixels beyond the edges; any width.
    for width, channels in [(2, 22), (4, 36), (8, 40), (4, 4)]:
        groups = channels // width
        net = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, groups=groups), nn.ReLU(),
                            nn.Conv2d(channels, channels, 3, stride=2, padding=2, dilation=2, groups=groups))  # fmt: skip
        yield Case(f"groups of {width}", net, (r(2, channels, 9, 21),), ({3: Dim("width", min=4, max=4096)},),
                   [(r(2, channels, 9, 4),), (r(2, channels, 9, 50),)])
    bottleneck = nn.Sequential(nn.Conv2d(24, 96, 1), nn.ReLU(), nn.Conv2d(96, 96, 3, padding=1, groups=24))
    yield Case("product and groups", bottleneck, (r(1, 24, 60, 60),),
               algorithm="packed GEMM and grouped convolution, band by band")
    for kernel, padding, size, m in [((3, 3, 3), (1, 1, 1), (5, 13, 18), 4), ((3, 3, 3), (1, 1, 1), (3, 6, 6), 2),
                                     ((1, 3, 3), (0, 1, 0), (5, 13, 18), 4), ((4, 3, 3), (3, 0, 1), (2, 13, 18), 4)]:  # fmt: skip
        # Of channels that are whole vectors, and of others.
        channels, outputs = (36, 52) if kernel[0] != 3 else (32, 48)
        net, x = Frames(channels, outputs, kernel, padding), r(2, channels, *size)
        yield Case(f"frames of {size}, {kernel}", net, (x, r(net.convolution(x).shape)), tolerance=1e-4,
                   algorithm=f"winograd F({m}x{m}, 3x3)")
    # A pixel that is large or not finite reaches no output that does not see it.
    for size, m in [((15, 18), 4), ((6, 6), 2), ((2, 15, 15), 4)]:
        layer = (nn.Conv2d, nn.Conv3d)[len(size) - 2](40, 56, 3, padding=1)
        x, frame = r(2, 40, *size), (1,) * (len(size) - 2)
        pixels = [(1e3, 5, 3), (1e5, 0, 5), (1e10, 3, 4), (3e38, 5, 5), (-float("inf"), 2, 0), (float("nan"), 1, 1)]
        others = [(with_pixel(x, value, *frame, *place),) for value, *place in pixels]
        yield Case(f"pixels of {size}", nn.Sequential(layer, nn.ReLU()), (x,), others=others,
                   algorithm=f"winograd F({m}x{m}, 3x3)")
    wide = nn.Sequential(nn.Conv2d(32, 32, 3, padding=(2, 1)), nn.ReLU())
    yield Case("outputs that see padding", wide, (r(1, 32, 30, 30),), algorithm="direct")
    # Several tasks for each band of rows and for each block of an image.
    for channels, size in [(64, 56), (256, 14), (104, 15)]:
        yield Case(f"image of {size} x {size}", nn.Conv2d(channels, channels, 3, padding=1), (r(1, channels, size, size),),
                   tolerance=1e-4)
    for count, inputs, outputs in [(196, 1024, 256), (49, 520, 512), (127, 3072, 70)]:
        yield Case(f"linear, {count} rows", nn.Linear(inputs, outputs), (r(count, inputs),), tolerance=1e-4)
    mixed = Function(lambda s, w, v: torch.einsum("bhij,gh->bgij", s, w).softmax(-1) @ v)
    yield Case("mixed heads", mixed, (r(2, 4, 30, 70), r(6, 4), r(2, 6, 70, 8)), [({0: rows}, None, {0: rows})],
               [(r(1, 4, 30, 70), r(6, 4), r(1, 6, 70, 8))])
    yield Case("heads", Function(lambda a, w: torch.einsum("hmk,hkn->mn", a, w)), (r(6, 150, 64), r(6, 64, 96)), tolerance=1e-4)
    yield Case("conv_transpose", nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1), (r(1, 6, 7, 5),))
    # Rows that are not one stride apart are copied, by runs of k where these are heads; the last few are one tile.
    turned = nn.Sequential(Turned(0, 1), nn.Linear(40, 96), nn.Tanh())
    yield Case("rows of a turned tensor", turned, (r(9, 5, 40),), ({0: rows, 1: columns},),
               [(r(9, count, 40),) for count in (1, 2, 3, 4, 14)] + [(r(30, 7, 40),)], tolerance=1e-4)
    # Neighbours within a part of the rows are turned, in squares: of channels, whatever their number.
    for channels, tokens in [(40, 37), (19, 16), (64, 5)]:
        mixed = nn.Sequential(Turned(1, 2), nn.Linear(tokens, 70), nn.GELU(), Turned(1, 2))
        yield Case(f"tokens of {channels} channels", mixed, (r(3, tokens, channels),), ({0: rows},),
                   [(r(count, tokens, channels),) for count in (1, 2, 11)], tolerance=1e-4)
        yield Case(f"tokens of {channels} channels, known", mixed, (r(3, tokens, channels),), tolerance=1e-4)
    yield Case("tokens of open channels", nn.Sequential(Turned(1, 2), nn.Linear(24, 70)), (r(3, 24, 20),), ({0: rows, 2: columns},),
               [(r(2, 24, count),) for count in (1, 3, 16, 17, 50)], tolerance=1e-4)
    heads = nn.Sequential(Turned(1, 2), nn.Flatten(2), nn.Linear(4 * 24, 70))
    yield Case("rows of heads", heads, (r(2, 4, 11, 24),), ({0: rows, 2: columns},), [(r(1, 4, 1, 24),), (r(3, 4, 13, 24),)], tolerance=1e-4)
    # Sizes that calls tell, by minimal filtering and with few tiles directly; tiles are runs of pixels over rows and images.
    height, width = Dim("height", min=3, max=512), Dim("width", min=3, max=512)
    sizes = [(3, 3), (3, 4), (4, 5), (7, 7), (9, 3), (12, 10), (40, 33)]
    for channels, outputs, kernel, stride, pad, algorithm in [(64, 48, 3, 1, 1, "winograd F(4x4, 3x3)"), (256, 70, 3, 1, 1, "winograd F(4x4, 3x3)"),
                                                              (20, 40, 3, 2, 1, "direct"), (3, 40, 7, 2, 3, "direct"), (24, 40, 5, 1, 2, "direct"),
                                                              (512, 240, 3, 1, 1, "winograd F(2x2, 3x3)")]:
        net = nn.Sequential(nn.Conv2d(channels, outputs, kernel, stride, pad), nn.ReLU())
        yield Case(f"open image, {channels} channels, {kernel}x{kernel}", net, (r(2, channels, 19, 22),), ({0: rows, 2: height, 3: width},),
                   [(r(1 + i % 3, channels, *size),) for i, size in enumerate(sizes)], algorithm=algorithm, tolerance=1e-4)
    yield Case("open frames", nn.Conv3d(40, 48, 3, padding=1), (r(2, 40, 3, 9, 10),), ({0: rows, 2: columns, 4: width},),
               [(r(1, 40, 1, 9, 3),), (r(3, 40, 4, 9, 7),)], algorithm="winograd F(4x4, 3x3)", tolerance=1e-4)
    # Where channels come first, what lies under the kernel of a pixel near a border is copied.
    for dims, layer, size, others in [
        ({0: rows, 2: columns}, nn.Conv1d(2, 24, 9, dilation=2, padding=8), (3, 2, 40), [(1, 2, 1), (2, 2, 7), (4, 2, 61)]),
        ({0: rows, 3: height, 4: width}, nn.Conv3d(3, 20, (3, 5, 9), (1, 2, 1), (1, 2, 4)), (2, 3, 4, 9, 12), [(1, 3, 4, 3, 3), (1, 3, 4, 12, 30)]),
        ({0: rows, 2: height, 3: width}, nn.Conv2d(4, 40, (4, 9), (1, 3), (3, 6), (2, 1)), (2, 4, 11, 12), [(1, 4, 7, 5), (3, 4, 20, 43)]),
    ]:
        yield Case(f"open image of few channels, {len(size) - 2} dimensions", layer, (r(*size),), (dims,), [(r(*other),) for other in others], tolerance=1e-4)
    for outputs in (8, 12, 24, 40):
        yield Case(f"minimal filtering to {outputs} channels", nn.Sequential(nn.Conv2d(48, outputs, 3, padding=1), nn.Hardswish()), (r(1, 48, 30, 33),),
                   algorithm="winograd F(4x4, 3x3)", tolerance=1e-4)
    # At the border most pixels see other taps; those that all see are a loop.
    yield Case("long kernel", nn.Conv2d(4, 24, (2, 39), padding="same"), (r(1, 4, 5, 70),))
    yield Case("long kernel, strided", nn.Conv1d(6, 24, 25, stride=2, padding=12), (r(2, 6, 61),))
    yield Case("conv1d", nn.Conv1d(4, 8, 5, dilation=2, padding=3), (r(2, 4, 30),))
    yield Case("pooling", Function(lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3))),
               (r(2, 3, 11, 11),))
    yield Case("batch_norm_training", nn.BatchNorm2d(5), (r(4, 5, 6, 6),))
    yield Case("attention", Attention(), (r(2, 12, 32),))
    yield Case("transformer", Block().eval(), (r(2, 10, 32),), ({1: columns},), [(r(2, 1, 32),), (r(2, 65, 32),)])
    yield Case("lstm", nn.LSTM(12, 16, batch_first=True), (r(2, 5, 12),), replayed=True)
    yield Case("recurrence", Function(rnn_step), (r(6, 2, 8), r(2, 4), r(8, 4), r(4, 4)))
    yield Case("cumsum_sort", Function(lambda x: (x.cumsum(1), x.sort(1).values, x.topk(3, 1).values)), (r(4, 17),))
    yield Case("integers", Function(lambda a: (a & 7, a << 2, ~a, a.clamp(-3, 5), (a % 5).to(torch.float32))),
               (torch.arange(-20, 20),))
    yield Case("special", Function(lambda x: (x.exp(), x.log(), x.tanh(), x.erf(), x.sqrt(), x.sigmoid(), x.pow(3.0), x.expm1())),
               (torch.cat([r(40) * 5, torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 88.7, -104.0])]),))
    yield Case("bfloat16", nn.Linear(32, 16, dtype=torch.bfloat16), (r(8, 32).bfloat16(),), tolerance=2e-2)
    yield Case("float64", nn.Linear(32, 16, dtype=torch.float64), (r(8, 32, dtype=torch.float64),), tolerance=1e-12)
    yield Case("complex_outputs", Function(lambda x: {"twice": x * 2, "pair": (x, x.sum())}), (r(3),))
    yield Case("scalar_input", Function(lambda x: x * 2 + 1), (torch.tensor(3.0),))
    yield Case("empty", Function(lambda x: (x.sum(), x.relu(), torch.cat([x, x]))), (torch.zeros(0, 3),))
    yield Case("upsample", Function(lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest")), (r(1, 2, 4, 5),))
    yield Case("product and groups of any number of images", bottleneck, (r(2, 24, 60, 60),), ({0: rows},),
               [(r(1, 24, 60, 60),), (r(5, 24, 60, 60),)],
               algorithm="packed GEMM and grouped convolution, band by band")
    # Tiles of pixels at the borders of rows, which are short, long, and shorter than the kernel.
    for options in ({"padding": (2, 4)}, {"padding": 3, "stride": 2}, {"padding": 4, "dilation": 3}):
        net = nn.Sequential(nn.Conv2d(20, 24, 5, **options), nn.ReLU(), nn.Conv2d(24, 40, (1, 9), padding=(0, 4)))
        height, width = Dim("height", min=7, max=512), Dim("width", min=7, max=512)
        yield Case(f"borders of rows, {options}", net, (r(2, 20, 13, 40),), ({2: height, 3: width},),
                   [(r(2, 20, 7, 7),), (r(2, 20, 9, 33),), (r(2, 20, 24, 96),)])
    # Heads side by side: each task copies its rows, the last one those left over, too.
    tokens = Dim("tokens", min=2, max=4096)
    yield Case("heads of any number of tokens", Heads(12, 64, 256), (r(2, 12, 133, 64),), ({2: tokens},),
               [(r(2, 12, n, 64),) for n in (2, 7, 39, 135, 181)])
    # Channels that lie side by side are turned into rows of any length.
    length = Dim("length", min=2, max=16000)
    yield Case("turned pixels", nn.Conv1d(32, 64, 1), (r(2, 32, 100),), ({2: length},),
               [(r(2, 32, n),) for n in (2, 31, 32, 33, 512)])


if __name__ == "__main__":
    main(list(cases()))

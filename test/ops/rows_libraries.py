"""Operators of detection models, which are torchvision's, and of quantized ones."""

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 (defines quantized_decomposed)
import torchvision
from harness import Make, ints, op, x

Q = torch.ops.quantized_decomposed
V = torchvision.ops
N = torch.export.Dim("n", min=2, max=300)
BYTE = (-128, 127, torch.int8)


def boxes(count: int, side: float = 20, images: int = 0, dtype: torch.dtype = torch.float32) -> Make:
    """Two corners each; with IMAGES the number of an image before them. Some hang over the edges, some are empty."""

    def make(random: torch.Generator) -> torch.Tensor:
        first = torch.rand(count, 2, generator=random, dtype=torch.float64) * side - 1
        corners = [first, first + torch.rand(count, 2, generator=random, dtype=torch.float64) * side / 2]
        corners[1][::7] = corners[0][::7]
        number = torch.randint(0, images, (count, 1), generator=random) if images else torch.empty(count, 0)
        return torch.cat([number, *corners], 1).to(dtype)

    return make


def bytes_of(*shape: int, dtype: torch.dtype = torch.int8) -> Make:
    return ints(*shape, low=0 if dtype == torch.uint8 else -128, high=128, dtype=dtype)


# Rows of these sizes alone: elements that become the number of an image, groups of channels or of columns.
detection = [
    op("torchvision.nms", lambda a, s: V.nms(a, s, 0.5), boxes(60), x(60)),
    op("torchvision.nms.equal", lambda a, s: V.nms(a, s.to(torch.float32), 0.1), boxes(40, 6), ints(40, low=0, high=4)),
    # The part that both cover is 0.1 as float32, which is more than the threshold: more than a tenth.
    op("torchvision.nms.threshold", lambda a: V.nms(a + torch.tensor([[0.0, 0, 1, 10], [0, 0, 1, 1]]), torch.tensor([2.0, 1.0]), 0.1), x(1, 4, low=0, high=0)),
    op("torchvision.nms.double", lambda a, s: V.nms(a, s, 0.3), boxes(30, dtype=torch.float64), x(30, dtype=torch.float64)),
    op("torchvision.nms.dynamic", lambda a, s: a[V.nms(a, s, 0.4)], boxes(50), x(50), dynamic=({0: N}, {0: N}), other=(boxes(7), x(7))),
    op("torchvision.batched_nms", lambda a, s, c: V.batched_nms(a, s, c, 0.4), boxes(50), x(50), ints(50, low=0, high=3)),
    op("torchvision.roi_align", lambda a, r: V.roi_align(a, r, 4, 1.0, 2, True), x(2, 3, 18, 16), boxes(9, images=2), of_these_sizes=True),
    op("torchvision.roi_align.scaled", lambda a, r: V.roi_align(a, r, (3, 2), 0.25, 3, False), x(2, 3, 9, 8), boxes(9, 40, images=2), of_these_sizes=True),
    op("torchvision.roi_align.dynamic", lambda a, r: V.roi_align(a, r, 2, 0.5, 1, True), x(2, 5, 9, 8), boxes(9, 12, images=2), dynamic=(None, {0: N}),
       other=(x(2, 5, 9, 8), boxes(23, 12, images=2))),
    op("torchvision.deform_conv2d", lambda a, o, w, m, b: V.deform_conv2d(a, o, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), mask=m),
       x(2, 4, 9, 8), x(2, 36, 5, 8), x(6, 4, 3, 3), x(2, 18, 5, 8, low=0, high=1), x(6), of_these_sizes=True),
    op("torchvision.deform_conv2d.grouped", lambda a, o, w: V.deform_conv2d(a, o, w), x(2, 4, 6, 7), x(2, 12, 5, 5), x(6, 2, 2, 3), of_these_sizes=True),
]

quantized = [
    op("quantize_per_tensor", lambda a: Q.quantize_per_tensor(a, 0.017, 3, *BYTE), x(5, 40)),
    op("quantize_per_tensor.uint8", lambda a: Q.quantize_per_tensor(a, 0.02, 128, 0, 255, torch.uint8), x(5, 40)),
    op("quantize_per_tensor.bf16", lambda a: Q.quantize_per_tensor(a, 0.02, 0, *BYTE), x(5, 40, dtype=torch.bfloat16)),
    op("quantize_per_tensor.tensor", lambda a, s, z: Q.quantize_per_tensor.tensor(a, s, z, *BYTE), x(5, 40), x(1, low=0.01, high=0.02), ints(1)),
    op("quantize_per_tensor.tensor2", lambda a, s, z: Q.quantize_per_tensor.tensor2(a, s, z, torch.tensor(-100), torch.tensor(90), torch.int8), x(5, 40),
       x(low=0.01, high=0.02, dtype=torch.float64), ints()),
    op("dequantize_per_tensor", lambda a: Q.dequantize_per_tensor(a, 0.017, 3, *BYTE), bytes_of(5, 40)),
    op("dequantize_per_tensor.uint8", lambda a: Q.dequantize_per_tensor(a, 0.3, 128, 0, 255, torch.uint8, out_dtype=torch.float32), bytes_of(5, 40, dtype=torch.uint8)),
    op("dequantize_per_tensor.tensor", lambda a, s, z: Q.dequantize_per_tensor.tensor(a, s, z, *BYTE), bytes_of(5, 40), x(1, low=0.01, high=0.02), ints(1)),
    op("quantize_per_channel", lambda a, s, z: Q.quantize_per_channel(a, s, z, 1, *BYTE), x(5, 8, 3), x(8, low=0.01, high=0.05), ints(8)),
    op("dequantize_per_channel", lambda a, s, z: Q.dequantize_per_channel(a, s, z, 0, *BYTE), bytes_of(8, 5), x(8, low=0.01, high=0.05), ints(8)),
    op("dequantize_per_channel.symmetric", lambda a, s: Q.dequantize_per_channel(a, s, None, -1, *BYTE), bytes_of(5, 8), x(8, low=0.01, high=0.05, dtype=torch.float64)),
    op("quantize_per_token", lambda a, s, z: Q.quantize_per_token(a, s, z, *BYTE), x(4, 5, 8), x(4, 5, 1, low=0.01, high=0.05), ints(4, 5, 1)),
    op("dequantize_per_token", lambda a, s, z: Q.dequantize_per_token(a, s, z, *BYTE, torch.float32), bytes_of(4, 5, 8), x(4, 5, 1, low=0.01, high=0.05, dtype=torch.float64),
       ints(4, 5, 1)),
    op("quantize_per_channel_group", lambda a, s, z: Q.quantize_per_channel_group(a, s, z, *BYTE, 16), x(6, 64), x(6, 4, low=0.01, high=0.05), ints(6, 4), of_these_sizes=True),
    op("dequantize_per_channel_group", lambda a, s, z: Q.dequantize_per_channel_group(a, s, z, *BYTE, 16, torch.float32), bytes_of(6, 64), x(6, 4, low=0.01, high=0.05), ints(6, 4), of_these_sizes=True),
    op("fake_quantize_per_tensor", lambda a: torch.fake_quantize_per_tensor_affine(a, 0.017, 3, -100, 100), x(5, 40)),
    op("fake_quantize_per_tensor.tensor", lambda a, s, z: torch.fake_quantize_per_tensor_affine(a, s, z, -100, 100), x(5, 40), x(1, low=0.01, high=0.02),
       ints(1, dtype=torch.int32)),
    op("fake_quantize_per_channel", lambda a, s, z: torch.fake_quantize_per_channel_affine(a, s, z, 1, -100, 100), x(5, 8, 3), x(8, low=0.01, high=0.02),
       ints(8, dtype=torch.int32)),
    op("int_mm", lambda a, b: torch._int_mm(a, b), bytes_of(20, 32), bytes_of(32, 16)),
    # PyTorch reads outside of memory where the depth is no multiple of its vectors.
    op("weight_int8pack_mm", lambda a, w, s: torch._weight_int8pack_mm(a, w, s), x(4, 32, dtype=torch.bfloat16), bytes_of(16, 32), x(16, low=0.01, high=0.02, dtype=torch.bfloat16), of_these_sizes=True),
    op("choose_qparams", lambda a: Q.choose_qparams.tensor(a, -128, 127, 1e-5, torch.int8), x(5, 40)),
    op("choose_qparams.positive", lambda a: Q.choose_qparams.tensor(a, 0, 255, 1e-5, torch.uint8), x(5, 40, low=1)),
    op("choose_qparams_symmetric", lambda a: Q.choose_qparams_symmetric.tensor(a, -127, 127, 1e-5, torch.int8), x(5, 40)),
    op("choose_qparams_per_token", lambda a: Q.choose_qparams_per_token(a, torch.int8), x(4, 5, 40)),
    op("choose_qparams_per_token_asymmetric", lambda a: Q.choose_qparams_per_token_asymmetric(a, torch.int8), x(4, 5, 40)),
]

ROWS = detection + quantized

"""Derivatives as operators of their own."""

import torch
from harness import ints, op, x

aten = torch.ops.aten
ALL = [True, True, True]
N, H, W = torch.export.Dim("n", min=2, max=64), torch.export.Dim.AUTO, torch.export.Dim.AUTO


def convolution(stride, padding, dilation, groups):
    rank = len(stride)
    return lambda g, a, w: aten.convolution_backward(
        g, a, w, [w.shape[0]], stride, padding, dilation, False, [0] * rank, groups, ALL
    )


def convolved(stride, padding, dilation, groups):
    """The derivatives of x where the result is its own gradient, whose size thus follows from x's."""
    derive = convolution(stride, padding, dilation, groups)
    return lambda a, w: derive(aten.convolution(a, w, None, stride, padding, dilation, False, [0, 0], groups), a, w)


def max_pool(a):
    y, places = torch.nn.functional.max_pool2d(a, 3, 2, 1, return_indices=True)
    return aten.max_pool2d_with_indices_backward(y, a, [3, 3], [2, 2], [1, 1], [1, 1], False, places)


def layer_norm(g, a, w, b):
    _, mean, inv_std = aten.native_layer_norm(a, [4, 5], w, b, 1e-5)
    return aten.native_layer_norm_backward(g, a, [4, 5], mean, inv_std, w, b, ALL)


def group_norm(g, a, w):
    _, mean, inv_std = aten.native_group_norm(a, w, None, 2, 6, 12, 3, 1e-5)
    return aten.native_group_norm_backward(g, a, mean, inv_std, w, 2, 6, 12, 3, ALL)


ROWS = [
    op("softmax_backward", lambda g, y: aten._softmax_backward_data(g, y, 1, torch.float32), x(4, 9), x(4, 9)),
    op("log_softmax_backward", lambda g, y: aten._log_softmax_backward_data(g, y, 1, torch.float32), x(4, 9), x(4, 9)),
    op("sigmoid_backward", aten.sigmoid_backward, x(33), x(33)),
    op("tanh_backward", aten.tanh_backward, x(33), x(33)),
    op("threshold_backward", lambda g, a: aten.threshold_backward(g, a, 0.5), x(33), x(33)),
    op("layer_norm_backward", layer_norm, x(2, 3, 4, 5), x(2, 3, 4, 5), x(4, 5), x(4, 5)),
    op("group_norm_backward", group_norm, x(2, 6, 3, 4), x(2, 6, 3, 4), x(6)),
    op("convolution_backward", convolution([1, 1], [1, 1], [1, 1], 1), x(2, 4, 6, 7), x(2, 3, 6, 7), x(4, 3, 3, 3)),
    op("convolution_backward.strided", convolution([2, 3], [1, 2], [2, 1], 1), x(2, 4, 4, 4), x(2, 3, 9, 9), x(4, 3, 3, 3)),
    op("convolution_backward.grouped", convolution([1, 2], [0, 1], [1, 1], 2), x(2, 6, 4, 3), x(2, 4, 6, 5), x(6, 2, 3, 3)),
    op("convolution_backward.1d", convolution([2], [1], [1], 1), x(2, 4, 5), x(2, 3, 9), x(4, 3, 3)),
    *(op(f"convolution_backward.{sizes}.{stride}.{groups}", convolved([stride] * 2, [1, 0], [1, 2], groups), x(2, 4, 9, 8), x(4, 4 // groups, 3, 2),
         dynamic=(dynamic, None), other=(x(*other), x(4, 4 // groups, 3, 2)))
      for sizes, dynamic, other in (("batch", {0: N}, (5, 4, 9, 8)), ("image", {2: H, 3: W}, (2, 4, 12, 7)))
      for stride, groups in ((1, 1), (2, 1), (3, 2), (1, 2), (3, 1))),
    op("max_pool2d_backward", max_pool, x(2, 3, 7, 8)),
    op("avg_pool2d_backward", lambda g, a: aten.avg_pool2d_backward(g, a, [3, 2], [2, 1], [1, 0], False, True, None), x(2, 3, 4, 7), x(2, 3, 7, 8)),
    op("avg_pool2d_backward.uncounted", lambda g, a: aten.avg_pool2d_backward(g, a, [3, 3], [2, 2], [1, 1], True, False, None), x(2, 3, 4, 5), x(2, 3, 7, 8)),
    op("avg_pool2d_backward.divisor", lambda g, a: aten.avg_pool2d_backward(g, a, [2, 2], [], [0, 0], False, True, 3), x(3, 3, 4), x(3, 7, 8)),
    op("adaptive_avg_pool2d_backward", aten._adaptive_avg_pool2d_backward, x(2, 3, 3, 5), x(2, 3, 7, 8)),
    op("embedding_dense_backward", lambda g, i: aten.embedding_dense_backward(g, i, 6, 2, False), x(3, 4, 5), ints(3, 4, low=0, high=6)),
    op("embedding_dense_backward.frequency", lambda g, i: aten.embedding_dense_backward(g, i, 6, -1, True), x(9, 5), ints(9, low=0, high=6)),
]  # fmt: skip

"""The example of PyTorch's own documentation."""

import torch


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


torch.manual_seed(0)
example_inputs = (torch.randn(10), torch.randn(10))

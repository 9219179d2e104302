"""Models that write to a container of Python's which Dynamo may not look into."""

import torch
from torch import nn


class Registry:
    def __init__(self):
        self.seen = {}

    @torch._dynamo.disable
    def record(self, name, value):
        self.seen[name] = value.detach()
        return len(self.seen)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.registry = Registry()

    def forward(self, x):
        x = torch.tanh(self.layers[0](x))
        n = self.registry.record("first", x)
        x = torch.tanh(self.layers[1](x)) + n
        self.registry.record("second", x)
        return self.layers[2](x)


class Looped(Flat):
    """Behind a break in a loop Dynamo does not go on: nothing of this is a graph."""

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            self.registry.record(f"layer{i}", x)
        return x * 2


torch.manual_seed(0)
model, looped = Flat().eval(), Looped().eval()
example_inputs = (torch.randn(2, 6),)

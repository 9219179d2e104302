"""Autocast around a part of a model, with a break inside."""

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            print("half way")
            y = self.linear(x.tanh()) * y
        return y + self.linear(x)


model = Net().eval()
example_inputs = (torch.randn(3, 8),)

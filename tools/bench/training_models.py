"""Networks to train, by name: the module with its loss, without dropout, so that all contenders compute the same."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Network = tuple[nn.Module, tuple[Tensor, ...], Tensor]  # of a module, its inputs and the target


class Tokens(nn.Module):
    """A network of transformers whose answer cross entropy takes: [batch * tokens, vocabulary]."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, tokens: Tensor) -> Tensor:
        return self.module(tokens, return_dict=False)[0].flatten(0, 1)


def digits() -> Network:
    body = [nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1)]
    body += [nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 64), nn.ReLU()]
    return nn.Sequential(*body, nn.Linear(64, 10)), (torch.randn(64, 1, 8, 8),), torch.randint(0, 10, (64,))


def mlp() -> Network:
    layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), (torch.randn(64, 784),), torch.randint(0, 10, (64,))


def resnet18() -> Network:
    import torchvision

    module = torchvision.models.resnet18(weights=None)
    return module, (torch.randn(8, 3, 224, 224),), torch.randint(0, 1000, (8,))


def gpt2() -> Network:
    import transformers

    config = transformers.GPT2Config(use_cache=False, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    tokens = torch.randint(0, config.vocab_size, (1, 128))
    return Tokens(transformers.GPT2LMHeadModel(config)), (tokens,), torch.randint(0, config.vocab_size, (128,))


def bert() -> Network:
    import transformers

    config = transformers.BertConfig(hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                                     intermediate_size=2048, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    tokens = torch.randint(0, config.vocab_size, (8, 128))
    return Tokens(transformers.BertForMaskedLM(config)), (tokens,), torch.randint(0, config.vocab_size, (1024,))


NETWORKS: dict[str, Callable[[], Network]] = {f.__name__: f for f in (digits, mlp, resnet18, gpt2, bert)}


def load(name: str) -> Network:
    """Always the same numbers. NAME of NETWORKS."""
    torch.manual_seed(0)
    module, inputs, target = NETWORKS[name]()
    return module.train(), inputs, target


def loss_of(module: nn.Module, inputs: tuple[Tensor, ...], target: Tensor) -> Tensor:
    return F.cross_entropy(module(*inputs), target)

"""Networks by name, with random weights, and exported programs of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

STANDARD = ["resnet50", "mobilenet_v3_large", "vit_b_16", "convnext_tiny", "BertModel", "GPT2LMHeadModel"]


@dataclass
class Sizes:
    batch: int = 1
    image: int = 224
    tokens: int = 128


class Flat(torch.nn.Module):
    """The first tensor that a network of transformers answers."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.module(tokens, return_dict=False)[0]


def _image(sizes: Sizes) -> tuple[torch.Tensor, ...]:
    return (torch.randn(sizes.batch, 3, sizes.image, sizes.image),)


def _torchvision(name: str, sizes: Sizes):
    import torchvision

    if name not in torchvision.models.list_models():
        return None
    return torchvision.models.get_model(name, weights=None), _image(sizes)


def _timm(name: str, sizes: Sizes):
    import timm

    if not timm.is_model(name):
        return None
    return timm.create_model(name, pretrained=False), _image(sizes)


def _transformers(name: str, sizes: Sizes):
    import transformers

    kind = getattr(transformers, name, None)
    if kind is None or not isinstance(kind, type) or not issubclass(kind, transformers.PreTrainedModel):
        return None
    config = kind.config_class(use_cache=False)
    tokens = torch.randint(0, config.vocab_size, (sizes.batch, sizes.tokens))
    return Flat(kind(config)), (tokens,)


SOURCES = {"torchvision": _torchvision, "timm": _timm, "transformers": _transformers}


def load(name: str, sizes: Sizes) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The module and its inputs: always the same numbers. NAME, SOURCE/NAME, or the path of a .pt2 with example
    inputs."""
    torch.manual_seed(0)
    if name.endswith(".pt2"):
        program = torch.export.load(name)
        if program.example_inputs is None or program.example_inputs[1]:
            raise SystemExit(f"bench: error: {name}: has no example inputs by position (export it with some)")
        return program.module(), tuple(program.example_inputs[0])
    source, _, short = name.rpartition("/")
    missing = []
    for package in [source] if source else SOURCES:
        if package not in SOURCES:
            break
        try:
            found = SOURCES[package](short, sizes)
        except ImportError:
            missing.append(package)
            continue
        if found is not None:
            return found[0].eval(), found[1]
    hint = f"; not installed: {', '.join(missing)}" if missing else ""
    raise SystemExit(f"bench: error: no network '{name}' in {', '.join(SOURCES)}, and no .pt2{hint}")


def title(name: str) -> str:
    return Path(name).stem if name.endswith(".pt2") else name

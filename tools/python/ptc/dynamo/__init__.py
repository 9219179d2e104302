"""The backend of torch.compile: `torch.compile(module, backend="ptc")`.

Dynamo hands over a graph; AOTAutograd makes it functional and lays open what it mutates and aliases; its text goes to
`ptc compile`, and the library is kept on disk under a hash of the text. Calls take and return torch's own memory.

Parameters are inputs of the library, not constants in it: they stay where they are, `load_state_dict` and optimizers
may change them, and one library serves all layers and models of one structure. `options={"freezing": True}` makes them
constants, as inductor's option of that name: ptc packs them at compile time, and later changes of them are not seen.

A graph whose tensors are on a GPU becomes a library for it, whose calls are work in torch's current stream.

Where gradients are needed, AOTAutograd makes two graphs, forward and backward, and each is a library.

What ptc cannot compile runs in eager mode, one graph at a time, with a FallbackWarning that says why; with
`options={"fallback": True}` one operator at a time, in the middle of the compiled graph.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch._guards import detect_fake_mode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import _disable_current_modes

from .._cuda import CudaModel
from .._errors import CompileError
from .._model import Model
from ._decompose import decompositions
from ._graph import Refused, prepare
from ._library import compile_graph
from ._run import CudaRunner, Runner

__all__ = ["FallbackWarning", "Options", "backend"]


class FallbackWarning(UserWarning):
    """A graph, or an operator in one, that runs in eager mode. `warnings.simplefilter("error", FallbackWarning)` makes
    it an error."""


@dataclass(frozen=True)
class Options:
    """What `torch.compile(..., options={...})` takes."""

    freezing: bool = False
    march: str = "native"
    gpu_arch: str | None = None  # None: that of the GPU that the tensors are on
    # Where ptc cannot compile an operator: None: its graph runs in eager mode; True: that operator does, as far as it
    # goes; False: an error.
    fallback: bool | None = None

    @staticmethod
    def parse(given: dict[str, Any] | None) -> Options:
        known = [field.name for field in fields(Options)]
        for name in given or {}:
            if name not in known:
                raise ValueError(f"ptc has no option '{name}' (options: {', '.join(known)})")
        return Options(**(given or {}))


def backend(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compiles one graph of Dynamo's; the entry point `ptc` of torch_dynamo_backends."""
    if mode not in (None, "default"):
        raise ValueError(f"ptc has no mode '{mode}' (only 'default')")
    settings = Options.parse(options)
    trains = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in example_inputs)
    frozen: dict[int, torch.Tensor] = {}

    def compile_forward(module: torch.fx.GraphModule, fakes: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
        graph = prepare(module, frozen, len(example_inputs), detect_fake_mode(fakes))
        with _disable_current_modes():  # AOTAutograd's own, in which there are no real tensors
            if not graph.is_computed:
                return Runner(graph, None, trains)
            model = compile_graph(graph, settings.march, settings.gpu_arch, settings.fallback is True)
            _warn_of_operators(model)
            return (CudaRunner if isinstance(model, CudaModel) else Runner)(graph, model, trains)

    def compile_backward(module: torch.fx.GraphModule, fakes: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
        try:
            return compile_forward(module, fakes)
        except (Refused, CompileError) as error:
            if settings.fallback is False:
                raise
            _warn("the backward graph runs in eager mode", error)
            return make_boxed_func(module.forward)

    try:
        if settings.freezing:
            if trains:
                raise Refused("constants have no gradients (leave freezing out, or call it under torch.no_grad())")
            frozen = _frozen(gm, example_inputs)
        compiler = aot_autograd(
            fw_compiler=compile_forward,
            bw_compiler=compile_backward,
            partition_fn=min_cut_rematerialization_partition,
            decompositions=decompositions(),
            keep_inference_input_mutations=True,
        )
        # Attention's own kernels keep for the backward graph what ptc's does not: products and a softmax have
        # derivatives.
        with sdpa_kernel(SDPBackend.MATH) if trains else contextlib.nullcontext():
            return compiler(gm, example_inputs)
    except (Refused, CompileError) as error:
        if settings.fallback is False:
            raise
        _warn("this graph runs in eager mode", error)
        return gm.forward


def _warn(what: str, why: Exception) -> None:
    warnings.warn(f"ptc: {what}: {why}", FallbackWarning, stacklevel=3)


def _warn_of_operators(model: Model) -> None:
    """Says which operators the library leaves to torch."""
    for line in dict.fromkeys(f"{place.source or 'the graph'}: {place.name}" for place in model.externals):
        warnings.warn(f"ptc: {line} runs in eager mode", FallbackWarning, stacklevel=3)


def _frozen(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> dict[int, torch.Tensor]:
    """The parameters and buffers among a graph's inputs, by position."""
    found = {}
    for index, value in enumerate(example_inputs):
        is_static = isinstance(value, torch.nn.Parameter) or hasattr(value, "_dynamo_static_input_type")
        if is_static and not isinstance(value, torch._subclasses.FakeTensor):
            found[index] = value
    return found

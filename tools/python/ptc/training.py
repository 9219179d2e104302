"""Between torch and a step of training that ptc compiled (`ptc compile --train --optimizer NAME`).

    import ptc, ptc.training

    step = ptc.load("step.so")
    ptc.training.from_torch(step, module, optimizer)               # goes on where torch was
    (loss, *_) = step(images, target=labels)
    optimizer.load_state_dict(ptc.training.optimizer_state(step, module, optimizer))    # and back
    ptc.training.share(step, module)                               # the module computes with the step's own weights

Weights and buffers are states under their names in the module, moments "optimizer/exp_avg/NAME", hyperparameters
"optimizer.lr" (of further groups "optimizer.1.lr"), the number of steps "optimizer.step".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ._model import Model

__all__ = ["from_torch", "optimizer_state", "share"]

_BETAS = ("beta1", "beta2")
# Of states that are none of the module's tensors.
_FAMILIES = (
    *("optimizer.", "optimizer/", "gradient.", "gradient/", "accumulate.", "ema.", "ema/"),
    *("clip.", "schedule.", "scaler.", "ptc."),
)
# What torch's optimizers call a moment where an option of theirs asks for it.
_OPTIONAL_MOMENTS = {"amsgrad": "max_exp_avg_sq", "centered": "grad_avg"}
# What optimizers keep that do not count their steps: SGD, Lion.
_UNCOUNTED = ({"momentum_buffer"}, {"exp_avg"})
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "C64": torch.complex64,
    "C128": torch.complex128,
}


def optimizer_state(
    source: Model | str | os.PathLike[str],
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What `load_state_dict` of the torch optimizer takes, of a compiled step or of its checkpoint.

    `module`: whose parameters the step trains. `optimizer`: what the state is for; without it, for one that is created
    on `module.parameters()`. `options` go to its groups as they are: flags, which are compiled into a step and in no
    file of its (nesterov=True, maximize=True), stay the optimizer's own, or, without one, what torch has them at. The
    optimizer's groups are the step's in their order, and the first one is of what no `--group` matches.
    """
    kept = _States(source)
    names = _names_of_parameters(module)
    if optimizer is None:
        if kept.has_groups:
            raise ValueError("the step has groups of parameters: give the optimizer, which has the same")
        parameters = list(module.parameters())
        groups: list[dict[str, Any]] = [{"params": list(range(len(parameters))), "momentum": 0.0, "dampening": 0.0}]
        groups[0].update({flag: True for flag, kind in _OPTIONAL_MOMENTS.items() if kept.has_moment(kind)})
    else:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        groups = optimizer.state_dict()["param_groups"]
    for index, group in enumerate(groups):
        group.update(_as_torch(kept.hyperparameters(index)), **options)
    state = {}
    for index, parameter in enumerate(parameters):
        if id(parameter) not in names:
            raise ValueError(f"parameter {index} of the optimizer is none of the module's")
        if found := _state_of_parameter(kept, names[id(parameter)]):
            state[index] = found
    return {"state": state, "param_groups": groups}


def from_torch(step: Model, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Sets the states of a compiled step to what torch has: the module's parameters and buffers, and the optimizer's
    moments, number of steps and hyperparameters. Without an optimizer, what the step has of it stays as it is; so do
    averages, schedules and scalers.

    The step's options that decide what an optimizer keeps (its kind, amsgrad, whether there is a momentum) must be the
    optimizer's; all is checked before a state changes.
    """
    states = {info.name: info for info in step.states}
    values: dict[str, Any] = {}
    for name, tensor in _named_tensors(module):
        if name in states:
            values[name] = tensor
    lacking = sorted(name for name in states if name not in values and not _is_optimizers(name))
    if lacking:
        raise ValueError(f"the module has no parameter or buffer {lacking}, which are states of the step")
    if optimizer is not None:
        values |= _states_of_optimizer(states, _names_of_parameters(module), optimizer)
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            wanted = tuple(dim.min for dim in states[name].shape)
            if tuple(value.shape) != wanted or _dtype_name(value) != states[name].dtype:
                raise ValueError(f"'{name}' is {_dtype_name(value)}{list(value.shape)}, the state {states[name]}")
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            value = value.detach().resolve_conj().resolve_neg()
            value = value.cpu() if step.device == "cpu" else value
        step.set_state(name, value)


def share(step: Model, module: torch.nn.Module) -> list[str]:
    """Makes the module's parameters and buffers views of the step's states of their names, without a copy: either side
    may train or evaluate, but not both at once. They have the states' values then (`from_torch` comes before, where the
    module's are wanted). Answers their names; the others stay the module's own."""
    states = {info.name: info for info in step.states}
    views = {}
    for name, tensor in _named_tensors(module):
        if name not in states:
            continue
        view = torch.from_dlpack(step.view_state(name))
        for what in ("dtype", "shape", "device"):
            own, other = getattr(tensor, what), getattr(view, what)
            if own != other:
                raise ValueError(f"'{name}': the module's {what} is {own}, the state's {other}")
        views[name] = (tensor, view)
    for tensor, view in views.values():
        tensor.data = view
    return list(views)


class _States:
    """The states of a step or of a checkpoint, as torch's tensors of their own."""

    def __init__(self, source: Model | str | os.PathLike[str]) -> None:
        if isinstance(source, Model):
            self._model, self._tensors = source, {info.name: None for info in source.states}
        else:
            self._model, self._tensors = None, _read_file(source)
        if "optimizer.step" not in self._tensors:
            what = "the model" if self._model is not None else os.fspath(source)
            raise ValueError(f"{what} has no state 'optimizer.step': it is of no step of training")

    def __getitem__(self, name: str) -> torch.Tensor:
        return torch.from_dlpack(self._model.view_state(name)).clone() if self._model else self._tensors[name]

    def has_moment(self, kind: str) -> bool:
        return any(name.startswith(f"optimizer/{kind}/") for name in self._tensors)

    def moments(self, parameter: str) -> dict[str, str]:
        """Their states' names, by kind."""
        found = {}
        for name in self._tensors:
            family, _, rest = name.partition("/")
            kind, _, of = rest.partition("/")
            if family == "optimizer" and of == parameter:
                found[kind] = name
        return found

    def number(self, name: str) -> float:
        return self[name].item()

    def hyperparameters(self, group: int) -> dict[str, float]:
        """Of a group; what it has not of its own is as in the first."""
        found = {}
        for prefix in ["optimizer"] if group == 0 else ["optimizer", f"optimizer.{group}"]:
            for name in self._tensors:
                family, _, key = name.rpartition(".")
                if family == prefix and "/" not in name and key not in ("step", "mu_product", "accumulated"):
                    found[key] = self.number(name)
        return found

    @property
    def has_groups(self) -> bool:
        return any(name.startswith("optimizer.1.") for name in self._tensors)

    @property
    def has_product(self) -> bool:
        return "optimizer.mu_product" in self._tensors


def _as_torch(numbers: Mapping[str, float]) -> dict[str, Any]:
    options: dict[str, Any] = {name: value for name, value in numbers.items() if name not in _BETAS}
    if _BETAS[0] in numbers:
        options["betas"] = tuple(numbers[name] for name in _BETAS)
    return options


def _state_of_parameter(kept: _States, names: Iterable[str]) -> dict[str, Any]:
    """By whichever of its names the step knows the parameter."""
    for name in names:
        if moments := kept.moments(name):
            break
    else:
        return {}
    steps = kept.number("optimizer.step")
    is_counted = set(moments) not in _UNCOUNTED
    if not is_counted and steps == 0:
        return {}  # as torch has it before the first step
    state: dict[str, Any] = {"step": torch.tensor(float(steps))} if is_counted else {}
    state.update({kind: kept[moment] for kind, moment in moments.items()})
    if kept.has_product:
        state["mu_product"] = kept["optimizer.mu_product"].to(torch.float32)
    return state


def _states_of_optimizer(
    states: Mapping[str, Any], names: Mapping[int, list[str]], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    if "optimizer.step" not in states:
        raise ValueError("the model has no state 'optimizer.step': it is no step with an optimizer")
    if any(id(parameter) not in names for group in optimizer.param_groups for parameter in group["params"]):
        raise ValueError("the optimizer has parameters that are none of the module's")
    values: dict[str, Any] = {}
    counts, products = set(), set()
    is_begun = False
    for parameter, kept in optimizer.state.items():
        name = next((name for name in names.get(id(parameter), ()) if name in states), None)
        if name is None:
            continue  # what the library does not train
        for kind, value in kept.items():
            if kind == "step":
                counts.add(int(value))
            elif kind == "mu_product":
                products.add(float(value))
            elif value is not None:
                moment = f"optimizer/{kind}/{name}"
                if moment not in states:
                    raise ValueError(
                        f"the optimizer keeps '{kind}' of '{name}', which the step does not: it was compiled with "
                        "another optimizer or other options"
                    )
                values[moment] = value
                is_begun = True
    if len(counts) > 1 or len(products) > 1:
        raise ValueError(f"parameters have seen different numbers of steps, {sorted(counts)}: a step of ptc has one")
    # SGD does not count, and a step of it asks only whether there was one before.
    values["optimizer.step"] = counts.pop() if counts else int(is_begun)
    if "optimizer.mu_product" in states:
        values["optimizer.mu_product"] = products.pop() if products else 1.0
    for name, info in states.items():
        if name.startswith("optimizer/") and name not in values:
            values[name] = torch.zeros([dim.min for dim in info.shape], dtype=getattr(torch, info.dtype))
    first: dict[str, float] = {}
    for index, group in enumerate(optimizer.param_groups):
        numbers = _as_numbers(group)
        for key, number in numbers.items():
            own = f"optimizer.{key}" if index == 0 else f"optimizer.{index}.{key}"
            if own in states:
                values[own] = number
            elif number != first.get(key, 0.0) and key not in ("dampening", "initial_accumulator_value"):
                raise ValueError(f"the step has no state '{own}', which the optimizer has at {number}")
        first = first or numbers
    return values


def _as_numbers(group: Mapping[str, Any]) -> dict[str, float]:
    """The hyperparameters of a group as ptc spells them."""
    numbers = {}
    for key, value in group.items():
        if key == "betas":
            numbers.update(zip(_BETAS, map(float, value)))
        elif key != "params" and isinstance(value, (int, float, torch.Tensor)) and not isinstance(value, bool):
            numbers[key] = float(value)
    return numbers


def _is_optimizers(name: str) -> bool:
    """Whether a state is none of the module's tensors."""
    return name.startswith(_FAMILIES)


def _named_tensors(module: torch.nn.Module) -> Iterable[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _names_of_parameters(module: torch.nn.Module) -> dict[int, list[str]]:
    """All that a parameter has, as tied ones have several."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return names


def _dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _read_file(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """A safetensors file, without the package of this name."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    try:
        begin = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(bytes(content[8:begin]))
        header.pop("__metadata__", None)
        tensors = {}
        for name, row in header.items():
            first, last = row["data_offsets"]
            whole = torch.frombuffer(content[begin + first : begin + last] or bytearray(1), dtype=torch.uint8)
            tensors[name] = whole[: last - first].view(_DTYPES[row["dtype"]]).reshape(row["shape"])
        return tensors
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{os.fspath(path)}: no safetensors file, or damaged ({error})") from None

"""Runs a target under Dynamo, again for each way of its branches."""

from __future__ import annotations

import copy
import sys
from typing import Any

from .errors import one_line
from .places import is_own, is_torch
from .record import MAX_DECISIONS, Capture, TooManyDecisions


def users_frame(frame: Any) -> Any:
    """Who asked, if that is the user's code: between it and us are only Dynamo's wrappers."""
    while frame is not None and (is_own(frame.f_code.co_filename) or "_dynamo" in frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None or is_torch(frame.f_code.co_filename) else frame


class Patches:
    """Listens to breaks and to tensors that are asked whether they are true, while it is entered."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def __enter__(self) -> None:
        import torch
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase
        from torch._subclasses import FakeTensor

        capture = self.capture
        self.log = log = InstructionTranslatorBase.log_graph_break
        self.own = vars(torch.Tensor).get("__bool__")  # mostly the base class's
        ask = torch.Tensor.__bool__

        def log_graph_break(self: Any, code_options: Any, reason: str = "", exc: Any = None, **rest: Any) -> Any:
            if not getattr(exc, "logged", False):
                capture.on_break(reason, exc)
            answer = log(self, code_options, reason=reason, exc=exc, **rest)
            if exc is not None:
                exc.logged = True
            return answer

        @torch._dynamo.disable
        def is_true(tensor: Any) -> bool:
            value = ask(tensor)
            frame = None if isinstance(tensor, FakeTensor) else users_frame(sys._getframe(1))
            return value if frame is None else capture.decide(value, frame)

        InstructionTranslatorBase.log_graph_break = log_graph_break
        torch.Tensor.__bool__ = is_true

    def __exit__(self, *_: Any) -> None:
        import torch
        from torch._dynamo.symbolic_convert import InstructionTranslatorBase

        InstructionTranslatorBase.log_graph_break = self.log
        if self.own is None:
            del torch.Tensor.__bool__
        else:
            torch.Tensor.__bool__ = self.own


def state_of(target: Any) -> Any:
    import torch

    return copy.deepcopy(target.state_dict()) if isinstance(target, torch.nn.Module) else None


def copied(arguments: Any) -> Any:
    """For one run, which may write to them. A tensor with a history has no deep copy."""
    import torch
    from torch.utils._pytree import tree_map

    def copy_one(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not value.is_leaf:
            return value.detach().clone().requires_grad_(value.requires_grad)
        return copy.deepcopy(value)

    return tree_map(copy_one, arguments)


def run_paths(capture: Capture, compiled: Any, args: tuple, kwargs: dict, limit: int) -> None:
    """The run with the arguments as they are, then one for each way of a branch that no run has taken."""
    import torch

    state = state_of(capture.target)
    plans, planned = [[]], set()
    while plans and len(capture.paths) < limit:
        capture.plan, capture.decisions, capture.steps = plans.pop(0), [], []
        generator = torch.random.get_rng_state()
        ends = "returns"
        try:
            compiled(*copied(args), **copied(kwargs))
        except TooManyDecisions:
            ends = f"was stopped after {MAX_DECISIONS} branches"
        except Exception as error:
            if not capture.paths:
                raise
            ends = f"raises {one_line(error)}"
        torch.random.set_rng_state(generator)
        if state is not None:
            capture.target.load_state_dict(state)
        capture.paths.append({"steps": capture.steps, "ends": ends})
        planned |= {(decision.site, decision.value) for decision in capture.decisions}
        taken = [decision.value for decision in capture.decisions]
        for number, decision in enumerate(capture.decisions):
            way = (decision.site, not decision.value)
            if way not in planned:
                planned.add(way)
                plans.append([*taken[:number], not decision.value])


def capture_target(target: Any, args: tuple, kwargs: dict, *, dynamic: bool | None = None, paths: int = 16) -> Capture:
    import torch

    torch._dynamo.reset()
    capture = Capture(target)
    with Patches(capture):
        compiled = torch._dynamo.optimize(
            capture.on_graph, nopython=False, dynamic=dynamic, guard_export_fn=capture.on_guards
        )(target)
        run_paths(capture, compiled, args, kwargs, paths)
    torch._dynamo.reset()
    capture.merge_breaks()
    return capture

"""The arguments of a call as a model's inputs, in its order.

torch.export takes dicts, tuples and lists apart, and names what is in them by the way there: of `forward(batch)` the
tensor batch["image"] is the input batch_image, and batch[0][1] the input batch_0_1. Calls may give them as they were.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


@functools.cache
def is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def has_members(value: Any) -> bool:
    """Whether it stands for several inputs: a dict, or a tuple or list of arrays; one of numbers is an array itself."""
    if isinstance(value, (tuple, list)):
        return any(hasattr(member, "__dlpack__") or has_members(member) for member in value)
    return is_mapping(type(value))


def arrange(required: Sequence[str], optional: Sequence[str], given: Sequence[Any], named: Mapping[str, Any]) -> list:
    """What is given by position and by name, in the order of these inputs; None for an optional one that is not."""
    if named and len(given) + len(named) == len(required) and not (given and any(map(has_members, given))):
        try:
            return [*given, *[named[name] for name in required[len(given) :]]]  # nearly all calls by name
        except KeyError:
            pass
    names = [*required, *optional]
    values: list[Any] = []
    by_name = dict(_spread(named, names))
    for value in given:
        members = _place(value, names[len(values) :]) if has_members(value) else [value]
        if members is None and len(given) == 1:
            by_name |= _spread(value, names)  # in place of keywords
        elif members is None:
            raise TypeError(f"{list(value)} are no members of an input: {_describe(required, optional)}")
        else:
            values += members
    if unknown := [name for name in by_name if name not in names]:
        near = difflib.get_close_matches(unknown[0], names, 1)
        guess = f", did you mean '{near[0]}'?" if near else ""
        raise TypeError(f"there is no input '{unknown[0]}'{guess} ({_describe(required, optional)})")
    if len(values) > len(names):
        raise TypeError(f"{len(values)} inputs were given: {_describe(required, optional)}")
    if twice := [name for name in names[: len(values)] if name in by_name]:
        raise TypeError(f"input '{twice[0]}' is given by position and by name")
    if missing := [name for name in required[len(values) :] if name not in by_name]:
        raise TypeError(f"input '{missing[0]}' is missing: {_describe(required, optional)}")
    return values + [by_name.get(name) for name in names[len(values) :]]


def _describe(required: Sequence[str], optional: Sequence[str]) -> str:
    return f"the model takes {list(required)}" + (f", and may take {list(optional)}" if optional else "")


def _spread(named: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Inputs by name; what is no input, and has members, gives those."""
    for name, value in named.items():
        if name not in names and has_members(value):
            yield from ((_spell(f"{name}_{way}"), member) for way, member in _members(value))
        else:
            yield name, value


def _place(value: Any, names: Sequence[str]) -> list[Any] | None:
    """The members in the order of their inputs, which `names` begins with; None where names and members disagree."""
    if not is_mapping(type(value)):
        placed: list[Any] = []
        for member in value:
            found = _place(member, names[len(placed) :]) if has_members(member) else [member]
            if found is None:
                return None
            placed += found
        return placed
    members = {_spell(way): member for way, member in _members(value)}
    names = names[: len(members)]
    # All names are the argument's with the way to the member.
    ways = {way for way in members if names and names[0].endswith("_" + way)}
    for way in ways:
        argument = names[0].removesuffix(way)
        found = {argument + each: member for each, member in members.items()}
        if set(names) == set(found):
            return [found[name] for name in names]
    return None


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """All that is in it at last, with the way there."""
    for key, member in value.items() if is_mapping(type(value)) else enumerate(value):
        if has_members(member):
            yield from ((f"{key}_{way}", inner) for way, inner in _members(member))
        else:
            yield str(key), member


def _spell(way: str) -> str:
    """As torch.export spells it in a name."""
    return re.sub(r"[^a-zA-Z0-9]", "_", way).lower()

"""What a call answers: a list that also knows the outputs' names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any


class Results(list):
    """The outputs in the model's order. A name will do for an index, `results["logits"]`; `dict(results)` has them by
    name."""

    __slots__ = ("places",)

    def keys(self) -> Iterable[str]:
        """The outputs' names."""
        return self.places.keys()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            key = place_of(key, self.places)
        return list.__getitem__(self, key)


_is_known_to_torch = False


def name_results(values: Iterable[Any], places: Mapping[str, int]) -> Results:
    """`places`: where each output is in `values`."""
    if not _is_known_to_torch and "torch.utils._pytree" in sys.modules:
        _join_trees()
    results = Results(values)
    results.places = places
    return results


def _join_trees() -> None:
    """torch's trees take types as they are, and a list of another type for a leaf: they learn that this is a node."""
    global _is_known_to_torch
    trees = sys.modules["torch.utils._pytree"]
    if hasattr(trees, "register_pytree_node"):  # else torch is being imported
        _is_known_to_torch = True  # at once: another thread must not register it again
        trees.register_pytree_node(Results, lambda results: (list(results), results.places), name_results)


def place_of(name: str, places: Mapping[str, int]) -> int:
    if (place := places.get(name)) is None:
        raise KeyError(f"the model has no output '{name}' (its outputs: {list(places)})")
    return place

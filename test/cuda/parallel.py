"""A test's cases on all cores, and its totals."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

T = TypeVar("T")


class Named(Protocol):
    name: str


C = TypeVar("C", bound=Named)


def run(
    cases: Iterable[C], attempt: Callable[[C, Path], T], prepare: Callable[[C, Path], None] | None = None
) -> Iterator[tuple[str, T]]:
    """Each case's name and what `attempt` answers, in order. A case has a folder of its own, which `prepare` may fill:
    that is called on this thread, since torch exports one model at a time."""

    def attempt_once(case: C, folder: Path) -> T:
        try:
            return attempt(case, folder)
        finally:
            shutil.rmtree(folder)

    with tempfile.TemporaryDirectory() as top, ThreadPoolExecutor(os.cpu_count()) as pool:
        running = []
        for case in cases:
            folder = Path(top) / str(len(running))
            folder.mkdir()
            if prepare:
                prepare(case, folder)
            running.append((case.name, pool.submit(attempt_once, case, folder)))
        for name, future in running:
            yield name, future.result()


def report(results: Iterable[tuple[str, str]], refusals: tuple[str, ...] = ()) -> NoReturn:
    """Prints what is wrong with which case, and totals. A case is refused where what is wrong has one of these texts in
    it, which is no failure until a fifth of all is."""
    passed, failed, refused = 0, 0, []
    for name, found in results:
        if any(text in found for text in refusals):
            refused.append(name)
        elif found:
            failed += 1
            print(f"FAIL {name}: {found}", flush=True)
        else:
            passed += 1
    if refusals:
        print(f"{len(refused)} refused: {', '.join(refused) or 'none'}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or not passed or 4 * len(refused) > passed)

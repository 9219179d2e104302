"""Work in processes of its own, so that what ends one of them ends nothing else."""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Of processors, that a process may take; by the clock three times as many, as others run beside it.
SECONDS = 600

in_eager: mmap.mmap | bytearray = bytearray(1)  # not zero while eager mode runs; a child's is seen by its parent


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """Around eager mode, which ends its process in places: fused attention divides by the number of heads, which may be none."""
    in_eager[0] = 1
    try:
        yield
    finally:
        in_eager[0] = 0


class Ended(Exception):
    """The process did not answer."""


class EagerEnded(Ended):
    """It was eager mode that ended the process, by a division."""


class Child:
    """A process that does `work`; its answer goes to the file `result`."""

    def __init__(self, work: Callable[[], object], result: Path) -> None:
        global in_eager
        self.result, self.in_eager = result, mmap.mmap(-1, 1)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        in_eager = self.in_eager
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            faulthandler.dump_traceback_later(3 * SECONDS, exit=True)  # where it stands still
            result.write_bytes(pickle.dumps(work()))
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def answer(self, status: int | None = None) -> object:
        """What `work` answered; `status` is the process's end where it has been waited for."""
        if status is None:
            _, status = os.waitpid(self.pid, 0)
        if status == 0 and self.result.exists():
            answer = pickle.loads(self.result.read_bytes())
            self.result.unlink()
            return answer
        if not os.WIFSIGNALED(status):
            raise Ended(f"the process ended with {status >> 8}")
        number = os.WTERMSIG(status)
        if number == signal.SIGFPE and self.in_eager[0]:
            raise EagerEnded
        raise Ended(f"no answer within {SECONDS} s" if number in (signal.SIGALRM, signal.SIGPROF) else signal.Signals(number).name)

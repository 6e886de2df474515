"""A body that keeps one processor for long, searched in slices: between two of them all others have a turn.

Always: either the event loop runs or one slice does, never both, so whatever is worked on needs no lock, and
bodies under way at once take turns, a slice each. The exchange whose body it is waits for the end of the work
and passes nothing on before. A worker is a thread only so that the work, calls within calls, can pause amid.

Who searches asks for its text in `slices`, and outside a worker gets it whole. Nobody MUST pause while it
holds a lock that the event loop may want. Not done here: whose slice is next (`mediator.slices`).
"""

import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Final

SLICE: Final = 1 << 15
"""Bytes: of escapes with a credential among them that is some 20 ms of one processor."""
CALL: Final = 1 << 8
"""As much as a call costs by itself: a packed body may be thousands of pieces of a byte."""
LARGE: Final = 1 << 18
"""Bytes, as of a read: of more, whatever it is, each is followed where a credential stands among them."""
_MARKS: Final = (b"\\", b"%", b"&", b"=")
_DENSE: Final = 64  # one mark in so many bytes: then looking for them decides how long a search takes


class GivenUpError(BaseException):
    """Nobody wants the end of the work any more. No stage of a body takes it for an error of its own."""


class Worker:
    """One piece of work in a thread of its own, which runs only within `go_on`."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.done = False
        self.result: object = None
        self.error: Exception | None = None
        self._left = SLICE
        self._given_up = False
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._work = work
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name="slices", daemon=True)

    def go_on(self) -> None:
        """Let it work to its next border or its end."""
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()

    def give_up(self) -> None:
        """End it where it is."""
        if self._thread.ident is not None and not self.done:
            self._given_up = True
            self.go_on()

    def spend(self, size: int) -> None:
        """Pause, on its own thread, where so much was done that others have their turn."""
        self._left -= size
        if self._left > 0:
            return
        self._left = SLICE
        self._back.release()
        self._go.acquire()
        if self._given_up:
            raise GivenUpError

    def _run(self) -> None:
        _here.worker = self
        try:
            self.result = self._work()
        except GivenUpError:
            pass
        except Exception as error:  # noqa: BLE001  # raised where the work was asked for
            self.error = error
        finally:
            self.done = True
            self._back.release()


class _Here(threading.local):
    worker: Worker | None = None


_here = _Here()


def slices(data: bytes) -> Iterator[bytes]:
    """Yield `data`: in a worker in slices, with a pause where others should wait no longer; else whole."""
    worker = _here.worker
    if worker is None:
        yield data
        return
    for at in range(0, max(len(data), 1), SLICE):
        piece = data[at : at + SLICE]
        yield piece
        worker.spend(len(piece) + CALL)


def in_slices() -> bool:
    """Tell whether this is a worker's thread."""
    return _here.worker is not None


def is_slow(data: bytes) -> bool:
    """Tell whether a search of `data` takes so long that it should be done in slices."""
    return len(data) > LARGE or (len(data) > SLICE and sum(map(data.count, _MARKS)) * _DENSE > len(data))

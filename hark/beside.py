"""Programs that are run side by side, each in a session of its own, and ended together.

What always holds: none outlasts whoever began it, also where that is killed; one that is ended is told first,
has some seconds to end what is its own, and then goes with all that is left in its session; each comes back
once. They have no input. For one thread: a program is told of the end of the thread that began it.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final, NamedTuple

from launcher.kernel import die_with_parent

PATIENCE_S: Final = 10
"""How long a program that is ended may take for it: a fork has an agent to end and a bundle to close."""


class Ended[Tag](NamedTuple):
    """One that has ended."""

    tag: Tag
    """What it was begun as."""
    code: int | None
    """Its exit code, negative for a signal; None where it took too long and was ended."""
    seconds: float


class _Running[Tag](NamedTuple):
    tag: Tag
    process: subprocess.Popen[bytes]
    descriptor: int
    began: float
    until: float | None
    whole: bool


class Beside[Tag]:
    """Those that run. `len` says how many."""

    def __init__(self) -> None:
        self._running: dict[int, _Running[Tag]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def begin(
        self,
        tag: Tag,
        argv: Sequence[str],
        printed: IO[bytes],
        said: IO[bytes],
        *,
        environ: Mapping[str, str] | None = None,
        folder: str | None = None,
        seconds: float | None = None,
        whole: bool = False,
    ) -> None:
        """Begin a program with its output and errors in these files; raises OSError where that cannot be.

        Files and not pipes: who waits for the end of a pipe waits for whatever was left holding it. After so
        many `seconds` it is ended. One that is run `whole` takes with it, when it ends, what it left running.
        """
        process = subprocess.Popen(
            argv, cwd=folder, env=None if environ is None else dict(environ), stdin=subprocess.DEVNULL,
            stdout=printed, stderr=said, start_new_session=True,
            preexec_fn=_end_with_us,  # noqa: PLW1509 (one thread)
        )  # fmt: skip
        descriptor, now = os.pidfd_open(process.pid), time.monotonic()
        until = None if seconds is None else now + seconds
        self._running[descriptor] = _Running(tag, process, descriptor, now, until, whole)

    def ended(self) -> Ended[Tag]:
        """Wait until one has ended, or has had its time."""
        running = self._next()
        del self._running[running.descriptor]
        code = None
        if _has_ended(running, 0):
            code = _reap(running, whole=running.whole)
        else:
            _end([running])
        return Ended(running.tag, code, round(time.monotonic() - running.began, 3))

    def drop(self) -> list[Tag]:
        """End all, and return what they were begun as."""
        dropped = list(self._running.values())
        self._running.clear()
        _end(dropped)
        return [running.tag for running in dropped]

    def _next(self) -> _Running[Tag]:
        poll = select.poll()
        for descriptor in self._running:
            poll.register(descriptor, select.POLLIN)
        first = min(self._running.values(), key=lambda one: _left(one, float("inf")))
        left = None if first.until is None else _left(first, 0)
        found = poll.poll(None if left is None else left * 1000 + 1)
        return self._running[found[0][0]] if found else first


def _left[Tag](running: _Running[Tag], unlimited: float) -> float:
    """How many seconds it still has."""
    return unlimited if running.until is None else max(0.0, running.until - time.monotonic())


def _has_ended[Tag](running: _Running[Tag], seconds: float) -> bool:
    """Wait so long for its end. It is not reaped yet, so that its session's number stays its own."""
    poll = select.poll()
    poll.register(running.descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _end[Tag](runnings: Sequence[_Running[Tag]]) -> None:
    """Tell each to end, give all of them the same time, and take what is left."""
    for running in runnings:
        running.process.terminate()
    until = time.monotonic() + PATIENCE_S
    for running in runnings:
        _has_ended(running, max(0.0, until - time.monotonic()))
    for running in runnings:
        _reap(running, whole=True)


def _reap[Tag](running: _Running[Tag], *, whole: bool) -> int:
    if whole:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(running.process.pid, signal.SIGKILL)
    code = running.process.wait()
    os.close(running.descriptor)
    return code


def _end_with_us() -> None:
    die_with_parent(signal.SIGTERM)

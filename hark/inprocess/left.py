"""What a test has left behind: threads that outlive it, those that they start, and hooks at the exit.

Always: what is left reaches nothing that is not this process's own, between tests and until the interpreter's
exit; a later test that is attended has it as its own. A thread is told by its number and the time it began,
since numbers come again.

Not done here: finalizers (weakref, `__del__`) and handlers of signals that a test leaves, which run as
whatever thread they interrupt.
"""

import atexit
import os
import threading
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

STARTS: Final = frozenset(("_thread.start_new_thread", "_thread.start_joinable_thread"))
"""Audit events of a thread that is about to begin; the first argument is what it runs."""
_BEGAN: Final = 19  # of the fields behind the command's name: starttime, proc(5)

_tasks: dict[int, int] = {}
_descended: WeakSet[threading.Thread] = WeakSet()
_exiting = False


class Marks:
    """What was there when one test began. `set` at its end."""

    def __init__(self) -> None:
        self._before = _running()
        self._hooks = _hooks()
        # Hooks run in reverse: the test's stand between the one that `set` registers and this one.
        atexit.register(self._after_hooks)

    def set(self) -> None:
        """Have all that came since count as left."""
        now = _running()
        _tasks.update((task, began) for task, began in now.items() if self._before.get(task) != began)
        for gone in [task for task, began in _tasks.items() if now.get(task) != began]:
            del _tasks[gone]
        if _hooks() > self._hooks + 1:
            atexit.register(_before_hooks)
        else:
            atexit.unregister(self._after_hooks)

    def _after_hooks(self) -> None:
        _at_exit(left=False)


def is_left() -> bool:
    """Tell whether this thread, or the hook that runs in it, is one that a test has left."""
    if _exiting and threading.current_thread() is threading.main_thread():
        return True
    if not _tasks and not _descended:
        return False
    task = threading.get_native_id()
    if task in _tasks and _tasks[task] == _began(task):
        return True
    return any(thread.native_id == task and thread.is_alive() for thread in list(_descended))


def started(arguments: tuple[Any, ...]) -> bool:
    """Take note of a thread that a left one starts; False where it could not be told again."""
    thread = getattr(arguments[0] if arguments else None, "__self__", None)
    if not isinstance(thread, threading.Thread):
        return False
    _descended.add(thread)
    return True


def _hooks() -> int:
    return atexit._ncallbacks()  # noqa: SLF001  (there is no other way to count them)


def _before_hooks() -> None:
    _at_exit(left=True)


def _at_exit(*, left: bool) -> None:
    global _exiting  # noqa: PLW0603  (the interpreter's end is the process's)
    _exiting = left


def _running() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended meanwhile
            found[int(name)] = _began(int(name))
    return found


def _began(task: int) -> int:
    with open(f"/proc/self/task/{task}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[_BEGAN])

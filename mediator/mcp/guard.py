"""Runs one tool server and lets nothing of it outlive the run. A program of its own, without imports of ours.

    python -I -S guard.py LIFE PROGRAM [ARGUMENT...]

LIFE is a descriptor whose other end the supervisor holds. When that closes, however the supervisor ended, the
server's group is told to end (SIGTERM), and after `GRACE_S` everything that descends from it is killed, also
what has left the group. The server dies with the guard. Streams, environment and directory are the server's.
"""

import ctypes
import os
import select
import signal
import sys
from typing import Final, NoReturn

GRACE_S: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_NOT_STARTED: Final = 127


def main(life: int, argv: list[str]) -> int:
    """Run the server to its end or ours; the answer is its exit status as a shell gives it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        _become(libc, guard, argv)
    with open("/dev/null", "r+b", buffering=0) as nothing:
        os.dup2(nothing.fileno(), 0)  # the pipes are the server's alone: their ends must be seen
        os.dup2(nothing.fileno(), 1)
    status = _attend(child, life)
    _end_all()
    return status


def _become(libc: ctypes.CDLL, guard: int, argv: list[str]) -> NoReturn:
    try:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() == guard:
            os.setpgid(0, 0)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # this interpreter's doing, not the caller's
                signal.signal(number, signal.SIG_DFL)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.execv(argv[0], argv)  # noqa: S606  (that is the task)
    except OSError as error:
        os.write(2, f"{argv[0]}: {os.strerror(error.errno or 0)}\n".encode(errors="replace"))
    finally:
        os._exit(_NOT_STARTED)


def _attend(child: int, life: int) -> int:
    """Wait for the server to end, or for the supervisor, and then end the server."""
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(life, select.POLLIN)
    if ended not in dict(poll.poll()):
        _signal_group(child, signal.SIGTERM)
        poll.unregister(life)
        if not poll.poll(GRACE_S * 1000):
            _signal_group(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _signal_group(child: int, number: signal.Signals) -> None:
    for send in (os.killpg, os.kill):  # it may not have made its group yet
        try:
            send(child, number)
        except ProcessLookupError:
            continue
        return


def _end_all() -> None:
    """Kill what is left: each orphan becomes our child, until there is none."""
    while True:
        for process in _children():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    mine = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = file.read().rpartition(b")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == os.getpid():
            mine.append(int(name))
    return mine


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))

"""Leaves the host's network for good: a process that must reach nothing, and can then reach nothing.

Called by the supervisor of a replay once the boundary is forked. Its sockets of the gateway were opened
elsewhere and stay; what it opens itself is in a namespace without any interface but a loopback that is down.
What was sent or received there is counted by the kernel, so "nothing was dialled" is a count and no claim.
"""

import os
from typing import Final

from hark.errors import ConfinementError
from launcher.advice import explain

_DEVICES: Final = "/proc/self/net/dev"
_SENT: Final = 9  # columns of a line of it: eight of what came in, then packets sent after bytes sent
_RECEIVED: Final = 1


def leave_network() -> None:
    """Enter a network namespace of one's own. MUST be called while the process has one thread.

    Raises ConfinementError, and then the process is where it was.
    """
    uid, gid = os.geteuid(), os.getegid()
    try:
        if uid == 0:
            os.unshare(os.CLONE_NEWNET)
            return
        os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
        for name, value in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "wb") as file:
                file.write(value.encode())
    except OSError as error:
        raise ConfinementError(explain("user namespace", error)) from error


def packets() -> int:
    """How many packets this process's network namespace has sent and received, by the kernel's count."""
    columns = [line.partition(b":")[2].split() for line in _lines()]
    return sum(int(counts[_RECEIVED]) + int(counts[_SENT]) for counts in columns)


def interfaces() -> list[str]:
    """Names of the network interfaces that this process has."""
    return [line.partition(b":")[0].strip().decode() for line in _lines()]


def _lines() -> list[bytes]:
    with open(_DEVICES, "rb") as file:  # bytes: a codec may have to be loaded, and cannot be here
        return file.read().splitlines()[2:]

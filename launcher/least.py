"""What of the caller's own limits a run cannot do without. `hark run` and `hark doctor` both ask here.

Always: only soft limits count, which are what the agent gets too; nothing is raised, but for what keeps a
crash of the agent from starting a program of the host's.
"""

import resource
from typing import Final

from hark.errors import ConfinementError

LEAST: Final = (
    ("open files", "n", resource.RLIMIT_NOFILE, 128),
    ("processes", "u", resource.RLIMIT_NPROC, 16),
    ("a file's bytes", "f", resource.RLIMIT_FSIZE, 2 << 20),
)
"""With ulimit's letter. Files: one for each grant while the boundary is built, and some thirty. Bytes: a log
of what the clock said has one MiB from the start; a record that outgrows the limit ends the run later."""


NO_DUMP: Final = 1
"""Bytes of a core dump. A limit of 0 does not keep the kernel from starting the program that core_pattern
names, on the host and as root; 1 does, and makes no file either (do_coredump in fs/coredump.c)."""
PATTERN: Final = "/proc/sys/kernel/core_pattern"
_STARTS: Final = "|"


def check_limits() -> None:
    """Raise ConfinementError for a limit that no run would get by with."""
    _check_dumps()
    for name, option, what, least in LEAST:
        soft, _ = resource.getrlimit(what)
        if soft != resource.RLIM_INFINITY and soft < least:
            raise ConfinementError(
                f"the limit of {name} is {soft} and has to be {least}: raise it with ulimit -{option}"
            )


def of_dumps() -> int:
    """Return the limit of core dumps that the agent is given: at which none is made, and nothing started."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    return NO_DUMP if hard == resource.RLIM_INFINITY or hard >= NO_DUMP else hard


def _check_dumps() -> None:
    """Raise a limit of 0, which only root can, or see that nothing is started at it."""
    if of_dumps() == NO_DUMP:
        return
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, NO_DUMP))
    except (ValueError, OSError):
        with open(PATTERN, encoding="utf-8", errors="replace") as file:
            pattern = file.read().strip()
        if pattern.startswith(_STARTS):
            raise ConfinementError(
                f"core dumps are limited to 0 bytes, at which a crash inside starts {pattern[1:].split()[0]} "
                "on the host all the same: allow 1, by `core` in /etc/security/limits.conf, or LimitCORE"
            ) from None

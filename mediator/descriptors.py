"""How many connections can be open at once: what the limit of open files allows, raised as far as it may be.

Always: the limit is changed for this process alone, and only upwards; the agent was forked before.
"""

import resource
from typing import Final

WANTED: Final = 16_384  # some eight thousand connections; what opens more is no agent's day
RESERVED: Final = (
    256  # for the bundle, the sockets of the boundary, libraries, and a server's extra connections
)
EACH: Final = 2  # the agent's side and the server's


def raise_limit() -> int:
    """Raise the soft limit of open files toward the hard one and return what holds now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft == resource.RLIM_INFINITY:
        return WANTED
    if soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def connections(limit: int) -> int:
    """Return how many connections a limit of open files has room for: one at least."""
    return max((min(limit, WANTED) - RESERVED) // EACH, 1)

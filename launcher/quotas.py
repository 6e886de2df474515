"""What an agent may use up of what the kernel counts by user: half, so that its caller's programs go on.

Always: set in the run's own user namespace, in which the kernel counts for itself before it counts for those
outside. So it holds for all inside, and for namespaces that a nested agent makes. The agent can write no
setting (`launcher.mounts`). Where /proc/sys cannot be written the kernel's own bounds stand alone.

Not done here: what a namespace has no bound of its own for (descriptors in flight, watches of epoll, pages of
pipes; docs/threat-model.md names them).
"""

import contextlib
from typing import Final

_SETTINGS: Final = "/proc/sys"
_COUNTED: Final = {
    "user/max_inotify_instances": "fs/inotify/max_user_instances",
    "user/max_inotify_watches": "fs/inotify/max_user_watches",
}
"""The setting of a user namespace, and the one that bounds the user as a whole."""


def leave_half() -> None:
    """Have the current user namespace use half at the most."""
    for ours, users in _COUNTED.items():
        with contextlib.suppress(OSError):
            most = allowed(users)
            with open(f"{_SETTINGS}/{ours}", "wb", buffering=0) as file:
                file.write(b"%d" % max(most // 2, 1))


def allowed(setting: str) -> int:
    """Return how many a user may have."""
    with open(f"{_SETTINGS}/{setting}", "rb", buffering=0) as file:
        return int(file.read())

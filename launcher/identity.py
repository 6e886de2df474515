"""Who the agent is on the host. It is never uid 0: sysctl files and much else look at the uid alone.

An ordinary caller's agent keeps the caller's uid and gid. Root's agent becomes the user who called sudo,
and without one a uid that nothing on the host belongs to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

UNOWNED_ID: Final = 65533
"""In no distribution's range for users or services, and not the overflow id 65534 that stands for
every owner the namespace does not know: files of strangers must not look like the agent's own."""

_ID_MAX: Final = (1 << 32) - 2  # (uid_t) -1 means "no change"


@dataclass(frozen=True, slots=True)
class Identity:
    """The uid and gid that the agent has, the same inside and outside."""

    uid: int
    gid: int
    changed: bool
    """True when the caller is root, so that the agent is somebody else."""


def _identifier(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()):
        return None
    number = int(text)
    return number if 0 < number <= _ID_MAX else None


def agent_identity(uid: int, gid: int, environ: Mapping[str, str]) -> Identity:
    """Who runs the agent that a caller with `uid`, `gid` and `environ` starts."""
    if uid != 0:
        return Identity(uid, gid, changed=False)
    sudo_uid = _identifier(environ.get("SUDO_UID", ""))
    sudo_gid = _identifier(environ.get("SUDO_GID", ""))
    if sudo_uid is None or sudo_gid is None:
        return Identity(UNOWNED_ID, UNOWNED_ID, changed=True)
    return Identity(sudo_uid, sudo_gid, changed=True)

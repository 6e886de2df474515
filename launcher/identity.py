"""Who the agent is on the host. It is never uid 0: sysctl files and much else look at the uid alone.

An ordinary caller's agent keeps the caller's uid and gid. Root's agent becomes the user who called sudo,
and without one a uid that nothing on the host belongs to. What it sees itself as is the same, unless a replay
shows it the ids of the recorded run: the user namespace maps them, and on the host nothing changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hark.errors import ConfinementError

UNOWNED_ID: Final = 65533
"""In no distribution's range for users or services, and not the overflow id 65534 that stands for
every owner the namespace does not know: files of strangers must not look like the agent's own."""

_ID_MAX: Final = (1 << 32) - 2  # (uid_t) -1 means "no change"


@dataclass(frozen=True, slots=True)
class Identity:
    """The uid and gid that the agent has on the host, and those that it sees itself have."""

    uid: int
    gid: int
    changed: bool
    """True when the caller is root, so that the agent is somebody else."""
    seen: tuple[int, int] | None = None
    """uid and gid inside, where they are others than outside."""

    @property
    def inside(self) -> tuple[int, int]:
        """Return the uid and gid that the agent sees itself have."""
        return self.seen or (self.uid, self.gid)


def _identifier(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()):
        return None
    number = int(text)
    return number if 0 < number <= _ID_MAX else None


def may_be_seen(identifier: int) -> bool:
    """Tell whether an agent may see itself as this uid or gid: never as root."""
    return 0 < identifier <= _ID_MAX


def agent_identity(
    uid: int, gid: int, environ: Mapping[str, str], seen: tuple[int, int] | None = None
) -> Identity:
    """Who runs the agent that a caller with `uid`, `gid` and `environ` starts, `seen` as these ids inside."""
    if seen is not None and not all(may_be_seen(one) for one in seen):
        raise ConfinementError(f"no agent may see itself as uid {seen[0]} and gid {seen[1]}")
    return replace(_on_host(uid, gid, environ), seen=seen)


def _on_host(uid: int, gid: int, environ: Mapping[str, str]) -> Identity:
    if uid != 0:
        return Identity(uid, gid, changed=False)
    sudo_uid = _identifier(environ.get("SUDO_UID", ""))
    sudo_gid = _identifier(environ.get("SUDO_GID", ""))
    if sudo_uid is None or sudo_gid is None:
        return Identity(UNOWNED_ID, UNOWNED_ID, changed=True)
    return Identity(sudo_uid, sudo_gid, changed=True)


def check_known(identity: Identity) -> None:
    """Raise ConfinementError where root cannot make the agent somebody else: its namespace knows nobody."""
    if not identity.changed:
        return
    for kind, number in (("uid", identity.uid), ("gid", identity.gid)):
        if not _is_mapped(kind, number):
            raise ConfinementError(
                f"root here cannot give the agent the {kind} {number}, which /proc/self/{kind}_map does not "
                f"have: run hark as an ordinary user, or in a container that maps {kind}s up to {number}"
            )


def _is_mapped(kind: str, number: int) -> bool:
    try:
        with open(f"/proc/self/{kind}_map", "rb") as file:
            ranges = [tuple(map(int, line.split())) for line in file]
    except OSError:
        return True  # without /proc something else is said
    return any(first <= number < first + count for first, _, count in ranges)

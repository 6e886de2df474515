"""Reads the policy again while the run goes on (`-follow-policy`): what may be reached changes, nothing else.

Always: a file that is not a policy, or not one that is safe to follow, leaves the old one in force, and that
is said once; it is read only when it has not changed for one interval, so that it is not taken half-written.
The agent can write to the file by no path: `check` refuses one that lies in anything the agent may write to,
and a link or a file with a second name is not followed.

Not done here: grants, secrets, limits and the environment. They are settled before the agent starts; changes
to them are named, and count from the next run on.
"""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Final

from hark.errors import PolicyError
from hark.given import open_given, read_open
from hark.policy.model import Policy
from hark.policy.parse import MAX_POLICY, parse_policy

INTERVAL_S: Final = 0.5
_LIVE: Final = ("allow_hosts", "allow", "source", "raw", "rules", "by_host", "allow_all")
"""Fields of a policy that a change may touch while the run goes on, or that no file says."""
_KEYS: Final = {
    "env_pass": "env.pass",
    "env_set": "env.set",
    "mask": "project.mask",
    "unmask": "project.unmask",
    "unprotect": "project.unprotect",
    "max_bytes": "record.max_bytes",
    "executables": "exec",
    "tokens": "token",
    "git_https": "git.https",
    "nested_sandboxes": "sandbox.nested",
}
"""How the file spells a field, where it is not by the field's own name."""

type Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reread:
    """A policy to put into force, and the parts of it that wait for the next run."""

    policy: Policy
    waiting: tuple[str, ...]


def check(path: str, writable: Iterable[str]) -> str:
    """Return the real path of a policy that may be followed. Raises PolicyError."""
    real = os.path.realpath(path)
    os.close(_open(real))
    above = [os.path.dirname(real)]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    places = {_place(directory): directory for directory in above}
    for grant in writable:
        if grant == real or _place(grant) in places:
            raise PolicyError(
                f"-follow-policy: {path} lies in {grant}, which the agent may write to; keep it elsewhere"
            )
    return real


def reread(path: str, current: Policy) -> Reread | None:
    """Read the file; None where it says what is in force already. Raises PolicyError."""
    with open(_open(path), "rb") as file:
        raw = read_open(file, MAX_POLICY, f"policy {path}")
    if raw == current.raw:
        return None
    new = parse_policy(raw, current.source)
    waiting = tuple(
        _KEYS.get(field.name, field.name)
        for field in fields(Policy)
        if field.name not in _LIVE and getattr(new, field.name) != getattr(current, field.name)
    )
    return Reread(replace(current, allow_hosts=new.allow_hosts, allow=new.allow, raw=raw), waiting)


class Follower:
    """Looks at the file until `stop`. `take` puts a policy into force; `say` tells the user."""

    def __init__(
        self,
        path: str,
        current: Policy,
        take: Callable[[Policy], None],
        say: Callable[[str], None],
    ) -> None:
        """`take` MAY raise PolicyError: the old one stays in force."""
        self._path = path
        self._current = current
        self._take = take
        self._say = say
        self._taken: Stamp | None = None  # it may have changed since it was read first
        self._seen = _stamp(path)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="policy", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. Idempotent; may come before `start`."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        """Look once: a changed file that has stood still since the last look is read."""
        stamp = _stamp(self._path)
        settled, self._seen = stamp == self._seen, stamp
        if stamp == self._taken or not settled:
            return
        self._taken = stamp
        try:
            read = reread(self._path, self._current)
            if read is None:
                return
            self._take(read.policy)
        except PolicyError as error:
            self._say(f"the policy stays as it was: {error}")
            return
        self._change(read)

    def _change(self, read: Reread) -> None:
        self._current = read.policy
        self._say(f"{read.policy.source} changed, and what may be reached with it")
        if read.waiting:
            self._say(f"other changes to it count from the next run on: {', '.join(read.waiting)}")

    def _run(self) -> None:
        while not self._stopping.wait(INTERVAL_S):
            self.look()


def _open(path: str) -> int:
    """Open a regular file that has one name. Raises PolicyError."""
    descriptor = open_given(path, f"policy {path}")
    found = os.fstat(descriptor)
    if found.st_nlink == 1 and _stamp(path)[:2] == (found.st_dev, found.st_ino):
        return descriptor
    os.close(descriptor)
    what = "has a second name (a hard link)" if found.st_nlink != 1 else "is a link now"
    raise PolicyError(f"{path} {what}, so that the agent might be able to write to it")


def _place(path: str) -> tuple[int, int]:
    """Return which directory a path is, by whatever name: two mounts of one directory are the same."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _stamp(path: str) -> Stamp:
    """Return what changes with every write; one value for a file that is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_nlink)

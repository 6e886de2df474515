"""What git goes on with: an operation that was begun, a conflict, the branch that it is on.

An agent may leave such behind: its `exec` lines run at the caller's `git rebase --continue`, its `MERGE_RR`
has `git commit` read any file into the repository, and a branch whose name leads out of it has `git commit`
write there. Always: what git itself would not have written, file by file (`hark.plan.sessions`), is not
harmless. A begun rebase, series of picks or mailbox is put aside whole, so that git is in the middle of
nothing: with one file away git would go on in another way than was asked of it.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from hark.plan.sessions import ANYTHING, FILES, SESSIONS, Form, is_ref
from hark.plan.ways import text_of

_HASH: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\s*")
_HEADS: Final = (
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
    "AUTO_MERGE",
    "NOTES_MERGE_REF",
    "NOTES_MERGE_PARTIAL",
)


class Ill(NamedTuple):
    """What is to be put aside, and the file that it is for: the same, or one in that folder."""

    path: str
    cause: str


def _is_head(text: str) -> bool:
    return _HASH.fullmatch(text) is not None or (text.startswith("ref:") and is_ref(text))


def strayed(git: str) -> Iterator[str]:
    """Yield the names below `refs` that lead elsewhere: git follows them when it commits, and makes none."""
    for folder, _, names in os.walk(f"{git}/refs"):
        yield from (path for name in names if not is_ref(text_of(path := f"{folder}/{name}")))


def ill(git: str) -> Iterator[Ill]:
    """Yield what leads git astray, in the directory of a repository or a worktree."""
    alone = [f"{git}/MERGE_RR"] * os.path.lexists(f"{git}/MERGE_RR")
    if os.path.lexists(f"{git}/HEAD") and not _is_head(text_of(f"{git}/HEAD")):
        alone.append(f"{git}/HEAD")
    alone += [f"{git}/{name}" for name in _HEADS if not is_ref(text_of(f"{git}/{name}"))]
    alone += [
        f"{git}/{name}"
        for name, is_gits in FILES.items()
        if os.path.lexists(f"{git}/{name}") and not _is_sound(f"{git}/{name}", is_gits)
    ]
    yield from (Ill(path, path) for path in alone)
    for name in SESSIONS:
        yield from _ill_in(f"{git}/{name}", name)


def known(
    repositories: Iterable[str], identity: Callable[[str], tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Return what leads git astray in repositories already: nobody's but the caller's while it stays so."""
    return {one.cause: identity(one.cause) for git in repositories for one in ill(git)}


def _is_sound(path: str, is_gits: Form) -> bool:
    """Tell whether git has written a file; a text of any kind may have any length."""
    if is_gits is ANYTHING:
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except OSError:
            return False
    text = text_of(path)
    return "\0" not in text and is_gits(text)


def _ill_in(session: str, name: str) -> Iterator[Ill]:
    """Yield what git has not written in what it goes on with."""
    if not os.path.lexists(session):
        return
    if os.path.islink(session):
        yield Ill(session, session)
        return
    try:
        entries = [entry.name for entry in os.scandir(session)]
    except OSError:
        yield Ill(session, session)
        return
    for entry in entries:
        is_gits = SESSIONS[name](entry)
        path = f"{session}/{entry}"
        if is_gits is None or not _is_sound(path, is_gits):
            yield Ill(session, path)

"""Runs that a folder says were made before: each counts again only by what its own bundle shows.

What always holds: a run that is counted left a bundle that verifies, under the key that the forks of now are
signed with; it is a fork of this bundle, at the branch point and with the patch that the run is noted for;
no other run left the same one; and read again, it shows what was noted. Anything else is run anew, and so is
a run that showed nothing.

Not done here: to know the policy and the servers of that fork, which a bundle of the caller's own that was
put there from elsewhere may have had others of. So no verdict stands on kept runs alone: those that confirm
and control it are always new (`hark.bisect.bisecting`).
"""

from collections.abc import Iterator
from typing import Final

from hark.bisect.counting import Shown
from hark.bisect.driver import Done, Question
from hark.bisect.folder import Folder
from hark.bisect.judging import Judge
from hark.bisect.removal import as_file
from hark.bundle.events import Branch, decode_frame
from hark.bundle.outcome import RECORDER_FAILED, split
from hark.errors import HarkError
from hark.replay.recorded import Frame
from hark.unchanged import Unchanged
from hark.verify.result import VERIFIED, Result
from hark.verify.steps import verify

_COUNTED: Final = frozenset((Shown.SEEN, Shown.GONE))


def counted(folder: Folder, judge: Judge, key: bytes) -> Iterator[Done]:
    """Yield the runs that count; `key` is the public one of the forks of now."""
    roots: set[bytes] = set()
    for done in folder.noted:
        if done.shown not in _COUNTED:
            continue
        try:
            root = _root(folder.bundle_of(done), done, judge, key)
        except (OSError, HarkError):
            continue
        if root and root not in roots:
            roots.add(root)
            yield done


def _root(path: str, done: Done, judge: Judge, key: bytes) -> bytes:
    """Return the root of the bundle that a run left; empty where it is not this run's."""
    verified = verify(path, own=key)
    if not _is_ours(verified, judge):
        return b""
    asked: list[str] = []
    shown = judge.frames(_noting(Unchanged(path, verified), judge.parent, asked))
    return verified.root if asked == [done.key] and shown == (done.shown, "") else b""


def _noting(file: Unchanged, parent: bytes, asked: list[str]) -> Iterator[Frame]:
    """Yield a fork's events, and note what was changed in it, and where."""
    for frame in file.frames():
        if frame.payload:
            event = decode_frame(frame)
            if isinstance(event, Branch) and event.parent == parent:
                asked.append(Question(event.at, as_file(event.patch)).key)
            yield Frame(frame.seq, frame.time, event)


def _is_ours(verified: Result, judge: Judge) -> bool:
    whole = verified.verdict == VERIFIED and not verified.redacted
    signed = bool(verified.public_key) and verified.own
    end = verified.run_end
    ended = end is not None and split(end.reason)[0] != RECORDER_FAILED
    return whole and signed and ended and verified.header.parent_root == judge.parent

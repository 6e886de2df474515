"""One bundle verified and read for a comparison, and two of them at once where there is a second core.

What always holds: nothing is read out of a bundle that is BROKEN. Memory grows with the number of events (48
bytes each) and of actions, and not with what they carry. A payload that was taken out is counted. What a
second process read is what this one would have read; where it has no answer, this one reads, and meets what
stopped it.
"""

import os
import pickle
import signal
from array import array
from typing import BinaryIO, Final, NamedTuple, NoReturn

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.frame import FRAME_OVERHEAD
from hark.errors import BundleError, PolicyError, ReplayError
from hark.policy.jsonpath import PathError
from hark.replay.actions import Collector, Streams
from hark.replay.canonical import NO_RULES, Rules
from hark.replay.treatment import ignored
from hark.unchanged import Unchanged
from hark.verify.parallel import spare_workers
from hark.verify.result import BROKEN, Result
from hark.verify.steps import verify

PAYS: Final = 1 << 20  # bytes of a bundle from which on a second process is worth its start
_MANIFEST: Final = 4
_SNAPSHOT: Final = 38
_SKIPPED: Final = frozenset((_SNAPSHOT, 48))  # snapshots and clock logs: large, and no part of an action
_ABOUT: Final = frozenset((1, 2, 3, 49))  # what a run began with, and where it became live
_OF_EXCHANGES: Final = frozenset(kind.number for kind in ev.KINDS if "exchange" in kind.event._fields)
_UNREAD: Final = frozenset(kind.number for kind in ev.KINDS if ignored(kind.number)) - _ABOUT - _OF_EXCHANGES
"""Of what is no part of an action, what is not even decoded."""


class Read(NamedTuple):
    """What one reading gives."""

    verified: Result
    start: RunStart
    branches: list[tuple[int, ev.Branch]]
    taken_out: int
    """Events without their payload."""
    loaded: ev.PolicyLoaded | None
    env: dict[str, str]
    streams: Streams
    offsets: "array[int]"
    """Of each event: where it starts, how long it is, and its leaf."""
    sizes: "array[int]"
    leaves: bytes
    exchanges: dict[int, "array[int]"]
    """The events of each exchange."""
    manifests: "array[int]"
    """The events of the project's manifest."""
    snapshots: "array[int]"
    """The events of what its files held."""

    def rules(self) -> Rules:
        """Return what the run's placeholders are called. What its policy leaves out of a replay counts."""
        return _rules(self.loaded, self.env)


def read(path: str) -> Read:
    """Verify a bundle and read it. Raises BundleError."""
    verified = verify(path)
    if verified.verdict == BROKEN:
        raise BundleError(f"nothing is compared with {path}, which does not verify: {verified.line()}")
    try:
        return _read(path, verified)
    except ReplayError:
        raise BundleError(f"{path} was changed while it was read; compare it again") from None


def read_both(one: str, other: str) -> tuple[Read, Read]:
    """Return two readings, by two processes where that pays. Raises BundleError."""
    alone = min(os.path.getsize(path) for path in (one, other)) < PAYS or not spare_workers()
    forked = None if alone else _forked()
    if forked is None:
        return read(one), read(other)
    pid, take, give = forked
    if pid == 0:
        os.close(take)
        _read_and_leave(other, os.fdopen(give, "wb"))
    os.close(give)
    with os.fdopen(take, "rb") as pipe:
        try:
            first, second = read(one), _answer(pipe)
        finally:
            os.kill(pid, signal.SIGKILL)  # it has answered, or nobody waits for it any more
            os.waitpid(pid, 0)
    return first, second or read(other)


def _forked() -> tuple[int, int, int] | None:
    """Fork with a pipe: process, its end to read, its end to write; None where the system gives none."""
    try:
        take, give = os.pipe()
    except OSError:
        return None
    try:
        return os.fork(), take, give
    except OSError:
        os.close(take)
        os.close(give)
        return None


def _read_and_leave(path: str, out: BinaryIO) -> NoReturn:
    try:
        pickle.dump(read(path), out, pickle.HIGHEST_PROTOCOL)
        out.flush()
    finally:
        os._exit(0)


def _answer(pipe: BinaryIO) -> Read | None:
    try:
        found = pickle.load(pipe)  # noqa: S301 - from our own fork, not from a file
    except (EOFError, pickle.UnpicklingError):
        return None
    return found if isinstance(found, Read) else None


def _read(path: str, verified: Result) -> Read:  # noqa: PLR0912 (one pass over all events)
    start, branches, taken_out = RunStart(), list[tuple[int, ev.Branch]](), 0
    loaded: ev.PolicyLoaded | None = None
    env: dict[str, str] = {}
    collector: Collector | None = None
    offsets, sizes, leaves = array("Q"), array("L"), bytearray()
    exchanges: dict[int, array[int]] = {}
    manifests, snapshots = array("Q"), array("Q")
    redacted = frozenset(verified.redacted)
    for chunk in Unchanged(path, verified).chunks():
        offsets.extend([chunk.at + start for start in chunk.starts])
        sizes.extend([FRAME_OVERHEAD + head[0] for head in chunk.heads])
        for frame in chunk.frames():
            kind, seq = frame.kind, frame.seq
            leaves += frame.leaf
            if kind == _MANIFEST and seq not in redacted:
                manifests.append(seq)
            if kind in _SKIPPED:
                if kind == _SNAPSHOT and seq not in redacted:
                    snapshots.append(seq)
                continue
            if not frame.payload and seq in redacted:
                taken_out += 1
                continue
            if kind in _UNREAD:
                continue
            event = ev.decode_frame(frame)
            match event:
                case _ if kind not in _ABOUT:
                    if collector is None:
                        collector = Collector(_rules(loaded, env))
                    collector.add(seq, event)
                case RunStart():
                    start = event
                case ev.PolicyLoaded() if loaded is None:
                    loaded = event
                case ev.EnvSnapshot() if collector is None:
                    env |= event.vars
                case ev.Branch():
                    branches.append((seq, event))
            if kind in _OF_EXCHANGES and (exchange := getattr(event, "exchange", 0)):
                known = exchanges.get(exchange)
                if known is None:
                    known = exchanges[exchange] = array("Q")
                known.append(seq)
    streams = Streams({}, None) if collector is None else collector.streams()
    return Read(
        verified=verified,
        start=start,
        branches=branches,
        taken_out=taken_out,
        loaded=loaded,
        env=env,
        streams=streams,
        offsets=offsets,
        sizes=sizes,
        leaves=bytes(leaves),
        exchanges=exchanges,
        manifests=manifests,
        snapshots=snapshots,
    )


def _rules(loaded: ev.PolicyLoaded | None, env: dict[str, str]) -> Rules:
    from hark.policy.parse import parse_policy

    try:
        policy = parse_policy(loaded.raw if loaded is not None else b"", "policy")
        return Rules({env[one.name]: one.name for one in policy.secrets if one.name in env})
    except (PolicyError, PathError):
        return NO_RULES

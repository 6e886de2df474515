"""One bundle as a side of a comparison: verified, read once, and what is shown of an action read again.

What always holds: nothing is read out of a bundle that is BROKEN; what is read later has the leaf that was
verified, or it is an error. Memory grows with the number of events (48 bytes each) and of actions, and not
with what they carry. A payload that was taken out is counted, and compared with nothing.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, Self

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.frame import FRAME_OVERHEAD, Frame, unpack
from hark.bundle.hashing import HASH_SIZE, leaf_hash
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, PolicyError, ReplayError
from hark.policy.jsonpath import PathError
from hark.replay.actions import Action, Collector, Streams
from hark.replay.canonical import NO_RULES, Rules
from hark.replay.content import Content, content
from hark.unchanged import Unchanged
from hark.verify.result import BROKEN, TRUNCATED
from hark.verify.steps import verify

_SKIPPED: Final = frozenset((38, 48))  # snapshots and clock logs: large, and no part of an action

type Told = tuple[int, int, ev.Event | ev.Unknown]


class Side:
    """One bundle. Closes itself at the end of a `with`."""

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self.verified: Final = verify(path)
        if self.verified.verdict == BROKEN:
            raise BundleError(
                f"nothing is compared with {path}, which does not verify: {self.verified.line()}"
            )
        self.start = RunStart()
        self.branches: list[tuple[int, ev.Branch]] = []
        self.taken_out = 0
        self.streams = Streams({}, None)
        self.rules = NO_RULES
        self._offsets, self._sizes, self._leaves = array("Q"), array("L"), bytearray()
        self._exchanges: dict[int, array[int]] = {}
        self._file: Final = BundleFile(path)
        self._read()

    @property
    def truncated(self) -> bool:
        """Tell whether the record breaks off."""
        return self.verified.verdict == TRUNCATED

    def content(self, action: Action) -> Content:
        """Return what an action was, in full. Raises BundleError."""
        return content(self._told(action), action, self.rules)

    def _read(self) -> None:
        try:
            collector: Collector | None = None
            env: dict[str, str] = {}
            loaded: ev.PolicyLoaded | None = None
            for placed in Unchanged(self.path, self.verified).placed():
                frame = placed.frame
                self._note(placed.offset, frame)
                if frame.kind in _SKIPPED:
                    continue
                if not frame.payload and frame.seq in self.verified.redacted:
                    self.taken_out += 1
                    continue
                event = ev.decode_frame(frame)
                match event:
                    case RunStart():
                        self.start = event
                    case ev.PolicyLoaded() if loaded is None:
                        loaded = event
                    case ev.EnvSnapshot() if collector is None:
                        env |= event.vars
                    case ev.Branch():
                        self.branches.append((frame.seq, event))
                    case _:
                        if collector is None:
                            self.rules = _rules(loaded, env)
                            collector = Collector(self.rules)
                        collector.add(frame.seq, event)
                exchange = getattr(event, "exchange", 0)
                if exchange:
                    self._exchanges.setdefault(exchange, array("Q")).append(frame.seq)
        except ReplayError:
            raise BundleError(f"{self.path} was changed while it was read; compare it again") from None
        self.streams = collector.streams() if collector is not None else self.streams

    def _note(self, offset: int, frame: Frame) -> None:
        self._offsets.append(offset)
        self._sizes.append(FRAME_OVERHEAD + len(frame.payload))
        self._leaves += frame.leaf

    def _told(self, action: Action) -> Iterator[Told]:
        """Yield the events of an action's exchange from its first on, or its only one."""
        seqs = self._exchanges.get(action.exchange) if action.exchange else None
        if seqs is None:
            yield self._again(action.seq)
            return
        for at in range(bisect_left(seqs, action.seq), len(seqs)):
            yield self._again(seqs[at])

    def _again(self, seq: int) -> Told:
        frame = unpack(self._file.read(self._offsets[seq], self._sizes[seq]))
        leaf = bytes(self._leaves[seq * HASH_SIZE : (seq + 1) * HASH_SIZE])
        if frame is None or leaf_hash(seq, frame.kind, frame.payload) != leaf:
            raise BundleError(f"{self.path} was changed while it was read; compare it again")
        return seq, frame.time, ev.decode_frame(frame)

    def close(self) -> None:
        """Let the file go; again is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _rules(loaded: ev.PolicyLoaded | None, env: dict[str, str]) -> Rules:
    """Return how the run's placeholders are called. What its policy leaves out of a replay is compared."""
    from hark.policy.parse import parse_policy

    try:
        policy = parse_policy(loaded.raw if loaded is not None else b"", "policy")
        return Rules({env[one.name]: one.name for one in policy.secrets if one.name in env})
    except (PolicyError, PathError):
        return NO_RULES

"""What a fork did where it was live, read from its own bundle: actions, calls of models, tokens, money, time.

What always holds: the bundle is verified, and read as it was verified; what was played from the recording is
not counted. Its last branch is its own: a fork of a fork has those of its parents before it.
"""

from dataclasses import dataclass

from hark.bundle.bounds import RunEnd
from hark.bundle.events import Branch, Rewritten, decode_frame
from hark.compare.prices import Table
from hark.compare.spent import Spent
from hark.conversation import loose
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.conversation.values import ModelCall
from hark.diff.side import Side
from hark.errors import BundleError, ReplayError
from hark.replay.recorded import REQUEST, Frame
from hark.unchanged import Unchanged
from hark.verify.result import VERIFIED


@dataclass(frozen=True, slots=True)
class Measured:
    """A fork's live part."""

    actions: int
    spent: Spent
    live_ns: int
    """From the branch to the last event."""
    end: RunEnd | None


def measure(path: str, model: str, prices: Table) -> Measured:
    """Read a fork's bundle; `model` is what live requests were sent to. Raises BundleError."""
    with Side(path) as side:
        if side.verified.verdict != VERIFIED or not side.branches:
            raise BundleError(f"{path} is not the bundle of a fork that ended: {side.verified.line()}")
        since, branch = side.branches[-1]
        actions = sum(
            action.seq > since or _is_branch(branch, action.exchange)
            for listed in side.streams.actions.values()
            for action in listed
        )
        reading = _Reading(since, branch, model, prices)
        try:
            for frame in Unchanged(path, side.verified).frames():
                if frame.payload:
                    reading.take(Frame(frame.seq, frame.time, decode_frame(frame)))
        except ReplayError:
            raise BundleError(f"{path} was changed while it was read; measure it again") from None
        return Measured(actions, reading.ended(), reading.last_ns - reading.since_ns, side.streams.end)


class _Reading:
    """One pass over a fork's events."""

    def __init__(self, since: int, branch: Branch, model: str, prices: Table) -> None:
        self.since_ns = 0
        self.last_ns = 0
        self._since, self._branch, self._model, self._prices = since, branch, model, prices
        self._spent = Spent()
        self._sent: dict[int, bytes] = {}
        self._exchanges = Exchanges()

    def take(self, frame: Frame) -> None:
        self.last_ns = max(self.last_ns, frame.time_ns)
        if frame.seq == self._since:
            self.since_ns = self.last_ns = frame.time_ns
        if isinstance(frame.event, Rewritten):
            self._sent[frame.event.exchange] = frame.event.body
        for heard in self._exchanges.add(frame):
            self._hear(heard)

    def ended(self) -> Spent:
        for heard in self._exchanges.rest():
            self._hear(heard)
        return self._spent

    def _hear(self, heard: Heard) -> None:
        sent = self._sent.pop(heard.exchange, None)
        if heard.seq < self._since and not _is_branch(self._branch, heard.exchange):
            return
        call = model_call(heard)
        if call is not None:
            self._spent.add(call, _asked(call, sent, self._model), self._prices)


def _is_branch(branch: Branch, exchange: int) -> bool:
    """Tell whether it is the exchange whose request was the first to be asked live."""
    return branch.side == REQUEST and exchange != 0 and exchange == branch.exchange


def _asked(call: ModelCall, sent: bytes | None, model: str) -> str:
    """Return the model that a request was sent to: its own, or what was put there instead."""
    if sent is None:
        return call.model
    return loose.text(loose.mapping(loose.load(sent)).get("model")) or model

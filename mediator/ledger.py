"""What the mediator puts on the record: attempts before their decisions, exchanges numbered, nothing skipped.

Always: `append` returns only once the event is recorded. A recorder that fails, or a flood past
`MAX_ATTEMPTS_PER_SECOND`, marks the run as failed (`on_fatal`, once) and raises: the caller's flow dies. So
does what the policy's limits on the record do not allow, and then the run is ended (`on_limit`), as by a
value that came from where it does not belong.
Denials are on the disk before their answer: whoever answers awaits `settled` first, and other flows go on
meanwhile. Tables that the agent could grow are bounded, their events are not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from hark.bundle.events import (
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    Event,
    Input,
    LlmRequest,
    McpMessage,
    RequestChunk,
    SecretInjected,
    TokenSeen,
    TunnelData,
    WebSocketMessage,
)
from hark.errors import LimitError, RecordError
from hark.policy.decide import Allow, Deny, Verdict
from mediator import strays
from mediator.authority import Destination
from mediator.callers import CALLER
from mediator.config import Recorder
from mediator.credentials import Injection
from mediator.pace import Pace
from mediator.text import clipped

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

MAX_TOKEN_NAME: Final = 64  # names of cookies and members are shorter
MAX_SUMMARY: Final = 1000  # distinct denied targets that are counted one by one; nobody reads more lines
MAX_ATTEMPTS_PER_SECOND: Final = 2000
"""Names asked for and connections made. A test suite makes some hundred; what makes more is filling the disk
with denials, and is ended in words rather than dropped in silence. Rejected packets count too, but there are
never enough of them: `mediator.watcher` names some thousand and counts the rest."""
MAX_BURST: Final = 20_000
_OF_AGENTS: Final = frozenset(
    (EgressAttempt, DnsQuery, LlmRequest, RequestChunk, WebSocketMessage, TunnelData, McpMessage)
)
"""What may be an agent's doing."""
SUSTAINED_S: Final = 10  # of `limits.events_per_s`: shorter bursts are how programs start and talk


@dataclass(frozen=True, slots=True)
class Denied:
    """One target that was refused, how often and why the first time.

    `rule` is the `allow_hosts` entry that would allow it, empty where none would.
    """

    host: str
    port: int
    protocol: str
    count: int
    rule: str
    reason: str = ""
    table: str = ""
    """The `[[allow]]` table that would allow it, where an entry of `allow_hosts` would not."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is printed at the end of a run."""

    denied: tuple[Denied, ...] = ()
    denied_uncounted: int = 0
    """Denials beyond `MAX_SUMMARY` distinct targets. Each is in the record."""
    secrets: tuple[tuple[str, str, int], ...] = ()
    """Secret, host and number of injections."""
    warnings: tuple[str, ...] = ()
    tokens: tuple[TokenSeen, ...] = ()
    """What looked like a token in answers, once each."""


@dataclass(slots=True)
class _Tally:
    denied: dict[tuple[str, int, str, str], Denied] = field(default_factory=dict)
    uncounted: int = 0
    secrets: dict[tuple[str, str], int] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    tokens: dict[TokenSeen, None] = field(default_factory=dict)


class Ledger:
    """The one way to the recorder. Safe to call from any thread."""

    def __init__(
        self,
        recorder: Recorder,
        on_fatal: Callable[[str], None],
        clock: Callable[[], float],
        *,
        events_per_s: int | None = None,
        on_limit: Callable[[str], None] | None = None,
        check: Callable[[Event], None] | None = None,
        observer: Callable[[Event], None] | None = None,
    ) -> None:
        """`check` sees each event before it is recorded, `observer` after; neither MUST block."""
        self._check = check
        self._observer = observer
        self._recorder = recorder
        self._on_fatal = on_fatal
        self._on_limit = on_limit or on_fatal
        self._clock = clock
        self._lock = threading.Lock()
        self._exchange = 0
        self._attempts = Pace(MAX_ATTEMPTS_PER_SECOND, MAX_BURST, clock())
        self._limit = events_per_s
        self._events = (
            None if events_per_s is None else Pace(events_per_s, events_per_s * SUSTAINED_S, clock())
        )
        self._tally = _Tally()
        self._last = -1
        self._heads: dict[int, Callable[[], None]] = {}
        self._syncer: ThreadPoolExecutor | None = None
        self._closed = False
        self.fatal: str | None = None

    def append(self, event: Event, *, durable: bool = False) -> None:
        """Record `event`. Raises RecordError, and then the run is marked."""
        if self.fatal is not None:
            raise RecordError(f"nothing is recorded after a failure: {self.fatal}")
        try:
            self._keep_pace()
            if self._heads and type(event) in _OF_AGENTS:
                self._record_heads()
            if self._check is not None:
                self._check(event)
            self._last = self._recorder.append(event, durable=durable)
            if self._observer is not None:
                self._observer(event)
        except LimitError as error:
            self._mark(str(error), self._on_limit)
            raise
        except Exception as error:
            self.fail(f"{_called(event)} could not be recorded: {error}")
            raise

    def head_passed(self, exchange: int, record: Callable[[], None]) -> None:
        """Have the head of an answer, which the agent has, recorded before what the agent does next.

        Else a reader could not tell whether that came before it or after. `record` MUST append it, or nothing
        where it is known already, and calls back here by `head_known`.
        """
        self._heads[exchange] = record

    def head_known(self, exchange: int) -> None:
        """Leave it: where the head came is on the record."""
        self._heads.pop(exchange, None)

    def _record_heads(self) -> None:
        heads, self._heads = self._heads, {}
        for record in heads.values():
            record()

    def fail(self, reason: str) -> None:
        """Mark the run as failed. The first reason is the one that counts."""
        self._mark(reason, self._on_fatal)

    def ended(self, source: object, reason: str) -> None:
        """Hear why a stream of `source` ended, once that is on the record.

        Where a value came from where it does not belong the run ends: nothing more is recorded or passed. So
        does a replay, in which it came when the run was recorded.
        """
        name = strays.secret_in(reason)
        if name is not None:
            self._mark(strays.end(name, source), self._on_limit)

    async def settled(self) -> None:
        """Return once all that was recorded up to now is on the disk. Raises RecordError."""
        import asyncio

        await asyncio.wrap_future(self.settle())

    def settle(self) -> Future[None]:
        """Begin to have all that was recorded up to now on the disk. Who waits together shares one sync."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the ledger is closed")
            if self._syncer is None:
                from concurrent.futures import ThreadPoolExecutor

                self._syncer = ThreadPoolExecutor(1, "sync")  # one: who comes meanwhile waits for the next
            syncer = self._syncer
        return syncer.submit(self._sync, self._last)

    def close(self) -> None:
        """Wait for what `settle` began; nothing more may be begun."""
        with self._lock:
            self._closed, syncer = True, self._syncer
        if syncer is not None:
            syncer.shutdown()

    def _sync(self, seq: int) -> None:
        try:
            self._recorder.sync(seq)
        except Exception as error:
            self.fail(f"a denial could not be recorded for good: {error}")
            raise

    def _mark(self, reason: str, tell: Callable[[str], None]) -> None:
        with self._lock:
            first, self.fatal = self.fatal is None, self.fatal or reason
        if first:
            tell(reason)

    def _keep_pace(self) -> None:
        """Raise LimitError where the policy allows no more events."""
        if self._events is None:
            return
        with self._lock:
            slow = self._events.take(self._clock())
        if not slow:
            raise LimitError(
                f"limits.events_per_second was reached: more than {self._limit} events a second "
                f"over {SUSTAINED_S} seconds"
            )

    def next_exchange(self) -> int:
        """Return a number that no other exchange of the run has."""
        with self._lock:
            self._exchange += 1
            return self._exchange

    def attempt(self, target: Destination, protocol: str, sni: str, verdict: Verdict) -> None:
        """Record an attempt and then what was decided about it. A denial is not answered before `settled`."""
        self._admit()
        caller = CALLER.get()
        self.append(EgressAttempt(target.host, target.port, protocol, sni, *caller))
        if isinstance(verdict, Allow):
            self.append(EgressDecision(host=target.host, allowed=True, rule=verdict.rule))
            return
        self._count(target.host, target.port, protocol, verdict)
        self.append(EgressDecision(host=target.host, allowed=False, rule="", reason=verdict.reason))

    def query(self, name: str, kind: str, number: int) -> None:
        """Record a DNS question."""
        self._admit()
        self.append(DnsQuery(name=name, type=kind, raw_type=number))

    def answered(self, name: str, verdict: Verdict, answer: str) -> None:
        """Record what was decided about a DNS question. A denial is not answered before `settled`."""
        if isinstance(verdict, Allow):
            self.append(DnsDecision(name=name, allowed=True, rule=verdict.rule, answer=answer))
            return
        self._count(name, 0, "dns", verdict)
        self.append(DnsDecision(name=name, allowed=False, reason=verdict.reason))

    def injected(self, target: Destination, injection: Injection) -> None:
        """Record that a credential went to `target`."""
        with self._lock:
            key = (injection.ref, str(target))
            self._tally.secrets[key] = self._tally.secrets.get(key, 0) + 1
        self.append(
            SecretInjected(
                ref=injection.ref,
                placeholder=injection.placeholder,
                host=target.host,
                value_hash=injection.value_hash,
            )
        )

    def token_seen(self, target: Destination, where: str, name: str) -> None:
        """Record, once a run, that an answer of `target` had what looks like a token under this name."""
        seen = TokenSeen(host=str(target), where=where, name=clipped(name, MAX_TOKEN_NAME))
        with self._lock:
            if seen in self._tally.tokens or len(self._tally.tokens) >= MAX_SUMMARY:
                return
            self._tally.tokens[seen] = None
        self.append(seen)

    def warn(self, text: str) -> None:
        """Keep a sentence for the end of the run."""
        with self._lock:
            if len(self._tally.warnings) < MAX_SUMMARY:
                self._tally.warnings[text] = None

    def begin_anew(self) -> None:
        """Count denials from here on: what a fork replayed was denied by rules that are not its forker's."""
        with self._lock:
            self._tally.denied.clear()
            self._tally.uncounted = 0

    def summary(self) -> Summary:
        """Return what has been counted so far."""
        with self._lock:
            return Summary(
                denied=tuple(self._tally.denied.values()),
                denied_uncounted=self._tally.uncounted,
                secrets=tuple((ref, host, n) for (ref, host), n in self._tally.secrets.items()),
                warnings=tuple(self._tally.warnings),
                tokens=tuple(self._tally.tokens),
            )

    def _admit(self) -> None:
        """Take one from the bucket of attempts. Raises RecordError where the agent floods."""
        with self._lock:
            slow = self._attempts.take(self._clock())
        if not slow:
            reason = (
                f"the agent made more than {MAX_BURST} names, connections or packets at once and more than "
                f"{MAX_ATTEMPTS_PER_SECOND} a second"
            )
            self.fail(reason)
            raise RecordError(reason)

    def _count(self, host: str, port: int, protocol: str, verdict: Deny) -> None:
        with self._lock:
            key = (host, port, protocol, verdict.hint or verdict.reason)
            entry = self._tally.denied.get(key)
            if entry is not None:
                self._tally.denied[key] = replace(entry, count=entry.count + 1)
            elif len(self._tally.denied) < MAX_SUMMARY:
                self._tally.denied[key] = Denied(
                    host, port, protocol, 1, verdict.hint, verdict.reason, verdict.table
                )
            else:
                self._tally.uncounted += 1


def _called(event: Event) -> str:
    """Name an event in a sentence for the user."""
    return f"what came in by {event.source}" if isinstance(event, Input) else type(event).__name__


def text_map(headers: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str]:
    """Return headers as format 1 holds them: one value a name, the last; the raw list stands beside it."""
    return {
        name.decode("utf-8", "backslashreplace"): value.decode("utf-8", "backslashreplace")
        for name, value in headers
    }

"""What a report says of a run, gathered from its events in one reading; no markup and no IO here.

What always holds: any events give facts; lists are bounded (`MAX_*`), and what was not kept is counted. Bodies
are kept of steps alone, for a run that is laid beside another, and no more than `MAX_BODIES` of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.walk import Head
from hark.conversation import loose
from hark.conversation.exchanges import Heard
from hark.conversation.model import ModelCall
from hark.describe import line
from hark.replay.packed import plain
from hark.replay.recorded import Frame

MAX_BARS: Final = 200_000  # exchanges that a timeline counts
MAX_MARKS: Final = 200_000
MAX_HOSTS: Final = 5_000
MAX_LISTED: Final = 1_000  # denials, and uses of secrets, by name
MAX_STEPS: Final = 20_000
MAX_BRANCHES: Final = 100  # a fork of a fork of a fork has three
MAX_MODELS: Final = 1_000  # by name
MAX_BODY: Final = 1 << 16  # bytes of one
MAX_BODIES: Final = 16 << 20  # bytes of all
MAX_PATCH: Final = 1 << 13  # bytes of a patch that is shown
MAX_NAME: Final = 400  # characters of a name or reason that is kept

DENIAL: Final = "denials"
SECRET: Final = "secrets"  # noqa: S105 (the name of a lane)
TOOL: Final = "tools"
INPUT: Final = "input"
LANES: Final = (TOOL, SECRET, DENIAL, INPUT)
DECISIONS: Final = frozenset((11, 18))  # those that allow say nothing more
TAKEN: Final = DECISIONS | {1, 2, 8, 9, 12, 16, 37, 40, 42, 49}
"""Kinds of what is no exchange and says more than that there is one more of its kind."""


class Bar(NamedTuple):
    """An exchange on the timeline. `first_ns`: of its answer; `end_ns`: of its last known event."""

    exchange: int
    seq: int
    begin_ns: int
    first_ns: int
    end_ns: int
    host: str
    words: str
    refused: bool
    model: bool


class Mark(NamedTuple):
    """Something at one time."""

    lane: str
    seq: int
    time_ns: int
    words: str


class Listed(NamedTuple):
    """A row of a table."""

    seq: int
    what: str
    why: str


class Step(NamedTuple):
    """What two runs are laid side by side by: `key` says what counts as the same."""

    seq: int
    time_ns: int
    key: str
    words: str
    tone: str = ""
    body: bytes | None = None
    """What it says, of a message, as far as it is kept; `key` then ends with a word for it."""


@dataclass(slots=True)
class Facts:
    """A run's."""

    stepwise: bool = True
    """Whether steps are kept, for a run to be laid beside another."""
    start: RunStart | None = None
    end: RunEnd | None = None
    end_seq: int | None = None
    policies: list[Listed] = field(default_factory=list)
    kinds: Counter[int] = field(default_factory=Counter)
    events: int = 0
    last_ns: int = 0
    bars: list[Bar] = field(default_factory=list)
    exchanges: int = 0
    refused: int = 0
    marks: list[Mark] = field(default_factory=list)
    marked: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    denials: list[Listed] = field(default_factory=list)
    secrets: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """(name, host) -> first event, number of uses."""
    branches: list[tuple[int, int, ev.Branch]] = field(default_factory=list)
    """Without what they draw from, and without a patch that is too long to be shown."""
    steps: list[Step] = field(default_factory=list)
    steps_left_out: int = 0
    model_calls: int = 0
    models: Counter[str] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    uncounted: int = 0
    """Answers of models that say no number of tokens."""
    tool_calls: int = 0
    _room: int = MAX_BODIES

    def count(self, heads: Sequence[Head]) -> None:
        """Count the next events by their heads."""
        _, kinds, _, times, _ = zip(*heads, strict=True)
        self.events += len(heads)
        self.kinds.update(kinds)
        self.last_ns = max(self.last_ns, *times)

    def take(self, frame: Frame) -> None:  # noqa: PLR0912 (one row a kind)
        """Take what an event says that is one of `TAKEN`."""
        event = frame.event
        match event:
            case RunStart() if self.start is None:
                self.start = event
            case RunEnd():
                self.end, self.end_seq = event, frame.seq
                self._step(
                    frame, f"end {event.reason} {event.exit_code}", f"the run ended: {line(event)}", "end"
                )
            case ev.PolicyLoaded():
                if len(self.policies) < MAX_LISTED:
                    self.policies.append(_listed(frame, event.source, line(event)))
            case ev.EgressDecision(allowed=False):
                self._denied(frame, event.host, event.reason)
            case ev.DnsDecision(allowed=False):
                self._denied(frame, event.name, event.reason)
            case ev.SecretInjected():
                self._secret(frame, event)
            case ev.ToolCallRequest() | ev.ToolCallResult():
                self._tool(frame, event.server, event.tool, line(event))
            case ev.McpMessage():
                self._mcp(frame, event)
            case ev.Input():
                self._mark(INPUT, frame, line(event))
            case ev.Branch() if len(self.branches) < MAX_BRANCHES:
                patch = event.patch if len(event.patch) <= MAX_PATCH else event.patch[:1]
                kept = event._replace(patch=patch, note=event.note[:MAX_NAME], seed=b"")
                self.branches.append((frame.seq, frame.time_ns, kept))
            case ev.FileResult():
                self._step(frame, f"file {event.path} {event.hash.hex()} {event.mode}", f"left {line(event)}")
            case _:
                pass

    def hear(self, heard: Heard, call: ModelCall | None) -> None:
        """Take an exchange that ended, and the call of a model that it is."""
        self.exchanges += 1
        self.refused += bool(heard.refused)
        _count_name(self.hosts, heard.host, MAX_HOSTS)
        if len(self.bars) < MAX_BARS:
            self.bars.append(_bar(heard, call))
        self._exchange_steps(heard, call)
        if call is not None:
            self._count(call)

    def _count(self, call: ModelCall) -> None:
        self.model_calls += 1
        _count_name(self.models, call.answered_by or call.model or "a model without a name", MAX_MODELS)
        self.tokens_in += call.usage.input or 0
        self.tokens_out += call.usage.output or 0
        self.tokens_cached += call.usage.cached or 0
        self.uncounted += call.usage.input is None and call.usage.output is None
        self.tool_calls += len(call.reply.calls) if call.reply else 0

    def _denied(self, frame: Frame, what: str, why: str) -> None:
        self._mark(DENIAL, frame, f"denied {what}: {why}")
        if len(self.denials) < MAX_LISTED:
            self.denials.append(_listed(frame, what, why))
        self._step(frame, f"denied {what}", f"DENIED {what}: {why}", "denied")

    def _secret(self, frame: Frame, event: ev.SecretInjected) -> None:
        self._mark(SECRET, frame, f"{event.ref} for {event.host}")
        place = (event.ref[:MAX_NAME], event.host[:MAX_NAME])
        if place in self.secrets or len(self.secrets) < MAX_LISTED:
            self.secrets.setdefault(place, [frame.seq, 0])[1] += 1

    def _tool(self, frame: Frame, server: str, tool: str, words: str) -> None:
        self._mark(TOOL, frame, f"{server} {tool}")
        self._step(frame, f"tool {words}", f"tool {words}")

    def _mcp(self, frame: Frame, event: ev.McpMessage) -> None:
        message = loose.mapping(loose.load(event.data)) if len(event.data) < MAX_LISTED * 1000 else {}
        if loose.text(message.get("method")) == "tools/call":
            name = loose.text(loose.at(message, "params", "name"))
            self._mark(TOOL, frame, f"{event.server} {name}")
        self._step(
            frame,
            f"mcp {event.server} {event.from_agent} {_digest(event.data)}",
            f"tool server {line(event)}",
            body=event.data,
        )

    def _mark(self, lane: str, frame: Frame, words: str) -> None:
        self.marked[lane] += 1
        if len(self.marks) < MAX_MARKS:
            self.marks.append(Mark(lane, frame.seq, frame.time_ns, words[:120]))

    def _exchange_steps(self, heard: Heard, call: ModelCall | None) -> None:
        if not self.stepwise:
            return
        asked = f"{heard.method} {heard.host}{heard.path}"
        tone = "denied" if heard.refused else "model" if call else ""
        frame = Frame(heard.seq, heard.time_ns, None)
        body = plain(heard.headers, heard.body)
        self._step(frame, f"asked {asked} {_digest(heard.body)}", f"{asked}{_said(call)}", tone, body=body)
        if heard.ended_ns is not None and heard.ended_seq is not None:
            end = Frame(heard.ended_seq, heard.ended_ns, None)
            words = (
                f"refused by hark: {heard.refused}"
                if heard.refused
                else f"answered {heard.status}{_replied(call)}"
            )
            answer = plain(heard.answer_headers, heard.answer)
            key = f"answered {heard.status} {_digest(heard.answer)}"
            self._step(end, key, words, tone, body=answer)

    def _step(self, frame: Frame, key: str, words: str, tone: str = "", *, body: bytes | None = None) -> None:
        if not self.stepwise:
            return
        if len(self.steps) < MAX_STEPS:
            kept = None if body is None else body[: min(MAX_BODY, self._room)]
            self._room -= len(kept or b"")
            if len(key) > MAX_NAME:  # its end says what it is
                key = f"{key[: MAX_NAME - 24]}{key[-24:]}"
            self.steps.append(Step(frame.seq, frame.time_ns, key, words[:240], tone, kept))
        else:
            self.steps_left_out += 1


def _bar(heard: Heard, call: ModelCall | None) -> Bar:
    first = heard.answer_times[0][1] if heard.answer_times else heard.ended_ns
    last = heard.answer_times[-1][1] if heard.answer_times else heard.time_ns
    end = last if heard.ended_ns is None else heard.ended_ns
    words = f"{heard.method} {heard.host}{heard.path}"[:120]
    return Bar(
        heard.exchange,
        heard.seq,
        heard.time_ns,
        end if first is None else first,
        max(end, heard.time_ns),
        heard.host[:MAX_NAME],
        f"{words}, {'refused' if heard.refused else heard.status or 'no answer'}",
        bool(heard.refused),
        call is not None,
    )


def _listed(frame: Frame, what: str, why: str) -> Listed:
    return Listed(frame.seq, what[:MAX_NAME], why[:MAX_NAME])


def _count_name(counts: Counter[str], name: str, most: int) -> None:
    """Count a name; a new one only while there is room, since the agent chooses how many there are."""
    name = name[:MAX_NAME]
    if name in counts or len(counts) < most:
        counts[name] += 1


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def _said(call: ModelCall | None) -> str:
    """Return what a prompt ends with."""
    if call is None or not call.turns:
        return ""
    last = call.turns[-1]
    words = last.text or " ".join(result.text for result in last.results)
    return f" · {last.role}: {_short(words)}"


def _replied(call: ModelCall | None) -> str:
    if call is None or call.reply is None:
        return ""
    called = ", ".join(one.name for one in call.reply.calls)
    return f" · {_short(call.reply.text)}" + (f" → {called}" if called else "")


def _short(words: str) -> str:
    joined: Any = " ".join(words[:400].split())
    return joined if len(joined) <= 120 else f"{joined[:119]}…"

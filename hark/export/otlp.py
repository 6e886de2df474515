"""A recorded run as one trace, in the lines of OTLP's file exporter: JSON, `TracesData` a line.

What always holds: the same bundle gives the same bytes, identifiers included. Every span lies in that of the
run and says which events it is made of (`hark.event`, `hark.event.end`), so that `hark prove` can. Names of
attributes are those of the conventions that the file names by `SCHEMA`, or begin with `hark.`. What was said
(prompts, answers, arguments, results, the command's own) is there only with `content`.

Memory holds the exchanges that are open and `MAX_OPEN` tool calls; of events of the run `MAX_EVENTS` are
kept, and the rest is counted. Not done here: logs and metrics, and sending any of it.
"""

import json
from collections.abc import Iterable, Iterator
from os.path import basename
from typing import Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.frame import Frame
from hark.bundle.outcome import EXIT, describe, split, succeeded
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.export import httpspan, modelspan
from hark.export.otlpvalue import CLIENT, INTERNAL, Value, attributes, span, span_id, trace_id
from hark.export.wall import Wall
from hark.replay import recorded
from hark.verify.result import Result

SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.1"
"""The last version of the conventions that has those for generative AI, which have moved out of them."""
SCOPE: Final = "hark"
RUN: Final = "hark run"
TOOL_FAILED: Final = "tool_error"
SPANS_A_LINE: Final = 200
MAX_OPEN: Final = 10_000  # calls of tools that have no result yet
MAX_EVENTS: Final = 10_000  # denials and uses of secrets, which stand in the run's own span

type Span = dict[str, object]


def lines(frames: Iterable[Frame], result: Result, *, content: bool) -> Iterator[str]:
    """Yield the trace's lines."""
    trace = _Trace(result, content=content)
    held: list[Span] = []
    for made in trace.spans(frames):
        held.append(made)
        if len(held) == SPANS_A_LINE:
            yield trace.line(held)
            held = []
    if held:
        yield trace.line(held)


class _Trace:
    """One reading of a bundle."""

    def __init__(self, result: Result, *, content: bool) -> None:
        self._result = result
        self._content = content
        self._run = result.root or result.header.run_id.encode()
        self._trace = trace_id(self._run)
        self._wall = Wall()
        self._start = RunStart()
        self._end: RunEnd | None = None
        self._last_ns = 0
        self._replayed = b""
        self._branch: ev.Branch | None = None
        self._happened: list[Span] = []
        self._dropped = 0
        self._calls: dict[tuple[int, str, str], list[_Called]] = {}
        self._waiting = 0
        self._exchanges = Exchanges()

    def line(self, spans: list[Span]) -> str:
        """Return spans as a line, with what they are of."""
        program = basename(self._start.argv[0]) if self._start.argv else ""
        resource = {
            "service.name": program or "unknown_service",
            "process.executable.name": program or None,
            "process.command_args": tuple(self._start.argv) if self._content else None,
            "hark.run.id": self._result.header.run_id,
        }
        version = self._result.header.recorder.removeprefix("hark ")
        scope = {"name": SCOPE, "version": version or "?"}
        return (
            json.dumps(
                {
                    "resourceSpans": [
                        {
                            "resource": {"attributes": attributes(resource)},
                            "scopeSpans": [{"scope": scope, "spans": spans, "schemaUrl": SCHEMA}],
                            "schemaUrl": SCHEMA,
                        }
                    ]
                }
            )
            + "\n"
        )

    def spans(self, frames: Iterable[Frame]) -> Iterator[Span]:
        """Yield the spans in the order in which they end; the run's own is the last."""
        for frame in frames:
            self._wall.see(frame)
            self._last_ns = max(self._last_ns, frame.time)
            if frame.payload:
                yield from self._take(recorded.Frame(frame.seq, frame.time, ev.decode_frame(frame)))
        yield from map(self._exchange, self._exchanges.rest())
        for calls in self._calls.values():
            for call in calls:
                yield self._tool(call, None)
        yield self._whole()

    def _take(self, frame: recorded.Frame) -> Iterator[Span]:
        match frame.event:
            case RunStart() as start:
                self._start = start
            case RunEnd() as end:
                self._end = end
            case ev.Determinism() as means:
                self._replayed = means.replayed
            case ev.Branch() as branch:
                self._branch = branch
                self._note(frame, "hark.branch", {"hark.fork.side": branch.side})
            case ev.EgressDecision(allowed=False) as denied:
                self._note(
                    frame, "hark.denied", {"server.address": denied.host, "hark.reason": denied.reason}
                )
            case ev.DnsDecision(allowed=False) as denied:
                self._note(
                    frame, "hark.denied", {"dns.question.name": denied.name, "hark.reason": denied.reason}
                )
            case ev.SecretInjected() as used:
                self._note(frame, "hark.secret", {"server.address": used.host, "hark.secret.name": used.ref})
            case ev.ToolCallRequest() as asked:
                self._called(_Called(frame, asked))
            case ev.ToolCallResult() as answer:
                if (call := self._called_before(answer)) is not None:
                    yield self._tool(call, frame)
        yield from map(self._exchange, self._exchanges.add(frame))

    def _exchange(self, heard: Heard) -> Span:
        call = model_call(heard)
        about = {**httpspan.found(heard), **self._events(heard.seq, heard.ended_seq)}
        name = httpspan.named(heard)
        if call is not None:
            about |= modelspan.found(call, content=self._content)
            name = modelspan.named(call)
        last = heard.answer_times[-1].time_ns if heard.answer_times else heard.time_ns
        times = (heard.time_ns, last if heard.ended_ns is None else heard.ended_ns)
        return self._span(heard.seq, name, about, times=times, wrong=httpspan.failure(heard))

    def _called(self, call: "_Called") -> None:
        if self._waiting < MAX_OPEN:
            self._waiting += 1
            self._calls.setdefault(call.key, []).append(call)

    def _called_before(self, answer: ev.ToolCallResult) -> "_Called | None":
        """Return the oldest call that waits for such a result."""
        calls = self._calls.get((answer.exchange, answer.server, answer.tool))
        if not calls:
            return None
        self._waiting -= 1
        return calls.pop(0)

    def _tool(self, call: "_Called", answered: recorded.Frame | None) -> Span:
        asked = call.asked
        result = answered.event if answered is not None else None
        wrong = (
            "it has no result on record" if result is None else "the tool says so" if result.is_error else ""
        )
        about: dict[str, Value | None] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": asked.tool,
            "mcp.method.name": "tools/call",
            "hark.tool.server": asked.server,
            "error.type": None if not wrong else httpspan.OTHER if result is None else TOOL_FAILED,
            **self._events(call.frame.seq, None if answered is None else answered.seq),
        }
        if self._content:
            about["gen_ai.tool.call.arguments"] = _words(asked.arguments)
            about["gen_ai.tool.call.result"] = None if result is None else _words(result.result)
        times = (call.frame.time_ns, self._last_ns if answered is None else answered.time_ns)
        return self._span(call.frame.seq, f"tools/call {asked.tool}", about, times=times, wrong=wrong)

    def _denied(self, frame: recorded.Frame, key: str, what: str, why: str) -> None:
        self._note(frame, "hark.denied", {key: what, "hark.reason": why})

    def _note(self, frame: recorded.Frame, name: str, about: dict[str, Value | None]) -> None:
        """Keep an event of the run's own span."""
        if len(self._happened) == MAX_EVENTS:
            self._dropped += 1
            return
        self._happened.append(
            {
                "timeUnixNano": str(self._wall.at(frame.time_ns)),
                "name": name,
                "attributes": attributes(about | {"hark.event": frame.seq}),
            }
        )

    def _whole(self) -> Span:
        """Return the span of the run."""
        result, branch, end = self._result, self._branch, self._end
        about: dict[str, Value | None] = {
            "process.exit.code": None if end is None or not _ended(end) else end.exit_code,
            "error.type": None if succeeded(end) else "_OTHER" if end is None else split(end.reason)[0],
            "hark.verdict": result.verdict,
            "hark.events": result.events,
            "hark.root": result.root.hex() or None,
            "hark.signer": result.public_key.hex() or None,
            "hark.replay.of": self._replayed.hex() or None,
            "hark.fork.of": None if branch is None else branch.parent.hex(),
            "hark.fork.event": None if branch is None else branch.at,
            "hark.content": self._content,
        }
        wrong = "" if succeeded(end) else describe(end)
        made = self._span(None, RUN, about, times=(0, self._last_ns), wrong=wrong)
        made["events"] = self._happened
        if self._dropped:
            made["droppedEventsCount"] = self._dropped
        return made

    def _span(
        self,
        seq: int | None,
        name: str,
        about: dict[str, Value | None],
        *,
        times: tuple[int, int],
        wrong: str,
    ) -> Span:
        """Return a span; without the event that it begins with it is that of the run."""
        root = span_id(self._run, None)
        ids = (self._trace, root, "") if seq is None else (self._trace, span_id(self._run, seq), root)
        begin, end = times
        kind = INTERNAL if seq is None else CLIENT
        return span(ids, name, kind, (self._wall.at(begin), self._wall.at(end)), about, failure=wrong)

    def _events(self, first: int, last: int | None) -> dict[str, Value | None]:
        return {"hark.event": first, "hark.event.end": last}


class _Called:
    """A call of a tool that has no result yet."""

    def __init__(self, frame: recorded.Frame, asked: ev.ToolCallRequest) -> None:
        self.frame = frame
        self.asked = asked
        self.key = (asked.exchange, asked.server, asked.tool)


def _ended(end: RunEnd) -> bool:
    return split(end.reason)[0] == EXIT


def _words(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")

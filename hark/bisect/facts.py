"""What an expression of `-until` speaks of, read from a run's events: refusals, requests, tool calls, files.

What always holds: any events give facts, each with the event that shows it, and a request counts when the
agent makes it, whether or not hark lets it pass. A tool call is one that a model's answer asks for, or that
reaches a tool server.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.conversation import loose
from hark.conversation.exchanges import Exchanges, Heard
from hark.conversation.model import model_call
from hark.replay.recorded import Frame

DENIED: Final = "denied"
REQUEST: Final = "request"
TOOL: Final = "tool"
FILE: Final = "file"
EXIT: Final = "exit"

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    DENIED: ("host", "port", "protocol", "why"),
    REQUEST: ("host", "method", "path", "body", "status"),
    TOOL: ("name", "args", "server", "by"),
    FILE: ("path",),
    EXIT: (),
}
"""What can be asked of each."""


class Fact(NamedTuple):
    """Something that happened."""

    what: str
    seq: int
    said: Mapping[str, str]


def facts(frames: Iterable[Frame]) -> Iterator[Fact]:
    """Yield what happened in a run."""
    exchanges = Exchanges()
    attempts: dict[str, tuple[str, str]] = {}
    for frame in frames:
        event = frame.event
        match event:
            case ev.EgressAttempt():
                attempts[event.host] = str(event.port), event.protocol
            case ev.EgressDecision(allowed=False):
                port, protocol = attempts.get(event.host, ("", ""))
                told = {"host": event.host, "port": port, "protocol": protocol, "why": event.reason}
                yield Fact(DENIED, frame.seq, told)
            case ev.DnsDecision(allowed=False):
                told = {"host": event.name, "port": "", "protocol": "dns", "why": event.reason}
                yield Fact(DENIED, frame.seq, told)
            case ev.McpMessage() if event.from_agent:
                yield from _message(frame.seq, event)
            case ev.FileResult():
                yield Fact(FILE, frame.seq, {"path": event.path})
            case RunEnd():
                yield Fact(EXIT, frame.seq, {"code": str(event.exit_code)})
            case _:
                pass
        for heard in exchanges.add(frame):
            yield from _heard(heard)
    for heard in exchanges.rest():
        yield from _heard(heard)


def _heard(heard: Heard) -> Iterator[Fact]:
    told = {"host": heard.host, "method": heard.method, "path": heard.path}
    body = heard.body.decode("utf-8", "replace")
    yield Fact(REQUEST, heard.seq, told | {"body": body, "status": str(heard.status)})
    if heard.refused:
        yield Fact(
            DENIED, heard.seq, {"host": heard.host, "port": "", "protocol": "http", "why": heard.refused}
        )
    call = model_call(heard)
    if call is None or call.reply is None:
        return
    ended = heard.seq if heard.ended_seq is None else heard.ended_seq
    for one in call.reply.calls:
        yield Fact(TOOL, ended, {"name": one.name, "args": one.arguments, "server": "", "by": "model"})


def _message(seq: int, event: ev.McpMessage) -> Iterator[Fact]:
    message = loose.mapping(loose.load(event.data))
    if loose.text(message.get("method")) == "tools/call":
        name = loose.text(loose.at(message, "params", "name"))
        args = loose.dump(loose.at(message, "params", "arguments"))
        yield Fact(TOOL, seq, {"name": name, "args": args, "server": event.server, "by": "agent"})
    if event.note.startswith(ev.REFUSED):
        why = event.note.removeprefix(ev.REFUSED)
        yield Fact(DENIED, seq, {"host": f"mcp.{event.server}", "port": "", "protocol": "mcp", "why": why})

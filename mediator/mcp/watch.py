"""One HTTP exchange as MCP sees it: tool calls in the request, their results in the answer.

Where the rule lists tools, a request passes only if its body is whole, plain JSON-RPC in which every call is
allowed, on whatever path it comes: what cannot be read is refused. Where it does not, nothing is refused and
what cannot be read is merely not listed. Answers are only looked at: they pass at once and as they are.
Where a fork may call some tools again and no others, its live requests are judged by that likewise.

Not done here: calls in a query or a WebSocket; a rule with tools refuses the latter.
"""

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from hark.bundle.events import ToolCallRequest, ToolCallResult
from hark.policy.decide import Deny
from hark.policy.model import Body as Kept
from hark.policy.model import ToolRule
from mediator.held import Held
from mediator.judgement import Refusal
from mediator.link import Link
from mediator.mcp.jsonrpc import MAX_NAME, Call, MessageError, Packet, Response, compact, read, readable
from mediator.mcp.judge import Denied, answer, judge, unreadable
from mediator.mcp.looks import Body, body_of
from mediator.mcp.sessions import SESSION, Key, Waiting, key_of, session_at
from mediator.mcp.sse import Event
from mediator.text import as_text
from mediator.transcript import MAX_WHOLE_BODY, Headers

EVENTS: Final = b"text/event-stream"
NO_MESSAGE: Final = (
    "what is no message of MCP may change the world, and a fork does not do that again where tools are marked"
)
_NO_UPGRADE: Final = (b"", b"h2c")
"""HTTP/2 in the clear, which Java's client always offers, is not passed on."""
_HINT: Final = re.compile(rb"tools\\?/call|\\u00(?:74|6[fFcC]|73|2[fF]|63|61)")
"""The method, or an escape of a letter of it: a body without either has no call in it, and is not parsed.
Escapes of other characters are common (of control characters, of those that HTML minds), these are not."""


@dataclass(frozen=True, slots=True)
class Head:
    """What of a request matters here."""

    method: bytes
    path: bytes
    headers: Headers
    tools: tuple[ToolRule, ...] | None
    kept: Kept
    again: tuple[str, ...] | None = None
    """The tools that a fork may call again; None where that is not asked."""

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header."""
        return [value for field, value in self.headers if field.lower() == name]


class Watch:
    """One exchange's."""

    def __init__(self, link: Link, head: Head) -> None:
        self._link = link
        self._head = head
        self._server = link.target.host
        self._calls: tuple[Call, ...] = ()
        self._body: Body | None = None
        self._copy: Held | None = None
        self._keys: tuple[Key, ...] = ()

    @property
    def strict(self) -> bool:
        """Tell whether the request must be held until it was judged."""
        return self._head.tools is not None or self._head.again is not None

    @property
    def _ends(self) -> bool:
        """Tell whether it ends a session: a fork passes no other such request where tools are marked."""
        return self._head.method == b"DELETE"

    # The request

    def opened(self) -> Refusal | None:
        """Judge the head of a request, where its rule lists tools."""
        if not self.strict:
            return None
        values = self._head.values
        options = [option for value in values(b"upgrade") for option in value.split(b",")]
        if self._head.method == b"CONNECT" or any(one.strip().lower() not in _NO_UPGRADE for one in options):
            return _refused(501, "a rule with tools passes no other protocol than HTTP")
        if any(value.strip().lower() not in (b"", b"identity") for value in values(b"content-encoding")):
            return _refused(415, "its body is packed, so no tool call in it can be judged; send it plain")
        kinds = values(b"content-type")
        if len(kinds) > 1 or not all(map(_plain_charset, kinds)):
            return _refused(415, "its body may not be read as UTF-8; send it as application/json")
        return None

    def too_large(self) -> Refusal:
        """Refuse a request that cannot be held."""
        return _refused(413, f"it has more than {MAX_WHOLE_BODY} bytes, or than there is room to judge")

    def request(self, body: bytes) -> Refusal | None:
        """Judge a whole body."""
        if not self.strict and not _HINT.search(body):
            return None
        if self._head.again is not None and bool(body) is self._ends:
            return _refused(400, NO_MESSAGE)
        if not body:
            return None
        try:
            packet = read(body)
        except MessageError as error:
            unread = NO_MESSAGE if self._head.tools is None else "no tool call in it can be judged"
            return _refused(400, f"{unread}: {error}") if self.strict else None
        self._calls = tuple(message for message in packet.messages if isinstance(message, Call))
        denied = judge(self._head.tools, packet, "tools") or self._repeated()
        return None if denied is None else self._denied(denied, packet)

    def _repeated(self) -> Denied | None:
        """Return the first call that a fork does not make again."""
        again = self._head.again
        call = None if again is None else next((one for one in self._calls if one.tool not in again), None)
        if call is None:
            return None
        from hark.patch.world import not_again

        hint = f"may_reexecute = [{json.dumps(readable(call.tool))}]" if len(call.tool) <= MAX_NAME else ""
        return Denied(call.tool, not_again(self._server, readable(call.tool)), hint)

    def streams(self) -> None:
        """The body passes in pieces: keep a copy as far as there is room, if it may be a message."""
        copy = Held(self._link.sessions.room)
        kinds = self._head.values(b"content-type")
        if any(kind.lower().startswith(b"application/json") for kind in kinds) and copy.expect(
            MAX_WHOLE_BODY
        ):
            self._copy = copy

    def piece(self, data: bytes) -> None:
        """Look at a piece of it that is on the record."""
        if self._copy is None:
            return
        if self._copy.fits(len(data)):
            self._copy.add(data)
        else:
            self._forget()

    def streamed(self, exchange: int) -> None:
        """All of it is on the record: list its calls. Nothing is to be judged, so they may have left."""
        if self._copy is not None:
            self.request(self._copy.out())
            self._copy = None
        self.recorded(exchange)

    def _forget(self) -> None:
        if self._copy is not None:
            self._copy.out()
            self._copy = None

    def recorded(self, exchange: int, refused: Refusal | None = None) -> None:
        """Record the calls of a request that has just been recorded, and let them wait for their results."""
        for call in self._calls:
            self._link.ledger.append(
                ToolCallRequest(
                    server=self._server,
                    tool=readable(call.tool),
                    arguments=self._shown(compact(call.arguments)),
                    exchange=exchange,
                )
            )
            waiting = Waiting(exchange, readable(call.tool), call.id, self._waits_under(exchange))
            if refused is not None:
                self._result(waiting, refused.answer, is_error=True)
            elif call.id is not None:
                self._link.sessions.ask(waiting)
        self._keys = (*self._own(exchange), *self._session())

    def _denied(self, denied: Denied, packet: Packet) -> Refusal:
        """Answer in JSON-RPC: with 200 where the client takes the answer from here, which it then reads."""
        reply = answer(packet, denied.words)
        takes = any(EVENTS in value.lower() for value in self._head.values(b"accept"))
        reason = f"{denied.reason}; to allow it: {denied.hint}" if denied.hint else denied.reason
        return Refusal(200 if reply and takes else 403, Deny(reason, ""), reply or unreadable(denied.words))

    # The answer

    def answered(self, headers: Headers) -> None:
        """Look at the head of the answer."""
        if self._link.playback is not None and self._head.method == b"POST":
            session = session_at(self._place, self._head.path, headers)
            if session is not None:
                self._link.sessions.begin(session)
        if self._calls or (self._head.method == b"GET" and self._streams(headers)):
            self._body = body_of(headers, self._link.sessions.room)

    def feed(self, piece: bytes) -> None:
        """Look at a piece that is on the record."""
        if self._body is not None:
            self._take(self._body.feed(piece))

    def finish(self) -> None:
        """Look at what the end completes."""
        if self._body is not None:
            self._take(self._body.finish())

    def end(self) -> None:
        """Hold nothing more. Idempotent."""
        self._forget()
        if self._body is not None:
            self._body.end()
            self._body = None

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if event.type == "endpoint":
                self._keys = (*self._keys, self._endpoint(event.data))
                continue
            try:
                packet = read(event.data)
            except MessageError:
                continue
            for message in packet.messages:
                if isinstance(message, Response):
                    call = self._link.sessions.answer(self._keys, message.id)
                    if call is not None:
                        self._result(call, message.result, is_error=message.is_error)

    def _result(self, call: Waiting, result: bytes, *, is_error: bool) -> None:
        self._link.ledger.append(
            ToolCallResult(
                server=self._server,
                tool=call.tool,
                result=self._shown(result),
                is_error=is_error,
                exchange=call.exchange,
            )
        )

    def _shown(self, data: bytes) -> bytes:
        """Return what the record holds of arguments and results: nothing where bodies are kept as hashes."""
        return data if self._head.kept is Kept.WHOLE else b""

    # By what a result finds its call

    def _waits_under(self, exchange: int) -> tuple[Key, ...]:
        return (*self._own(exchange), *self._session(), self._key("endpoint", self._head.path))

    def _own(self, exchange: int) -> tuple[Key, ...]:
        return ((self._place, "exchange", str(exchange)),)

    def _session(self) -> tuple[Key, ...]:
        return tuple(self._key("session", value) for value in self._head.values(SESSION))

    def _key(self, kind: str, value: bytes) -> Key:
        return key_of(self._place, kind, value)

    def _endpoint(self, data: bytes) -> Key:
        """Return the key of the path that a stream of HTTP+SSE names for its messages."""
        try:
            parts = urlsplit(urljoin(self._head.path.decode("latin-1"), as_text(data).strip()))
            path = parts.path + (f"?{parts.query}" if parts.query else "")
        except ValueError:
            path = ""
        return self._key("endpoint", path.encode("utf-8", "replace"))

    @property
    def _place(self) -> str:
        return str(self._link.target)

    @staticmethod
    def _streams(headers: Headers) -> bool:
        return any(name.lower() == b"content-type" and EVENTS in value.lower() for name, value in headers)


def _refused(status: int, reason: str) -> Refusal:
    return Refusal(status, Deny(reason, ""), unreadable(f"hark: not sent: {reason}"))


def _plain_charset(kind: bytes) -> bool:
    """Tell whether a content type leaves no doubt that the text is UTF-8."""
    _, _, parameters = kind.lower().partition(b";")
    names = [one.partition(b"=")[2].strip(b' "\t') for one in parameters.split(b";") if b"charset" in one]
    return all(name in (b"utf-8", b"utf8") for name in names)

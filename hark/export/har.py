"""A recorded run as an HTTP Archive (HAR 1.2): one entry for each exchange.

Always: an entry's times add up, and say -1 for what the record does not know (how long a name or a connection
took: they belong to no one request). A body is text where it is UTF-8, else base64, with its content coding
undone where it can be. A request that hark refused has status 0 and the reason in `_error`: no server
answered it. What is not of HAR begins with `_`: `_webSocketMessages`, `_error` and `_resourceType` are
Chromium's; `_hark` is ours and has the numbers of the events, the pieces of the answer with their times, and
what is not there and why.

Credentials are what the agent held: placeholders. Not done here: the order of entries, and what stands around
them.
"""

import binascii
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from hark.bundle import events as ev
from hark.bundle.fields import Pairs
from hark.conversation.gathered import Body, Gathered, Said, plain, raw, value
from hark.export.wall import Wall

VERSION: Final = "1.2"
_OPCODES: Final = {"text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}
_FORM: Final = "application/x-www-form-urlencoded"
MAX_PARAMS: Final = 1000  # of a form, or of a query; the text beside them is whole
MS: Final = 1_000_000


def log(recorder: str, run_id: str) -> dict[str, object]:
    """Return what stands before the entries."""
    return {
        "version": VERSION,
        "creator": {"name": "hark", "version": recorder.removeprefix("hark ") or "?"},
        "comment": f"run {run_id}; a copy without hashes, which proves nothing: the bundle does",
    }


def entry(exchange: Gathered, wall: Wall) -> dict[str, object]:
    """Return one exchange as an entry."""
    timings = _timings(exchange)
    found: dict[str, object] = {
        "startedDateTime": wall.text(exchange.time_ns),
        "time": sum(value for value in timings.values() if value > 0),
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": timings,
        "_resourceType": _resource(exchange),
        "_hark": _ours(exchange),
    }
    if exchange.said:
        found["_webSocketMessages"] = _messages(exchange.said, wall)
    return found


def _timings(exchange: Gathered) -> dict[str, float]:
    """Send until the request's last piece, wait until the answer's first, receive until its end."""
    began = exchange.time_ns
    sent = max([began, *(piece.time_ns for piece in exchange.asked.pieces)])
    first = exchange.first_ns
    if first is None:
        return {
            "blocked": -1,
            "dns": -1,
            "connect": -1,
            "ssl": -1,
            "send": _ms(began, sent),
            "wait": 0,
            "receive": 0,
        }
    sent = min(sent, first)  # an answer may come before all of the request was sent
    last = exchange.ended_ns or max([first, *(piece.time_ns for piece in exchange.answered.pieces)])
    return {
        "blocked": -1,
        "dns": -1,
        "connect": -1,
        "ssl": -1,
        "send": _ms(began, sent),
        "wait": _ms(sent, first),
        "receive": _ms(first, last),
    }


def _ms(since: int, until: int) -> float:
    return max(0, until - since) / MS


def _request(exchange: Gathered) -> dict[str, object]:
    headers = raw(exchange.request)
    found: dict[str, object] = {
        "method": exchange.request.method,
        "url": exchange.url,
        "httpVersion": exchange.version,
        "cookies": _cookies(headers, b"cookie"),
        "headers": _headers(headers),
        "queryString": _query(exchange.url),
        "headersSize": -1,
        "bodySize": exchange.asked.size,
    }
    if exchange.asked.size:
        found["postData"] = _posted(headers, exchange.asked)
    return found


def _posted(headers: Pairs, body: Body) -> dict[str, object]:
    kind = _latin(value(headers, b"content-type") or b"")
    text, encoding = _text(plain(headers, body))
    found: dict[str, object] = {"mimeType": kind, "text": text}
    if encoding:
        found["_encoding"] = encoding
    elif kind.partition(";")[0].strip().lower() == _FORM:
        found["params"] = _pairs(text)
    return found


def _response(exchange: Gathered) -> dict[str, object]:
    if exchange.refused or exchange.head is None:
        return _unanswered(exchange)
    headers = exchange.answer_headers
    data = plain(headers, exchange.answered)
    text, encoding = _text(data)
    content: dict[str, object] = {
        "size": len(data) if exchange.answered.stored else exchange.answered.size,
        "compression": len(data) - exchange.answered.size if exchange.answered.stored else 0,
        "mimeType": _latin(value(headers, b"content-type") or b"") or "x-unknown",
    }
    if exchange.answered.stored:
        content["text"] = text
    if encoding:
        content["encoding"] = encoding
    found: dict[str, object] = {
        "status": exchange.status,
        "statusText": "",
        "httpVersion": exchange.version,
        "cookies": _cookies(headers, b"set-cookie"),
        "headers": _headers(headers),
        "content": content,
        "redirectURL": _latin(value(headers, b"location") or b""),
        "headersSize": -1,
        "bodySize": exchange.answered.size,
        "_transferSize": exchange.answered.size,
    }
    if exchange.error:
        found["_error"] = exchange.error
    return found


def _unanswered(exchange: Gathered) -> dict[str, object]:
    return {
        "status": 0,
        "statusText": "",
        "httpVersion": exchange.version,
        "cookies": [],
        "headers": [],
        "content": {"size": 0, "mimeType": "x-unknown"},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
        "_transferSize": 0,
        "_error": exchange.error,
    }


def _ours(exchange: Gathered) -> dict[str, object]:
    """The events of the entry, the pieces of its answer, and what of it is not there."""
    missing = []
    for what, body in (("request", exchange.asked), ("response", exchange.answered)):
        if not body.stored:
            missing.append(f"the {what}'s body was not stored, by the policy")
        elif body.cut:
            missing.append(f"the {what}'s body is here up to {len(body.data)} of {body.size} bytes")
    if exchange.left_out:
        missing.append(f"{exchange.left_out} messages of the WebSocket are not here")
    missing += [
        f"the last message of the WebSocket {'to' if from_agent else 'from'} the server has no end"
        for from_agent in _unfinished(exchange.said)
    ]
    found: dict[str, object] = {
        "exchange": exchange.number,
        "event": exchange.seq,
        "end_event": exchange.ended_seq,
        "chunks": [
            {"event": piece.seq, "ms": _ms(exchange.time_ns, piece.time_ns), "bytes": piece.size}
            for piece in exchange.answered.pieces
        ],
    }
    return found | ({"missing": missing} if missing else {})


def _messages(said: list[Said], wall: Wall) -> list[dict[str, object]]:
    """The messages as Chromium writes them: what is no text in base64. A long one is put together."""
    found: list[dict[str, object]] = []
    held: dict[bool, bytearray] = {True: bytearray(), False: bytearray()}
    unfinished: dict[bool, Said] = {}
    for one in said:
        event = one.event
        data = event.data
        if event.type in {"text", "binary"}:
            held[event.from_agent] += data
            if event.more:
                unfinished[event.from_agent] = one
                continue
            data, held[event.from_agent] = bytes(held[event.from_agent]), bytearray()
            unfinished.pop(event.from_agent, None)
        found.append(_message(one, event, data, wall))
    for one in sorted(unfinished.values()):
        begun = _message(one, one.event, bytes(held[one.event.from_agent]), wall)
        found.append(begun | {"_unfinished": True})
    return found


def _unfinished(said: list[Said]) -> list[bool]:
    """Return whose last message breaks off: the agent's, the server's."""
    last = {one.event.from_agent: one.event.more for one in said if one.event.type in {"text", "binary"}}
    return [from_agent for from_agent in (True, False) if last.get(from_agent)]


def _message(said: Said, event: ev.WebSocketMessage, data: bytes, wall: Wall) -> dict[str, object]:
    text, encoding = _text(data)
    if event.type != "text" and not encoding:
        text = binascii.b2a_base64(data, newline=False).decode()
    return {
        "type": "send" if event.from_agent else "receive",
        "time": wall.at(said.time_ns) / 1e9,
        "opcode": _OPCODES.get(event.type, 2) if event.type != "text" or not encoding else 2,
        "data": text,
        "_event": said.seq,
    }


def _resource(exchange: Gathered) -> str:
    return "websocket" if exchange.said or exchange.status == 101 else "fetch"


def _text(data: bytes) -> tuple[str, str]:
    """A body as text and the word for how it is encoded, empty where it is UTF-8."""
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return binascii.b2a_base64(data, newline=False).decode(), "base64"


def _latin(data: bytes) -> str:
    """A header's value: UTF-8 where it is, else each byte a character, as HTTP once had it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _headers(headers: Pairs) -> list[dict[str, str]]:
    return [{"name": _latin(name), "value": _latin(content)} for name, content in headers]


def _cookies(headers: Pairs, name: bytes) -> list[dict[str, str]]:
    """Names and values alone; attributes stand in the header beside them."""
    found = []
    for header, content in headers:
        if header.lower() != name:
            continue
        crumbs = _latin(content).split(";") if name == b"cookie" else _latin(content).split(";")[:1]
        for crumb in crumbs:
            cookie, equals, given = crumb.strip().partition("=")
            if equals:
                found.append({"name": cookie, "value": given})
    return found


def _query(url: str) -> list[dict[str, str]]:
    try:
        return _pairs(urlsplit(url).query)
    except ValueError:  # a host that looks like an IPv6 address and is none
        return []


def _pairs(text: str) -> list[dict[str, str]]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMS)
    except ValueError:  # too many
        return []
    return [{"name": name, "value": content} for name, content in pairs]

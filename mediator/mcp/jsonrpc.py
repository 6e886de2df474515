"""JSON-RPC messages, read so that no reader can take them for something else. No IO.

Always: what comes out means the same to every JSON reader. Refused are repeated keys, keys that differ from
the protocol's in nothing but case (Go's reader takes them), batches in batches, a carriage return between the
parts (a reader of lines may cut there), numbers that are none, anything but UTF-8, and what is nested too
deep. Escapes need no care: the text is parsed, so `tools\\/call` and `\\u0074ools/call` are what they say.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_BATCH: Final = 256  # messages; clients send a handful
MAX_DEPTH: Final = 200  # of lists and objects; schemas of tools have some dozen
MAX_NAME: Final = 256  # characters of a tool's name that are shown and kept; servers allow 128
MAX_ID: Final = 256  # of an id, which is kept until its answer comes; clients count, or use UUIDs
TOOLS_CALL: Final = "tools/call"
_WORDS: Final = frozenset(("jsonrpc", "id", "method", "params", "result", "error"))
_CALL_WORDS: Final = frozenset(("name", "arguments", "_meta"))

type Id = str | int | None


class MessageError(ValueError):
    """These bytes are no message that hark reads; the text says why and quotes none of them."""


@dataclass(frozen=True, slots=True)
class Call:
    """A `tools/call`. One without an id is answered by nobody and judged all the same."""

    id: Id
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """Any other request, or a notification (no id)."""

    id: Id
    method: str


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to the request of the same id. `result` is the JSON of its result or error."""

    id: Id
    result: bytes
    is_error: bool
    """An error of the protocol, or a tool's own (`isError`)."""


type Message = Call | Request | Response


@dataclass(frozen=True, slots=True)
class Packet:
    """What one body or line holds."""

    messages: tuple[Message, ...]
    batch: bool


def read(data: bytes) -> Packet:
    """Read one message or batch. Raises MessageError."""
    value = _parsed(data)
    if not isinstance(value, list):
        return Packet((_message(value),), batch=False)
    if not value:
        raise MessageError("it is an empty batch")
    if len(value) > MAX_BATCH:
        raise MessageError(f"it is a batch of more than {MAX_BATCH} messages")
    return Packet(tuple(_message(item) for item in value), batch=True)


def compact(value: object) -> bytes:
    """Return JSON without blanks, its keys in their order, as UTF-8; a lone surrogate stays an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def readable(text: str) -> str:
    """Return a name as UTF-8 can hold it, a lone surrogate as an escape, and cut where it is too long."""
    shown = text[:MAX_NAME].encode("utf-8", "backslashreplace").decode()
    return shown if len(text) <= MAX_NAME else f"{shown}... ({len(text)} in all)"


def _parsed(data: bytes) -> Any:
    _check_lines(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise MessageError("it is not UTF-8") from None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise MessageError("it is nested too deep") from None
    except MessageError:
        raise
    except ValueError:  # also a number of thousands of digits
        raise MessageError("it is not JSON") from None
    _check_depth(value)
    return value


def _check_lines(data: bytes) -> None:
    """Refuse what a reader of lines may take for several messages. Raises MessageError."""
    if b"\r" in data.rstrip(b"\r\n"):
        raise MessageError("it has a carriage return between its parts")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise MessageError("a key stands twice in one object")
    if any("\0" in key for key in made):
        raise MessageError("a key holds U+0000, where readers in C take it to end")
    return made


def _no_number(_word: str) -> float:
    raise MessageError("a number in it is none that JSON knows")


def _check_depth(value: Any) -> None:
    """Walk without recursion: what follows may recurse."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return
        level = below
    raise MessageError("it is nested too deep")


def _message(value: Any) -> Message:
    if isinstance(value, list):
        raise MessageError("a batch stands in a batch")
    if not isinstance(value, dict):
        raise MessageError("it is no JSON-RPC message")
    check_words(value, _WORDS)
    number = _id(value.get("id"))
    if "method" in value:
        if "result" in value or "error" in value:
            raise MessageError("it is a request and an answer at once")
        return _request(value, number)
    # Some servers send an empty error along with a result.
    failed = value.get("error") is not None
    if failed == ("result" in value):
        raise MessageError("it is neither a request nor an answer")
    return _response(value, number)


def _request(value: dict[str, Any], number: Id) -> Message:
    method = value["method"]
    if not isinstance(method, str):
        raise MessageError("its method is no text")
    _check_end(method, "its method")
    if method != TOOLS_CALL:
        if folded(method.strip()) == TOOLS_CALL:
            raise MessageError("its method differs from tools/call in case or blanks alone")
        return Request(number, method)
    params = value.get("params")
    if not isinstance(params, dict):
        raise MessageError("its tools/call has no params")
    check_words(params, _CALL_WORDS)
    tool, arguments = params.get("name"), params.get("arguments")
    if not isinstance(tool, str):
        raise MessageError("its tools/call names no tool")
    _check_end(tool, "the name of its tool")
    if arguments is not None and not isinstance(arguments, dict):
        raise MessageError("the arguments of its tools/call are no object")
    return Call(number, tool, arguments or {})


def _check_end(text: str, what: str) -> None:
    """Refuse a name that a reader in C takes to be a shorter one. Raises MessageError."""
    if "\0" in text:
        raise MessageError(f"{what} holds U+0000, where readers in C take it to end")


def _response(value: dict[str, Any], number: Id) -> Response:
    if "result" not in value:
        return Response(number, compact(value["error"]), is_error=True)
    result = value["result"]
    failed = isinstance(result, dict) and result.get("isError") is True
    return Response(number, compact(result), is_error=failed)


def _id(value: Any) -> Id:
    """Return an id so that 1 and 1.0 are one: a server may give the one back for the other."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        raise MessageError("its id is neither text nor number")
    if isinstance(value, str) and len(value) > MAX_ID:
        raise MessageError(f"its id is longer than {MAX_ID} characters")
    if isinstance(value, float):
        if not value.is_integer():
            raise MessageError("its id is a fraction")
        return int(value)
    return value


def folded(text: str) -> str:
    """Return `text` as a reader that does not mind case takes it."""
    return text.casefold()


def check_words(value: Mapping[str, Any], words: frozenset[str]) -> None:
    """Refuse a key that is one of `words` but for its case. Raises MessageError."""
    for key in value:
        if key not in words and folded(key) in words:
            raise MessageError("a key differs from one of the protocol's in case alone")

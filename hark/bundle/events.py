"""Every kind of event as a frozen value, and its payload bytes: `encode` and `decode`.

What always holds: the field order of a class is the order of its keys in the table at the end, which is the
only place that knows them; missing or null reads as the zero value; unknown keys are skipped; an unknown
kind decodes to `Unknown` and is written back as it was. Keys of kinds 1 to 18 are format 1; those from 32
on (in any kind) and kinds from 32 on are hark's additions. The salt (key 63) is not a field: the writer
adds it.

"Llm" is historical: kinds 5 to 7 carry every HTTP exchange. Not done here: which event may follow which.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hark.bundle.bounds import (
    RUN_END_KIND,
    RUN_START_KIND,
    SEAL_KIND,
    Kind,
    RunEnd,
    RunStart,
    Seal,
    decode_as,
    decode_exactly_as,
    encode_as,
)
from hark.bundle.fields import (
    BOOL,
    BYTES,
    HASH,
    HASH_MAP,
    INT,
    NO_MAP,
    PAIRS,
    TEXT,
    TEXT_MAP,
    TEXTS,
    UINT,
    Pairs,
)
from hark.errors import RecordError

__all__ = [
    "KINDS",
    "BodyHash",
    "Boundary",
    "Checkpoint",
    "ClockRead",
    "DnsDecision",
    "DnsQuery",
    "EgressAttempt",
    "EgressDecision",
    "EnvSnapshot",
    "Event",
    "FileResult",
    "FsManifest",
    "Input",
    "Interim",
    "Kind",
    "LlmRequest",
    "LlmResponseChunk",
    "LlmResponseEnd",
    "McpMessage",
    "PolicyLoaded",
    "RandomRead",
    "RequestChunk",
    "ResponseHead",
    "RunEnd",
    "RunStart",
    "Seal",
    "SecretInjected",
    "ShimReport",
    "Snapshot",
    "TokenSeen",
    "ToolCallRequest",
    "ToolCallResult",
    "Trailers",
    "TunnelData",
    "Unknown",
    "WebSocketMessage",
    "decode",
    "decode_exactly",
    "encode",
    "escape",
    "kind_of",
]


REFUSED: Final = "refused: "
"""How an error begins where hark refused: LlmResponseEnd's, where it answered in the server's place, and
TunnelData's, where it ended the connection."""


class PolicyLoaded(NamedTuple):
    """The policy in force, as understood and as it was written."""

    source: str = ""
    allow_hosts: tuple[str, ...] = ()
    read_paths: tuple[str, ...] = ()
    write_paths: tuple[str, ...] = ()
    raw: bytes = b""


class EnvSnapshot(NamedTuple):
    """The agent's environment, with placeholders where credentials would be."""

    vars: Mapping[str, str] = NO_MAP


class FsManifest(NamedTuple):
    """What lay below a directory: path -> hash."""

    entries: Mapping[str, bytes] = NO_MAP
    root: str = ""


class LlmRequest(NamedTuple):
    """An HTTP request. A body over 1 MiB, or a streamed one, follows in RequestChunk.

    Then `request_key` is empty here: the last chunk carries it.
    """

    host: str = ""
    method: str = ""
    path: str = ""
    headers: Mapping[str, str] = NO_MAP
    body: bytes = b""
    request_key: bytes = b""
    occurrence: int = 0
    streaming: bool = False
    exchange: int = 0
    raw_headers: Pairs = ()


class LlmResponseChunk(NamedTuple):
    """A piece of a response body, as it arrived. `seq` counts from 0 in its exchange."""

    seq: int = 0
    data: bytes = b""
    since_prev: int = 0
    exchange: int = 0


class LlmResponseEnd(NamedTuple):
    """The end of a response, with its status and headers; `error` says why it broke off."""

    status: int = 0
    headers: Mapping[str, str] = NO_MAP
    chunk_count: int = 0
    error: str = ""
    exchange: int = 0
    raw_headers: Pairs = ()


class ToolCallRequest(NamedTuple):
    """A tool call; `arguments` is JSON."""

    server: str = ""
    tool: str = ""
    arguments: bytes = b""
    request_key: bytes = b""
    occurrence: int = 0
    exchange: int = 0


class ToolCallResult(NamedTuple):
    """What a tool answered; `result` is JSON."""

    server: str = ""
    tool: str = ""
    result: bytes = b""
    is_error: bool = False
    exchange: int = 0


class EgressAttempt(NamedTuple):
    """The agent reached out; written before its decision."""

    host: str = ""
    port: int = 0
    protocol: str = ""
    sni: str = ""


class EgressDecision(NamedTuple):
    """What the policy said to an attempt."""

    host: str = ""
    allowed: bool = False
    rule: str = ""
    reason: str = ""


class SecretInjected(NamedTuple):
    """A placeholder was replaced by the credential that it stands for."""

    ref: str = ""
    placeholder: str = ""
    host: str = ""
    value_hash: bytes = b""


class ClockRead(NamedTuple):
    """The agent read a clock."""

    source: str = ""
    value: int = 0


class RandomRead(NamedTuple):
    """The agent drew random bytes."""

    source: str = ""
    data: bytes = b""


class Checkpoint(NamedTuple):
    """A labelled point in the run."""

    label: str = ""
    state_hash: bytes = b""


class DnsQuery(NamedTuple):
    """The agent asked for a name; written before its decision."""

    name: str = ""
    type: str = ""
    raw_type: int = 0


class DnsDecision(NamedTuple):
    """What the agent was answered."""

    name: str = ""
    allowed: bool = False
    rule: str = ""
    answer: str = ""
    reason: str = ""


class WebSocketMessage(NamedTuple):
    """One message of a WebSocket, or a control frame. `type`: text, binary, close, ping, pong.

    Of a long message `data` is a piece; `more` says that another of it follows, from the same side and of
    the same type. A control frame may stand between two pieces.
    """

    exchange: int = 0
    seq: int = 0
    from_agent: bool = False
    type: str = ""
    data: bytes = b""
    more: bool = False


class TunnelData(NamedTuple):
    """Bytes of an allowed raw TCP connection, as they passed. `seq` counts from 0 in each direction."""

    exchange: int = 0
    seq: int = 0
    from_agent: bool = False
    data: bytes = b""
    end: bool = False
    """The last event of its direction."""
    error: str = ""
    """Why the direction ended, unless it was a half-close. After `refused: `, `data` was not passed on."""
    host: str = ""
    """`host:port`, in the tunnel's first event alone: the agent's, without data."""


class RequestChunk(NamedTuple):
    """A piece of a request body that is not in its LlmRequest; the last one carries key and occurrence."""

    exchange: int = 0
    seq: int = 0
    data: bytes = b""
    request_key: bytes = b""
    occurrence: int = 0
    last: bool = False


class Trailers(NamedTuple):
    """Trailers after a body."""

    exchange: int = 0
    from_agent: bool = False
    headers: Mapping[str, str] = NO_MAP
    raw_headers: Pairs = ()


class Input(NamedTuple):
    """Bytes that the agent got on `source` (stdin, terminal); `end` is end of file."""

    source: str = ""
    data: bytes = b""
    end: bool = False


class Snapshot(NamedTuple):
    """A part of a stored copy of files: `hash` is that of the whole archive, parts count from 0."""

    name: str = ""
    hash: bytes = b""
    seq: int = 0
    data: bytes = b""
    last: bool = False


class ShimReport(NamedTuple):
    """Something that could not be recorded: where, what, and why."""

    source: str = ""
    what: str = ""
    why: str = ""


class FileResult(NamedTuple):
    """A file as the run left it; an empty hash says that it is gone."""

    path: str = ""
    mode: int = 0
    hash: bytes = b""


class Boundary(NamedTuple):
    """Kind 41: what the kernel enforced around the agent, as applied and not as asked for."""

    landlock_abi: int = 0
    kernel: str = ""
    uid: int = 0
    gid: int = 0
    grants: tuple[str, ...] = ()
    """`read /path: why`, in the order of the plan."""
    withheld: tuple[str, ...] = ()
    """`masked /path`, `protected /path`, `hidden /path`: what lies in a grant and is kept back."""
    notes: tuple[str, ...] = ()
    """What could not be had on this host, in words."""


class McpMessage(NamedTuple):
    """Kind 42: a JSON-RPC message between the agent and a tool server over stdio, as it stood on its line.

    `connection` is a number of the run's exchanges. The last one of a connection has no data; `note` says how
    it ended, and of any other message why it was not passed on (`refused: why`) or that hark wrote it itself.
    """

    server: str = ""
    connection: int = 0
    seq: int = 0
    from_agent: bool = False
    data: bytes = b""
    note: str = ""


class Interim(NamedTuple):
    """Kind 46: an answer of the server's before the answer (103 Early Hints), as it was passed on."""

    exchange: int = 0
    status: int = 0
    headers: Mapping[str, str] = NO_MAP
    raw_headers: Pairs = ()


class TokenSeen(NamedTuple):
    """Kind 43: an answer had what looks like a token; its name alone. `where`: minted, cookie, json.

    What was minted at a known endpoint became a credential of the run; of the rest the agent got the value.
    """

    host: str = ""
    where: str = ""
    name: str = ""


class BodyHash(NamedTuple):
    """Kind 44: a body that passed and is not stored (`body = "hash"` in the policy), at the body's end.

    Length and BLAKE3 of the bytes that passed, all of them or, where it broke off, those that did.
    """

    exchange: int = 0
    from_agent: bool = False
    length: int = 0
    hash: bytes = b""


class ResponseHead(NamedTuple):
    """Kind 45: the head of a response that goes on, passed to the agent. Its LlmResponseEnd repeats it."""

    exchange: int = 0
    status: int = 0
    headers: Mapping[str, str] = NO_MAP
    raw_headers: Pairs = ()


class Unknown(NamedTuple):
    """An event of a kind that we do not know, kept as it is."""

    kind: int
    payload: bytes


type Event = (
    RunStart | PolicyLoaded | EnvSnapshot | FsManifest | LlmRequest | LlmResponseChunk | LlmResponseEnd
    | ToolCallRequest | ToolCallResult | EgressAttempt | EgressDecision | SecretInjected | ClockRead
    | RandomRead | Checkpoint | RunEnd | DnsQuery | DnsDecision | Seal | WebSocketMessage | TunnelData
    | RequestChunk | Trailers | Input | Snapshot | ShimReport | FileResult | Boundary
    | McpMessage | TokenSeen | BodyHash | ResponseHead | Interim
)  # fmt: skip

KINDS: Final[tuple[Kind, ...]] = (
    RUN_START_KIND,
    Kind(2, PolicyLoaded, {1: TEXT, 2: TEXTS, 3: TEXTS, 4: TEXTS, 5: BYTES}),
    Kind(3, EnvSnapshot, {1: TEXT_MAP}),
    Kind(4, FsManifest, {1: HASH_MAP, 2: TEXT}),
    Kind(
        5,
        LlmRequest,
        {1: TEXT, 2: TEXT, 3: TEXT, 4: TEXT_MAP, 5: BYTES, 6: HASH, 7: UINT, 8: BOOL, 9: UINT, 32: PAIRS},
    ),
    Kind(6, LlmResponseChunk, {1: UINT, 2: BYTES, 3: INT, 4: UINT}),
    Kind(7, LlmResponseEnd, {1: INT, 2: TEXT_MAP, 3: UINT, 4: TEXT, 5: UINT, 32: PAIRS}),
    Kind(8, ToolCallRequest, {1: TEXT, 2: TEXT, 3: BYTES, 4: HASH, 5: UINT, 6: UINT}),
    Kind(9, ToolCallResult, {1: TEXT, 2: TEXT, 3: BYTES, 4: BOOL, 5: UINT}),
    Kind(10, EgressAttempt, {1: TEXT, 2: INT, 3: TEXT, 4: TEXT}),
    Kind(11, EgressDecision, {1: TEXT, 2: BOOL, 3: TEXT, 4: TEXT}),
    Kind(12, SecretInjected, {1: TEXT, 2: TEXT, 3: TEXT, 4: BYTES}),
    Kind(13, ClockRead, {1: TEXT, 2: INT}),
    Kind(14, RandomRead, {1: TEXT, 2: BYTES}),
    Kind(15, Checkpoint, {1: TEXT, 2: BYTES}),
    RUN_END_KIND,
    Kind(17, DnsQuery, {1: TEXT, 2: TEXT, 3: UINT}),
    Kind(18, DnsDecision, {1: TEXT, 2: BOOL, 3: TEXT, 4: TEXT, 5: TEXT}),
    SEAL_KIND,
    Kind(33, WebSocketMessage, {1: UINT, 2: UINT, 3: BOOL, 4: TEXT, 5: BYTES, 32: BOOL}),
    Kind(34, TunnelData, {1: UINT, 2: UINT, 3: BOOL, 4: BYTES, 5: BOOL, 6: TEXT, 7: TEXT}),
    Kind(35, RequestChunk, {1: UINT, 2: UINT, 3: BYTES, 4: HASH, 5: UINT, 6: BOOL}),
    Kind(36, Trailers, {1: UINT, 2: BOOL, 3: TEXT_MAP, 32: PAIRS}),
    Kind(37, Input, {1: TEXT, 2: BYTES, 3: BOOL}),
    Kind(38, Snapshot, {1: TEXT, 2: HASH, 3: UINT, 4: BYTES, 5: BOOL}),
    Kind(39, ShimReport, {1: TEXT, 2: TEXT, 3: TEXT}),
    Kind(40, FileResult, {1: TEXT, 2: UINT, 3: HASH}),
    Kind(41, Boundary, {1: UINT, 2: TEXT, 3: UINT, 4: UINT, 5: TEXTS, 6: TEXTS, 7: TEXTS}),
    Kind(42, McpMessage, {1: TEXT, 2: UINT, 3: UINT, 4: BOOL, 5: BYTES, 6: TEXT}),
    Kind(43, TokenSeen, {1: TEXT, 2: TEXT, 3: TEXT}),
    Kind(44, BodyHash, {1: UINT, 2: BOOL, 3: UINT, 4: HASH}),
    Kind(45, ResponseHead, {1: UINT, 2: INT, 3: TEXT_MAP, 32: PAIRS}),
    Kind(46, Interim, {1: UINT, 2: INT, 3: TEXT_MAP, 32: PAIRS}),
)

_BY_NUMBER: Final = {kind.number: kind for kind in KINDS}
_BY_EVENT: Final = {kind.event: kind for kind in KINDS}


def kind_of(event: Event | Unknown) -> int:
    """The number of the kind of `event`."""
    return event.kind if isinstance(event, Unknown) else _row(event).number


def encode(event: Event | Unknown, salt: bytes = b"") -> bytes:
    """The payload of `event`, with `salt` under key 63 unless it is empty; a RecordError if it has none."""
    if isinstance(event, Unknown):
        return event.payload
    return encode_as(_row(event), event, salt)


def decode(kind: int, payload: bytes) -> Event | Unknown:
    """The event in a frame of `kind`; a BundleError if `payload` is not CBOR or a type is wrong."""
    row = _BY_NUMBER.get(kind)
    if row is None:
        return Unknown(kind, payload)
    event: Event = decode_as(row, payload)
    return event


def decode_exactly(kind: int, payload: bytes) -> Event | Unknown:
    """Like `decode`, but only what hark would have written itself passes."""
    row = _BY_NUMBER.get(kind)
    if row is None:
        return Unknown(kind, payload)
    event: Event = decode_exactly_as(row, payload)
    return event


def escape(raw: bytes) -> str:
    """`raw` as a text field holds it: what is not UTF-8 is escaped. The raw field beside it stays exact."""
    return raw.decode("utf-8", "backslashreplace")


def _row(event: Any) -> Kind:
    row = _BY_EVENT.get(type(event))
    if row is None:
        raise RecordError(f"{type(event).__name__} is not a kind of event: it cannot be recorded")
    return row

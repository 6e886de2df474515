"""Every kind of event as a frozen value, and its payload bytes: `encode` and `decode`.

What always holds: the field order of a class is the order of its keys in the table at the end, which is the
only place that knows them; missing or null reads as the zero value; unknown keys are skipped; an unknown
kind decodes to `Unknown` and is written back as it was. Keys of kinds 1 to 18 are format 1; those from 32
on (in any kind) and kinds from 32 on (`hark.bundle.additions`) are hark's. The salt (key 63) is not a field:
the writer adds it.

"Llm" is historical: kinds 5 to 7 carry every HTTP exchange. Not done here: which event may follow which.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hark.bundle.additions import (
    ADDED_KINDS,
    BodyHash,
    Boundary,
    Branch,
    ClockLog,
    Determinism,
    FileResult,
    Input,
    Interim,
    McpMessage,
    RequestChunk,
    ResponseHead,
    Rewritten,
    ShimReport,
    Snapshot,
    TokenSeen,
    Trailers,
    TunnelData,
    WebSocketMessage,
)
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
    kind_name,
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
from hark.bundle.frame import Frame
from hark.errors import BundleError, RecordError

__all__ = [
    "AGENT_LEFT",
    "KINDS",
    "REFUSED",
    "RUN_ENDED",
    "STREAM",
    "BodyHash",
    "Boundary",
    "Branch",
    "Checkpoint",
    "ClockLog",
    "ClockRead",
    "Determinism",
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
    "Rewritten",
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
    "decode_frame",
    "encode",
    "escape",
    "kind_of",
]


REFUSED: Final = "refused: "
"""How an error begins where hark refused: LlmResponseEnd's, where it answered in the server's place, and
TunnelData's, where it ended the connection."""
STREAM: Final = "stream"
"""WebSocketMessage's type where the exchange became a stream of bytes; its last piece has no `more`."""
AGENT_LEFT: Final = "the agent went away"
"""LlmResponseEnd's error where the agent did not wait for the end of its answer."""
TO_HARK: Final = "answered to hark, "
"""How the note of an McpMessage begins that was an answer to hark itself, and did not reach the agent."""
RUN_ENDED: Final = "the run ended"
"""LlmResponseEnd's error where the run did not."""


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
    """What lay below a directory: path -> hash. Several of one root are one manifest.

    An empty hash: not read. Of a symbolic link it is that of where it leads.
    """

    entries: Mapping[str, bytes] = NO_MAP
    root: str = ""
    left_out: Mapping[str, str] = NO_MAP
    """Path -> why it is not among the entries; a folder's ends with a slash. The agent saw `masked` empty."""
    single: bool = False
    """The root is a file that the agent could write, and no folder."""


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
    process: int = 0
    """Which of the agent's processes, as it numbers them; 0: not known."""


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
    process: int = 0
    """Which of the agent's processes, as it numbers them; 0: not known."""
    program: str = ""
    """What that process executes; its own word, as are its arguments, which may be cut."""
    arguments: tuple[str, ...] = ()


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


class Unknown(NamedTuple):
    """An event of a kind that we do not know, kept as it is."""

    kind: int
    payload: bytes


type Event = (
    RunStart | PolicyLoaded | EnvSnapshot | FsManifest | LlmRequest | LlmResponseChunk | LlmResponseEnd
    | ToolCallRequest | ToolCallResult | EgressAttempt | EgressDecision | SecretInjected | ClockRead
    | RandomRead | Checkpoint | RunEnd | DnsQuery | DnsDecision | Seal | WebSocketMessage | TunnelData
    | RequestChunk | Trailers | Input | Snapshot | ShimReport | FileResult | Boundary
    | McpMessage | TokenSeen | BodyHash | ResponseHead | Interim | Determinism | ClockLog
    | Branch | Rewritten
)  # fmt: skip

KINDS: Final[tuple[Kind, ...]] = (
    RUN_START_KIND,
    Kind(2, PolicyLoaded, {1: TEXT, 2: TEXTS, 3: TEXTS, 4: TEXTS, 5: BYTES}),
    Kind(3, EnvSnapshot, {1: TEXT_MAP}),
    Kind(4, FsManifest, {1: HASH_MAP, 2: TEXT, 32: TEXT_MAP, 33: BOOL}),
    Kind(
        5,
        LlmRequest,
        {
            1: TEXT,
            2: TEXT,
            3: TEXT,
            4: TEXT_MAP,
            5: BYTES,
            6: HASH,
            7: UINT,
            8: BOOL,
            9: UINT,
            32: PAIRS,
            33: UINT,
        },
    ),
    Kind(6, LlmResponseChunk, {1: UINT, 2: BYTES, 3: INT, 4: UINT}),
    Kind(7, LlmResponseEnd, {1: INT, 2: TEXT_MAP, 3: UINT, 4: TEXT, 5: UINT, 32: PAIRS}),
    Kind(8, ToolCallRequest, {1: TEXT, 2: TEXT, 3: BYTES, 4: HASH, 5: UINT, 6: UINT}),
    Kind(9, ToolCallResult, {1: TEXT, 2: TEXT, 3: BYTES, 4: BOOL, 5: UINT}),
    Kind(10, EgressAttempt, {1: TEXT, 2: INT, 3: TEXT, 4: TEXT, 32: UINT, 33: TEXT, 34: TEXTS}),
    Kind(11, EgressDecision, {1: TEXT, 2: BOOL, 3: TEXT, 4: TEXT}),
    Kind(12, SecretInjected, {1: TEXT, 2: TEXT, 3: TEXT, 4: BYTES}),
    Kind(13, ClockRead, {1: TEXT, 2: INT}),
    Kind(14, RandomRead, {1: TEXT, 2: BYTES}),
    Kind(15, Checkpoint, {1: TEXT, 2: BYTES}),
    RUN_END_KIND,
    Kind(17, DnsQuery, {1: TEXT, 2: TEXT, 3: UINT}),
    Kind(18, DnsDecision, {1: TEXT, 2: BOOL, 3: TEXT, 4: TEXT, 5: TEXT}),
    SEAL_KIND,
    *ADDED_KINDS,
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


def decode_frame(frame: Frame) -> Event | Unknown:
    """The event of a verified frame; a BundleError that names it, as its signer may have written anything."""
    try:
        return decode(frame.kind, frame.payload)
    except BundleError as error:
        raise BundleError(f"event {frame.seq} ({kind_name(frame.kind)}) cannot be read: {error}") from None


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

"""The kinds of events that hark adds to format 1, from 33 on: values, and their rows of the table.

A reader of format 1 skips them. `hark.bundle.events` has the rest, and what is done with all of them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from hark.bundle.bounds import Kind
from hark.bundle.fields import BOOL, BYTES, HASH, INT, NO_MAP, PAIRS, TEXT, TEXT_MAP, TEXTS, UINT, Pairs


class WebSocketMessage(NamedTuple):
    """One message of a WebSocket, or a control frame. `type`: text, binary, close, ping, pong.

    Or, with the type `stream`, bytes of a connection that switched to another protocol.

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
    process: int = 0
    """As of an EgressAttempt; where `host` is."""


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
    """A file as the run left it; an empty hash says that it is gone.

    `path` is below the project, or absolute: in a folder of PolicyLoaded's WritePaths that has a manifest.
    """

    path: str = ""
    mode: int = 0
    hash: bytes = b""
    was_there: bool = False
    """Of an absolute path: whether the run began with such a file, which a replay has not."""


class Boundary(NamedTuple):
    """What the kernel enforced around the agent, as applied and not as asked for."""

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
    waits_for_all: bool = False
    """Whether the run lasted until every process of the agent's had ended, and not only the first."""
    processors: int = 0
    """How many the agent might use, as it was told; 0 where that is not recorded."""
    online: int = 0
    """How many it was told that there are."""
    umask: str = ""
    """The mask that it began with, four octal digits; empty where that is not recorded."""
    ignored: tuple[str, ...] = ()
    """Names of the signals that it began with as ignored, as its caller had them."""


class McpMessage(NamedTuple):
    """A JSON-RPC message between the agent and a tool server over stdio, as it stood on its line.

    `connection` is a number of the run's exchanges. The last one of a connection has no data; `note` says how
    it ended, and of any other message why it was not passed on (`refused: why`) or that hark wrote it itself.
    """

    server: str = ""
    connection: int = 0
    seq: int = 0
    from_agent: bool = False
    data: bytes = b""
    note: str = ""
    process: int = 0
    """As of an EgressAttempt: the one that made the connection."""


class TokenSeen(NamedTuple):
    """An answer had what looks like a token; its name alone. `where`: minted, cookie, json, form, xml.

    What was minted at a known endpoint became a credential of the run; of the rest the agent got the value.
    """

    host: str = ""
    where: str = ""
    name: str = ""


class BodyHash(NamedTuple):
    """A body that passed and is not stored (`body = "hash"` in the policy), at the body's end.

    Length and BLAKE3 of the bytes that passed, all of them or, where it broke off, those that did.
    """

    exchange: int = 0
    from_agent: bool = False
    length: int = 0
    hash: bytes = b""


class ResponseHead(NamedTuple):
    """The head of a response that goes on, passed to the agent. Its LlmResponseEnd repeats it."""

    exchange: int = 0
    status: int = 0
    headers: Mapping[str, str] = NO_MAP
    raw_headers: Pairs = ()


class Interim(NamedTuple):
    """An answer of the server's before the answer (103 Early Hints), as it was passed on."""

    exchange: int = 0
    status: int = 0
    headers: Mapping[str, str] = NO_MAP
    raw_headers: Pairs = ()


class Determinism(NamedTuple):
    """What makes the agent's clock and randomness the same again, and which means of it were in force."""

    seed: bytes = b""
    """Of the generator that every draw comes from; empty where randomness was left as it is."""
    mechanisms: tuple[str, ...] = ()
    """What was in force, as applied and not as asked for: `clock preload`, `random notify`, `aslr off`."""
    replayed: bytes = b""
    """Of a replay: the root of the bundle that it replays. Times are then those of that recording."""


class ClockLog(NamedTuple):
    """A part of what the agent's threads read when they asked the real clock again, packed."""

    data: bytes = b""
    last: bool = False


class Branch(NamedTuple):
    """The run goes live here: what stood before was played from `parent`, what follows was not.

    The wall clock that the agent is shown is from here on `wall_ns` and the time since this event.
    """

    parent: bytes = b""
    """Root of the bundle that was played."""
    at: int = 0
    """The event of that bundle at which the run went its own way."""
    side: str = ""
    """Of its exchange: request, which was asked live; response, the last that was played."""
    wall_ns: int = 0
    """Unix nanoseconds."""
    seed: bytes = b""
    """Of the generator that every later draw comes from; empty where randomness was left as it is."""
    patch: bytes = b""
    """The patch, as its hash in the header is over it; empty without one."""
    note: str = ""
    verified: int = 0
    """Actions that were found equal before."""
    exchange: int = 0
    """This run's number of the exchange."""


class Rewritten(NamedTuple):
    """A live request was sent otherwise than the agent made it, which its own events hold."""

    exchange: int = 0
    headers: Pairs = ()
    """As sent, with placeholders for credentials."""
    body: bytes = b""
    """As sent."""
    why: str = ""


ADDED_KINDS: Final[tuple[Kind, ...]] = (
    Kind(33, WebSocketMessage, {1: UINT, 2: UINT, 3: BOOL, 4: TEXT, 5: BYTES, 32: BOOL}),
    Kind(34, TunnelData, {1: UINT, 2: UINT, 3: BOOL, 4: BYTES, 5: BOOL, 6: TEXT, 7: TEXT, 8: UINT}),
    Kind(35, RequestChunk, {1: UINT, 2: UINT, 3: BYTES, 4: HASH, 5: UINT, 6: BOOL}),
    Kind(36, Trailers, {1: UINT, 2: BOOL, 3: TEXT_MAP, 32: PAIRS}),
    Kind(37, Input, {1: TEXT, 2: BYTES, 3: BOOL}),
    Kind(38, Snapshot, {1: TEXT, 2: HASH, 3: UINT, 4: BYTES, 5: BOOL}),
    Kind(39, ShimReport, {1: TEXT, 2: TEXT, 3: TEXT}),
    Kind(40, FileResult, {1: TEXT, 2: UINT, 3: HASH, 4: BOOL}),
    Kind(
        41,
        Boundary,
        {1: UINT, 2: TEXT, 3: UINT, 4: UINT, 5: TEXTS, 6: TEXTS, 7: TEXTS, 8: BOOL}
        | {32: UINT, 33: UINT, 34: TEXT, 35: TEXTS},
    ),
    Kind(42, McpMessage, {1: TEXT, 2: UINT, 3: UINT, 4: BOOL, 5: BYTES, 6: TEXT, 7: UINT}),
    Kind(43, TokenSeen, {1: TEXT, 2: TEXT, 3: TEXT}),
    Kind(44, BodyHash, {1: UINT, 2: BOOL, 3: UINT, 4: HASH}),
    Kind(45, ResponseHead, {1: UINT, 2: INT, 3: TEXT_MAP, 32: PAIRS}),
    Kind(46, Interim, {1: UINT, 2: INT, 3: TEXT_MAP, 32: PAIRS}),
    Kind(47, Determinism, {1: HASH, 2: TEXTS, 3: HASH}),
    Kind(48, ClockLog, {1: BYTES, 2: BOOL}),
    Kind(49, Branch, {1: HASH, 2: UINT, 3: TEXT, 4: INT, 5: HASH, 6: BYTES, 7: TEXT, 8: UINT, 9: UINT}),
    Kind(50, Rewritten, {1: UINT, 2: PAIRS, 3: BYTES, 4: TEXT}),
)

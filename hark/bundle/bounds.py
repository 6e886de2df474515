"""The three events that bound a run: RunStart, RunEnd and Seal, with their keys, and the names of all kinds.

They stand apart from `hark.bundle.events` because a verifier needs only these three decoded, and starting it
must stay cheap. What always holds: a kind's number, name and keys are written down once, here or there.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hark.bundle import cbor
from hark.bundle.fields import (
    BOOL,
    BYTES,
    COUNTS,
    HASH,
    INT,
    NO_MAP,
    SALT_KEY,
    TEXT,
    TEXTS,
    UINT,
    Layout,
    Plan,
    load,
)
from hark.bundle.quick import Quick
from hark.errors import BundleError

RUN_START: Final = 1
RUN_END: Final = 16
SEAL: Final = 32
BODY_HASH: Final = 44

KIND_NAMES: Final[Mapping[int, str]] = {
    1: "RunStart",
    2: "PolicyLoaded",
    3: "EnvSnapshot",
    4: "FsManifest",
    5: "LlmRequest",
    6: "LlmResponseChunk",
    7: "LlmResponseEnd",
    8: "ToolCallRequest",
    9: "ToolCallResult",
    10: "EgressAttempt",
    11: "EgressDecision",
    12: "SecretInjected",
    13: "ClockRead",
    14: "RandomRead",
    15: "Checkpoint",
    16: "RunEnd",
    17: "DnsQuery",
    18: "DnsDecision",
    32: "Seal",
    33: "WebSocketMessage",
    34: "TunnelData",
    35: "RequestChunk",
    36: "Trailers",
    37: "Input",
    38: "Snapshot",
    39: "ShimReport",
    40: "FileResult",
    41: "Boundary",
    42: "McpMessage",
    43: "TokenSeen",
    44: "BodyHash",
    45: "ResponseHead",
    46: "Interim",
    47: "Determinism",
    48: "ClockLog",
    49: "Branch",
    50: "Rewritten",
}


def kind_name(kind: int) -> str:
    """The name of `kind`, or `kind N` for one that we do not know."""
    return KIND_NAMES.get(kind, f"kind {kind}")


class RunStart(NamedTuple):
    """The first event: what the run was asked to be."""

    run_id: str = ""
    started_at: int = 0
    recorder: str = ""
    argv_hash: bytes = b""
    policy_hash: bytes = b""
    working_dir: str = ""
    provider_set: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    upstreams: tuple[str, ...] = ()
    """`host=addr`, sorted."""
    header_hash: bytes = b""
    """BLAKE3 of the header bytes; the writer fills it in. Empty: the header is under no hash."""
    uncontained: str = ""
    """Where the code ran that was recorded, if no boundary stood around it; empty where one did."""


class RunEnd(NamedTuple):
    """How the run ended. `reason` is one of `hark.bundle.outcome`'s words, with its detail."""

    ended_at: int = 0
    exit_code: int = 0
    reason: str = ""


class Seal(NamedTuple):
    """The last event: what covers the kinds, order and times of all the others, and its own time."""

    frames_hash: bytes = b""
    """BLAKE3 over u8 kind, u64 seq, u64 time of every earlier frame, in order."""
    counts: Mapping[int, int] = NO_MAP
    """Kind -> number of earlier events of that kind."""
    outcome: str = ""
    own_time: int = 0
    """This frame's own time, which nothing else would cover."""
    checkpoint: bool = False
    """Key 40: the footer holds a checkpoint, so that it cannot be taken out of it."""


class Kind(NamedTuple):
    """One row of the table: the number of a kind, the class of its events, and their keys in field order."""

    number: int
    event: type[Any]
    layout: Layout

    @property
    def name(self) -> str:
        return self.event.__name__


_PLANS: Final[dict[type[Any], Plan]] = {}
_QUICK: Final[dict[type[Any], Quick]] = {}
_NEW: Final = tuple.__new__
_SALT: Final = cbor.encode(SALT_KEY)
"""Behind all other keys."""

RUN_START_KIND: Final = Kind(
    RUN_START,
    RunStart,
    {
        1: TEXT,
        2: INT,
        3: TEXT,
        4: BYTES,
        5: BYTES,
        6: TEXT,
        7: TEXTS,
        8: TEXTS,
        10: TEXTS,
        32: HASH,
        33: TEXT,
    },
)
RUN_END_KIND: Final = Kind(RUN_END, RunEnd, {1: INT, 2: INT, 3: TEXT})
SEAL_KIND: Final = Kind(SEAL, Seal, {1: HASH, 2: COUNTS, 3: TEXT, 4: UINT, 40: BOOL})


def encode_as(kind: Kind, event: tuple[Any, ...], salt: bytes = b"") -> bytes:
    """The payload of `event`, with `salt` under key 63 unless it is empty."""
    plan = _PLANS.get(kind.event)
    if plan is None:
        plan = _PLANS[kind.event] = Plan(kind.name, kind.layout)
    return plan.payload(event, (_SALT, *cbor.string(salt)) if salt else ())


def decode_as(kind: Kind, payload: bytes) -> Any:
    """The event that `payload` holds, an instance of `kind.event`; unknown keys are skipped."""
    quick = _QUICK.get(kind.event)
    if quick is None:
        quick = _QUICK[kind.event] = Quick(kind.layout)
    values = quick.values(payload)
    if values is None:
        values = load(kind.name, kind.layout, cbor.decode(payload))
    return _NEW(kind.event, values)


def decode_exactly_as(kind: Kind, payload: bytes) -> Any:
    """Like `decode_as`, but only what hark would have written itself passes: every key there, none beside."""
    raw = cbor.decode(payload)
    event = kind.event(*load(kind.name, kind.layout, raw))
    salt = raw.get(SALT_KEY) if isinstance(raw, dict) else None
    if encode_as(kind, event, salt if isinstance(salt, bytes) else b"") != payload:
        raise BundleError(f"{kind.name} is not written as hark writes it")
    return event

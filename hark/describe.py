"""Events in words: one line for a list, every field for a closer look, and JSON for programs.

What always holds: everything recorded passes through `hark.visible` (text) or ASCII-only JSON, so nothing
that an agent or a server sent can act on the reader's terminal; what hark decided stands before what was
recorded, so no recorded text can push it away or imitate it. No IO here.

JSON: one object with `seq`, `time_ns`, `kind`, `name`, `exchange` (if the kind has one) and `fields`, by
the field's name. Bytes are `{"hex": "..."}` if they are a hash, a seed or not UTF-8, else `{"text": "..."}`.
An unknown kind has its payload as the one field.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart, Seal, kind_name
from hark.bundle.fields import HASH
from hark.bundle.hashing import content_hash
from hark.bundle.outcome import EXIT
from hark.visible import visible, visible_bytes

_BODILESS: Final = ("GET", "HEAD", "DELETE", "OPTIONS", "CONNECT", "TRACE")
"""Methods whose requests have no body unless their headers say so; of others HTTP/2 need not say it."""
PREVIEW: Final = 400  # bytes of a body that one line may need; no line is that wide


def line(event: ev.Event | ev.Unknown) -> str:
    """What happened, in one line, safe to print."""
    if isinstance(event, ev.Unknown):
        return f"{_count(len(event.payload), 'byte')} of a kind that this hark does not know"
    return visible(_LINES[type(event)](event))


def exchange_of(event: ev.Event | ev.Unknown) -> int | None:
    """The number of the exchange that the event belongs to, if its kind has one."""
    if type(event) not in _OF_EXCHANGES:
        return None
    number: int = event.exchange  # type: ignore[union-attr]
    return number


def seconds(time_ns: int) -> str:
    """Time since the run began, to the millisecond, without going through a float."""
    return f"{time_ns // 1_000_000_000}.{time_ns // 1_000_000 % 1000:03d}"


def detail(event: ev.Event | ev.Unknown) -> list[str]:
    """Every field, a name and its value, over as many lines as the value has; safe to print."""
    lines = list[str]()
    for (name, label, bare), value in zip(_LABELS[type(event)], _values(event), strict=True):
        if isinstance(value, int):
            lines.append(f"{label}{value}")
        elif not value:
            lines.append(bare)
        elif isinstance(value, str):
            lines.append(f"{label}{visible(value)}".rstrip())
        elif isinstance(value, bytes) and b"\n" not in value:
            shown = value.hex() if name in _IN_HEX else visible_bytes(value)
            lines.append(f"{label}{shown}".rstrip())
        else:
            first, *more = _value_lines(name, value)
            lines.append(f"{label}{first}".rstrip())
            lines += [f"{' ' * len(label)}{text}".rstrip() for text in more]
    return lines


def _labels(names: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return each field's name, the name as it stands before its value, and where there is none."""
    width = max(map(len, names), default=0)
    return tuple((name, f"  {name:<{width}}  ", f"  {name}") for name in names)


_OF_EXCHANGES: Final = frozenset(kind.event for kind in ev.KINDS if "exchange" in kind.event._fields)
_IN_HEX: Final = frozenset(
    name
    for kind in ev.KINDS
    for name, shape in zip(kind.event._fields, kind.layout.values(), strict=True)
    if shape is HASH or name == "entries" or name.endswith("_hash")  # a manifest's entries are hashes
)
"""Fields that are never text: hashes, roots and seeds."""
_LABELS: Final[dict[type[Any], tuple[tuple[str, str, str], ...]]] = {
    ev.Unknown: _labels(("payload",)),
    **{kind.event: _labels(kind.event._fields) for kind in ev.KINDS},
}


def in_hex(data: bytes) -> dict[str, str]:
    """Bytes outside UTF-8, for people who look at one event."""
    return {"hex": data.hex()}


def in_base64(data: bytes) -> dict[str, str]:
    """Bytes outside UTF-8, for programs that take all of them."""
    import binascii

    return {"base64": binascii.b2a_base64(data, newline=False).decode()}


def to_json(
    seq: int,
    time_ns: int,
    kind: int,
    event: ev.Event | ev.Unknown | None,
    extra: Mapping[str, object],
    *,
    spelled: Callable[[bytes], dict[str, str]] = in_hex,
) -> str:
    """The event as one line of JSON, ASCII only and without control characters; None has no fields.

    `spelled` says how bytes are written that are neither a hash nor UTF-8.
    """
    import json

    record: dict[str, object] = {
        "seq": seq,
        "time_ns": time_ns,
        "kind": kind,
        "name": kind_name(kind),
        **extra,
    }
    if event is not None and exchange_of(event) is not None:
        record["exchange"] = exchange_of(event)
    record["fields"] = None if event is None else {k: _json(k, v, spelled) for k, v in _fields(event).items()}
    record |= extra
    return json.dumps(record).replace("\x7f", "\\u007f")  # the one control character that json lets through


def _fields(event: ev.Event | ev.Unknown) -> dict[str, Any]:
    if isinstance(event, ev.Unknown):
        return {"payload": event.payload}
    return event._asdict()


def _values(event: ev.Event | ev.Unknown) -> tuple[Any, ...]:
    return (event.payload,) if isinstance(event, ev.Unknown) else event


def _json(name: str, value: object, spelled: Callable[[bytes], dict[str, str]]) -> object:
    match value:
        case bytes():
            return _json_bytes(name, value, spelled)
        case Mapping():
            return {str(key): _json(name, item, spelled) for key, item in value.items()}
        case tuple():
            return [_json(name, item, spelled) for item in value]
        case _:
            return value


def _json_bytes(name: str, value: bytes, spelled: Callable[[bytes], dict[str, str]]) -> dict[str, str]:
    if name not in _IN_HEX:
        try:
            return {"text": value.decode()}
        except UnicodeDecodeError:
            return spelled(value)
    return in_hex(value)


def _value_lines(name: str, value: object) -> list[str]:
    match value:
        case bytes():
            return [value.hex()] if name in _IN_HEX else _text_lines(value)
        case tuple():
            return [_inline(name, item) for item in value] or [""]
        case Mapping():
            return [f"{visible(str(key))}: {_inline(name, item)}" for key, item in value.items()] or [""]
        case _:
            return [visible(str(value))]


def _inline(name: str, value: object) -> str:
    if isinstance(value, tuple):  # one raw header
        return ": ".join(_inline(name, part) for part in value)
    return " ".join(_value_lines(name, value))


def _text_lines(data: bytes) -> list[str]:
    """A body by its own lines, each of them safe; bytes outside UTF-8 stand as escapes."""
    return [visible_bytes(part) for part in data.split(b"\n")]


def _body(data: bytes) -> str:
    """A body in a line: its size, then its beginning."""
    if not data:
        return "empty"
    shown = data[:PREVIEW].decode("utf-8", "surrogateescape")  # what is no text, `visible` shows as bytes
    return f"{_count(len(data), 'byte')}: {shown}{'…' if len(data) > PREVIEW else ''}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _allowed(allowed: bool, rest: str, why: str) -> str:  # noqa: FBT001 (a field of the format)
    return f"{'allowed' if allowed else 'DENIED'} {rest}" + (f" ({why})" if why else "")


def _request(e: ev.LlmRequest) -> str:
    return f"{e.method} {e.host}{e.path}, {_asked_with(e)}"


def _asked_with(e: ev.LlmRequest) -> str:
    """The body; where there is none, whether there was one: of a refused request it was not read."""
    if e.body:
        return _body(e.body)
    if e.streaming:
        return "body follows"
    framing = {name.lower(): value.strip() for name, value in e.headers.items()}
    length = framing.get("content-length", "0" if e.method in _BODILESS else "")
    return "empty" if length == "0" and "transfer-encoding" not in framing else "body not recorded"


def _end(e: ev.LlmResponseEnd) -> str:
    if e.error.startswith(ev.REFUSED):
        return f"{e.status} by hark, the request was {e.error}"
    return f"{e.status} in {_count(e.chunk_count, 'chunk')}" + (f", broken off: {e.error}" if e.error else "")


def _side(from_agent: bool) -> str:  # noqa: FBT001 (a field of the format)
    return "agent >" if from_agent else "server >"


def _tunnel(e: ev.TunnelData) -> str:
    if e.host:
        return f"raw TCP to {e.host}"
    how = f", ended: {e.error}" if e.error else ", end" if e.end else ""
    return f"{_side(e.from_agent)} {e.seq}{how}" + (f", {_body(e.data)}" if e.data else "")


def _names(headers: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in headers.items())


def _input(e: ev.Input) -> str:
    return f"{e.source}, {_body(e.data)}{', then end of file' if e.end else ''}"


def _run_start(e: RunStart) -> str:
    mark = f"UNCONTAINED, in {e.uncontained}: " if e.uncontained else ""
    return f"{mark}{' '.join(e.argv)} in {e.working_dir} ({e.recorder}, run {e.run_id})"


def _manifest(e: ev.FsManifest) -> str:
    left = f", {_count(len(e.left_out), 'path')} left out" if e.left_out else ""
    return f"{_count(len(e.entries), 'file')} below {e.root}{left}"


def _boundary(e: ev.Boundary) -> str:
    if not e.grants and not e.landlock_abi:
        return f"NONE, uid {e.uid}: {'; '.join(e.notes)}"
    grants, withheld = _count(len(e.grants), "grant"), _count(len(e.withheld), "path")
    return f"uid {e.uid}, Landlock ABI {e.landlock_abi}, {grants}, {withheld} kept back"


def _mcp_message(e: ev.McpMessage) -> str:
    where = f"{e.server}#{e.connection}"
    if not e.data:
        return f"{where} ended" + (f": {e.note}" if e.note else "")
    note = f"({e.note}) " if e.note else ""
    return f"{note}{where} {_side(e.from_agent)} {e.seq}, {_body(e.data)}"


def _branch(e: ev.Branch) -> str:
    note = f" ({e.note})" if e.note else ""
    patch = f"with the patch {content_hash(e.patch).hex()}{note}" if e.patch else f"without a patch{note}"
    return (
        f"live from the {e.side} on: by its own word a fork of the bundle with root {e.parent.hex()} "
        f"at its event {e.at}, {patch}, {_count(e.verified, 'action')} equal before"
    )


_LINES: Final[Mapping[type[Any], Callable[[Any], str]]] = {
    RunStart: _run_start,
    ev.PolicyLoaded: lambda e: f"{e.source}: allow {', '.join(e.allow_hosts) or 'nothing'}",
    ev.EnvSnapshot: lambda e: f"{_count(len(e.vars), 'variable')}: {' '.join(e.vars)}",
    ev.FsManifest: _manifest,
    ev.LlmRequest: _request,
    ev.LlmResponseChunk: lambda e: f"chunk {e.seq}, {_body(e.data)}",
    ev.LlmResponseEnd: _end,
    ev.ToolCallRequest: lambda e: f"{e.server} {e.tool}, {_body(e.arguments)}",
    ev.ToolCallResult: lambda e: f"{'ERROR ' if e.is_error else ''}{e.server} {e.tool}, {_body(e.result)}",
    ev.EgressAttempt: lambda e: (
        f"{e.protocol} to {e.host} port {e.port}" + (f", SNI {e.sni}" if e.sni else "")
    ),
    ev.EgressDecision: lambda e: _allowed(e.allowed, e.host, e.rule if e.allowed else e.reason),
    ev.SecretInjected: lambda e: f"{e.ref} for {e.host} in place of {e.placeholder}",
    ev.ClockRead: lambda e: f"{e.source} read {e.value}",
    ev.RandomRead: lambda e: f"{e.source} drew {_count(len(e.data), 'byte')}",
    ev.Checkpoint: lambda e: f"{e.label} {e.state_hash.hex()}",
    RunEnd: lambda e: (
        f"exit code {e.exit_code}" if e.reason == EXIT else f"{e.reason} (exit code {e.exit_code})"
    ),
    ev.DnsQuery: lambda e: f"{e.type or e.raw_type} {e.name}",
    ev.DnsDecision: lambda e: _allowed(
        e.allowed, f"{e.name} {e.answer}".rstrip(), e.rule if e.allowed else e.reason
    ),
    Seal: lambda e: f"over {_count(sum(e.counts.values()), 'event')}, outcome {e.outcome}",
    ev.WebSocketMessage: lambda e: (
        f"{_side(e.from_agent)} {e.type} {e.seq}{', more follows' if e.more else ''}, {_body(e.data)}"
    ),
    ev.TunnelData: _tunnel,
    ev.RequestChunk: lambda e: f"chunk {e.seq}{', last' if e.last else ''}, {_body(e.data)}",
    ev.Trailers: lambda e: f"{_side(e.from_agent)} {_names(e.headers)}",
    ev.Input: _input,
    ev.Snapshot: lambda e: f"{e.name} part {e.seq}{', last' if e.last else ''}, {len(e.data)} bytes",
    ev.ShimReport: lambda e: f"not recorded: {e.what} of {e.source} ({e.why})",
    ev.FileResult: lambda e: f"{e.path} {f'mode {e.mode:04o}' if e.hash else 'is gone'}",
    ev.Boundary: _boundary,
    ev.McpMessage: _mcp_message,
    ev.TokenSeen: lambda e: f"{e.where} {e.name} from {e.host}",
    ev.BodyHash: lambda e: (
        f"{_side(e.from_agent)} body of {_count(e.length, 'byte')}, not stored, BLAKE3 {e.hash.hex()}"
    ),
    ev.ResponseHead: lambda e: f"{e.status}, {_count(len(e.raw_headers), 'header')}, the body goes on",
    ev.Determinism: lambda e: (
        f"{'a seed' if e.seed else 'no seed'}, {', '.join(e.mechanisms) or 'nothing in force'}"
        + (f"; by its own word a replay of the bundle with root {e.replayed.hex()}" if e.replayed else "")
    ),
    ev.ClockLog: lambda e: f"{_count(len(e.data), 'byte')}{', last' if e.last else ''}",
    ev.Branch: _branch,
    ev.Rewritten: lambda e: (
        f"{e.why}: sent with {_count(len(e.headers), 'header')}, {_body(e.body)}, "
        "in place of what the agent made"
    ),
    ev.Interim: lambda e: f"{e.status} before the answer, {_names(e.headers) or 'no headers'}",
}

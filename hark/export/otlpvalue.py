"""Values as OTLP's JSON has them: attributes, identifiers, spans.

What always holds: whatever is given makes JSON that the published schema takes. Whole numbers of 64 bits are
text, identifiers lower-case hex and never zero; what has no place (a number that is none, a value of another
type) is left out; half a surrogate pair becomes a question mark.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from blake3 import blake3

CONTEXT: Final = b"hark/otlp/v1"
"""Keeps identifiers apart from every other hash over the same bytes."""
TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8
INTERNAL: Final = 1
CLIENT: Final = 3
FAILED: Final = 2
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1

type Value = str | bool | int | float | Sequence[str]


def trace_id(run: bytes) -> str:
    """Return the trace of a run, by what tells it from every other."""
    return _identifier(run, TRACE_BYTES)


def span_id(run: bytes, seq: int | None) -> str:
    """Return the span that begins with an event of a run; without one, that of all of it."""
    return _identifier(run + b"\0" + str(seq).encode(), SPAN_BYTES)


def attributes(found: Mapping[str, Value | None]) -> list[dict[str, object]]:
    """Return attributes as a list of keys and values, without those that have none."""
    return [{"key": key, "value": value} for key, value in _valued(found)]


def text(words: str) -> str:
    """Return a text that is UTF-8."""
    return words.encode("utf-8", "replace").decode()


def span(
    ids: tuple[str, str, str],
    name: str,
    kind: int,
    times: tuple[int, int],
    found: Mapping[str, Value | None],
    *,
    failure: str = "",
) -> dict[str, object]:
    """Return a span. `ids`: of the trace, its own, its parent's; `times`: Unix nanoseconds."""
    trace, own, parent = ids
    begin, end = times
    made: dict[str, object] = {
        "traceId": trace,
        "spanId": own,
        "name": text(name),
        "kind": kind,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(max(begin, end)),
        "attributes": attributes(found),
    }
    if parent:
        made["parentSpanId"] = parent
    if failure:
        made["status"] = {"code": FAILED, "message": text(failure)}
    return made


def _identifier(data: bytes, size: int) -> str:
    digest = blake3(CONTEXT + b"\0" + data).digest()[:size]
    return digest.hex() if any(digest) else "01" * size


def _valued(found: Mapping[str, Value | None]) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, value in found.items():
        made = None if value is None else _value(value)
        if made is not None:
            yield key, made


def _value(value: Value) -> dict[str, Any] | None:
    match value:
        case bool():  # before int, which it is to Python
            return {"boolValue": value}
        case str():
            return {"stringValue": text(value)}
        case int():
            return {"intValue": str(value)} if _LEAST <= value <= _MOST else None
        case float():
            return {"doubleValue": value} if math.isfinite(value) else None
        case _:
            return {"arrayValue": {"values": [{"stringValue": text(one)} for one in value]}}

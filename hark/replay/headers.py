"""Which headers of a request count in its canonical form, and as what: one table, by name.

What always holds: a header that is in no rule counts with its whole value. Each rule has a name, which
docs/format.md repeats with what it covers. Names are lower-case; one that ends in `*` covers all that begin
so. Left out is what says how bytes travelled, what differs at each attempt by nature, and what client program
spoke; what says which answer is wanted is not, so `accept-encoding` and `anthropic-beta` count.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

type Fields = tuple[tuple[bytes, bytes], ...]


class Rule(NamedTuple):
    """Headers that never count, and why not."""

    name: str
    covers: tuple[str, ...]
    why: str


LEFT_OUT: Final[tuple[Rule, ...]] = (
    Rule(
        "hop by hop",
        ("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
         "trailer", "http2-settings"),
        "about one connection",
    ),
    Rule("framing", ("content-length", "transfer-encoding"), "where the body ends, and not what it is"),
    Rule("authority", ("host",), "counts as the request's host"),
    Rule("dates", ("date", "x-amz-date", "x-goog-date", "x-ms-date"), "another one each time"),
    Rule(
        "traces",
        ("traceparent", "tracestate", "baggage", "b3", "x-b3-*", "sentry-trace", "uber-trace-id",
         "x-trace-id", "x-datadog-*", "x-cloud-trace-context", "x-amzn-trace-id", "grpc-trace-bin",
         "elastic-apm-traceparent", "newrelic", "x-request-id", "request-id", "x-correlation-id",
         "x-client-request-id", "x-ms-client-request-id"),
        "an identifier drawn for each request",
    ),
    Rule(
        "attempts",
        ("amz-sdk-invocation-id", "amz-sdk-request", "grpc-timeout"),
        "another one for each attempt, or what is left of a deadline",
    ),
    Rule(
        "client programs",
        ("user-agent", "x-stainless-*", "x-goog-api-client", "x-amz-user-agent", "x-ms-useragent",
         "x-openai-client-*", "anthropic-client-*", "x-fern-*", "sec-ch-ua*", "grpc-user-agent"),
        "names and versions of SDK, interpreter and system, and counts of attempts",
    ),
    Rule("WebSocket key", ("sec-websocket-key",), "drawn for each connection; the answer's is recomputed"),
    Rule(
        "hashes of the body",
        ("content-md5", "content-digest", "repr-digest", "digest", "x-amz-checksum-*", "x-goog-hash"),
        "the body counts itself",
    ),
)  # fmt: skip
"""The rules by name."""
BY_PRESENCE: Final = ("idempotency-key", "x-idempotency-key")
"""Headers that count as being there, whatever their value: it is drawn for each request."""

_EXACT: Final = frozenset(name for rule in LEFT_OUT for name in rule.covers if not name.endswith("*"))
_PREFIXES: Final = tuple(name[:-1] for rule in LEFT_OUT for name in rule.covers if name.endswith("*"))
_PAYLOAD: Final = b"x-amz-content-sha256"
_HASH: Final = re.compile(rb"[0-9A-Fa-f]{64}")
_SIGNED: Final = re.compile(
    rb"(AWS4-[A-Z0-9-]+|GOOG4-[A-Z0-9-]+)[ \t]+Credential=([^,\s]+)[ \t]*,[ \t]*SignedHeaders=([^,\s]+)"
    rb"[ \t]*,[ \t]*Signature=[0-9a-fA-F]+[ \t]*"
)
_DATED: Final = re.compile(rb"/[0-9]{8}(?=/)")


def left_out(name: str) -> bool:
    """Tell whether a header of this lower-case name never counts."""
    return name in _EXACT or name.startswith(_PREFIXES)


def counting(fields: Iterable[tuple[bytes, bytes]], ignored: frozenset[str]) -> Fields:
    """Return the headers that count, sorted by name; of one name the order is kept."""
    found: dict[bytes, list[bytes]] = {}
    for raw, value in fields:
        name = raw.lower()
        text = name.decode("latin-1")
        if text in ignored or left_out(text):
            continue
        if name == _PAYLOAD and _HASH.fullmatch(value):
            continue  # the hash of the body, which counts itself; UNSIGNED-PAYLOAD says something else
        found.setdefault(name, []).append(b"" if text in BY_PRESENCE else _value(name, value.strip(b" \t")))
    if len(found.get(b"cookie", ())) > 1:  # HTTP/2 may send it in crumbs (RFC 9113, 8.2.3)
        found[b"cookie"] = [b"; ".join(found[b"cookie"])]
    return tuple((name, value) for name in sorted(found) for value in found[name])


def scope(credential: bytes) -> bytes:
    """Return a signature's credential scope without its date."""
    return _DATED.sub(b"", credential, count=1)


def _value(name: bytes, value: bytes) -> bytes:
    if name != b"authorization" or not (found := _SIGNED.fullmatch(value)):
        return value
    signed = b";".join(sorted(found[3].lower().split(b";")))
    return b"%s Credential=%s, SignedHeaders=%s" % (found[1], scope(found[2]), signed)

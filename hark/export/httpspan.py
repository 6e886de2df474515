"""An HTTP exchange in the words of OpenTelemetry's conventions for HTTP clients.

What always holds: no header and no body is in it. A URL has no user and password, and no value of the
parameters that the conventions name as signatures; where a credential stood, there is the placeholder.
"""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from hark.conversation.exchanges import Heard
from hark.export.otlpvalue import Value

METHODS: Final = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE")
)
OTHER: Final = "_OTHER"
REFUSED: Final = "hark.refused"
"""The type of an error that was no server's: hark did not pass the request on."""
FAILURES: Final = range(400, 1000)
_SIGNATURES: Final = re.compile(
    r"((?:^|(?<=&))(?:AWSAccessKeyId|Signature|sig|X-Goog-Signature|X-Amz-Signature)=)[^&]*"
)
_PORTS: Final = {"http": 80, "https": 443}


def found(heard: Heard) -> dict[str, Value | None]:
    """Return the attributes of an exchange."""
    known = heard.method in METHODS
    return {
        "http.request.method": heard.method if known else OTHER,
        "http.request.method_original": None if known else heard.method,
        "url.full": url(heard),
        **server(heard),
        "http.response.status_code": heard.status or None,
        "error.type": failed(heard),
        "network.protocol.name": "http",
        "network.protocol.version": "1.1"
        if any(name.lower() == b"host" for name, _ in heard.headers)
        else "2",
    }


def named(heard: Heard) -> str:
    """Return the span's name: the method alone, since a path may hold anything."""
    return heard.method if heard.method in METHODS else "HTTP"


def server(heard: Heard) -> dict[str, Value | None]:
    """Return where a request went."""
    split = _split(heard.origin)
    port = None if split is None else _port(split)
    return {"server.address": heard.host, "server.port": port}


def failed(heard: Heard) -> str | None:
    """Return what kind of error it ended in; None where it ended in none."""
    if heard.refused:
        return REFUSED
    if heard.status in FAILURES:
        return str(heard.status)
    return OTHER if heard.error or heard.ended_seq is None else None


def failure(heard: Heard) -> str:
    """Return the same in words; empty where there was no error."""
    if failed(heard) is None:
        return ""
    unended = "" if heard.ended_seq is not None else "its end is not on record"
    return heard.refused or heard.error or unended or f"status {heard.status}"


def url(heard: Heard) -> str:
    """Return where a request went, without what a URL in a trace may not have."""
    absolute = heard.path.lower().startswith(("http://", "https://"))
    whole = heard.path if absolute else heard.origin + "/" * (not heard.path.startswith("/")) + heard.path
    split = _split(whole)
    if split is None:
        return heard.origin
    place = split.netloc.rpartition("@")[2]
    return split._replace(netloc=place, query=_SIGNATURES.sub(r"\1REDACTED", split.query)).geturl()


def _split(text: str) -> SplitResult | None:
    try:
        return urlsplit(text)
    except ValueError:  # a host that looks like an IPv6 address and is none
        return None


def _port(split: SplitResult) -> int | None:
    try:
        return split.port or _PORTS.get(split.scheme)
    except ValueError:
        return None

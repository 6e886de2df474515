"""A request between mitmproxy's message and ours: what is judged of it, and the head that is sent on.

Always: what is sent is built anew from what was judged; nothing else of the agent's message goes along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mitmproxy import http
from mitmproxy.net.http.validate import validate_headers

from hark.policy.decide import Deny
from mediator import heads
from mediator.fields import values_of
from mediator.judgement import Asked, Forward, Refusal, judge
from mediator.link import Link
from mediator.signing import Signing, Unsigned, signed_again
from mediator.transcript import Headers

if TYPE_CHECKING:
    from hark.patch.apply import Sent  # a fork alone alters what is sent, and loads what does


def judged(request: http.Request, link: Link) -> Forward | Refusal:
    """Judge a request as mitmproxy read it."""
    try:
        validate_headers(request)
    except ValueError:
        return Refusal(400, Deny("its headers can be read in two ways", ""))
    data = request.data
    asked = Asked(
        method=data.method,
        scheme=data.scheme,
        authority=data.authority,
        path=data.path,
        headers=tuple(request.headers.fields),
    )
    return judge(asked, link)


def made(request: http.Request, sent: Sent) -> http.Request:
    """Return what is asked in place of a request: `sent` has its path, headers and body."""
    other = request.copy()
    other.headers = http.Headers(
        tuple(field for field in sent.headers if field[0].lower() != b"transfer-encoding")
    )
    if sent.body or b"content-length" in {name.lower() for name, _ in sent.headers}:
        other.headers["content-length"] = str(len(sent.body))
    other.data.path = sent.path.encode()
    return other


@dataclass(frozen=True, slots=True)
class Framing:
    """How the body behind a head is sent: `size` in all, or None where it goes in pieces."""

    size: int | None
    resized: bool
    """Whether what is sent may be longer or shorter than what the agent announced."""
    h2: bool
    """Whether the server speaks HTTP/2."""


def head(
    request: http.Request, forward: Forward, link: Link, framing: Framing, body: bytes | None = None
) -> http.Request:
    """Return the head to send. `body` is what is sent behind it, where that is known: it may be signed."""
    path, headers = forward.path, _framed(forward.headers, request, framing)
    if forward.signing is not None:
        path, headers = _signed(request, forward.signing, path, headers, body)
    return heads.request(
        request.data.method,
        path,
        headers,
        request.data.http_version,
        host=link.target.host,
        port=link.target.port,
        scheme=link.protocol.encode(),
        authority=request.data.authority if request.is_http2 else b"",
    )


def _signed(
    request: http.Request, signing: Signing, path: bytes, headers: Headers, body: bytes | None
) -> tuple[bytes, Headers]:
    """Sign what is sent. The host is a header in HTTP/1 alone, and is signed in both."""
    hosted = any(name.lower() == b"host" for name, _ in headers)
    whole = headers if hosted else ((b"host", request.data.authority), *headers)
    path, whole = signed_again(Unsigned(request.data.method, path, whole, body), signing)
    return path, whole if hosted else whole[1:]


def _framed(headers: Headers, request: http.Request, framing: Framing) -> Headers:
    """Return the headers with a length that is true, or chunks where HTTP/1 needs them."""
    announced = bool(values_of(request.headers.fields, b"content-length"))
    if framing.size is not None:
        if framing.resized and announced:
            length = b"%d" % framing.size
            return tuple((n, length if n.lower() == b"content-length" else v) for n, v in headers)
        return headers
    if framing.resized and announced:
        headers = tuple(field for field in headers if field[0].lower() != b"content-length")
        announced = False
    if announced or framing.h2 or "transfer-encoding" in request.headers:
        return headers
    return (*headers, (b"transfer-encoding", b"chunked"))

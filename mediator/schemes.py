"""Schemes of signing that hark cannot redo, by name. Pure.

Always: what such a signature names as its key or covers is told of, so that a request with a placeholder
there is refused. Sent with the value in its place, a server would find the signature wrong, and say so only.

What signs is known by the scheme's name, or by what all of them have: a field for the signature. Not seen:
one in a body, or under a name of a service's own.
"""

import re
from collections.abc import Iterator
from typing import Final

from mediator.text import clipped
from mediator.transcript import Headers

SIGNATURES: Final = frozenset((b"signature", b"signature-input"))
_HTTP: Final = "HTTP signatures"
_NAMED: Final = {
    b"aws4-ecdsa-p256-sha256": "AWS Signature Version 4A",
    b"aws": "AWS Signature Version 2",
    b"aws3": "AWS Signature Version 3",
    b"aws3-https": "AWS Signature Version 3",
    b"sharedkey": "Azure Shared Key",
    b"sharedkeylite": "Azure Shared Key Lite",
    b"goog1": "Google Cloud Storage HMAC",
    b"goog4-hmac-sha256": "Google Cloud Storage HMAC",
    b"oauth": "OAuth 1",
    b"mac": "OAuth 2 MAC",
    b"dpop": "DPoP",  # RFC 9449, 7.1: its proof has the token's hash, and the key is the agent's own
    b"hawk": "Hawk",
    b"signature": _HTTP,
    b"hmac-sha256": "HMAC",
    b"acs": "Alibaba Cloud",
    b"oss": "Alibaba Cloud OSS",
    b"log": "Alibaba Cloud SLS",
    b"obs": "Huawei Cloud OBS",
    b"sdk-hmac-sha256": "Huawei Cloud",
    b"tc3-hmac-sha256": "Tencent Cloud",
    b"eg1-hmac-sha256": "Akamai EdgeGrid",
}
_BEGINS: Final = {b"bce-auth-v": "Baidu Cloud", b"q-sign-algorithm=": "Tencent Cloud COS"}
"""Those that have no blank behind their name."""
_READ: Final = b"aws4-hmac-sha256"
"""Signed again (`mediator.signing`) where it stands in one of the two ways in which programs write it."""
_SIGNS: Final = re.compile(rb"(?i)hmac|ecdsa|-sha-?(?:1|256|384|512)\b|-sm3\b")
_SIGNED: Final = re.compile(rb"(?i)(?:\A|[\s,;&])[a-z0-9_-]*signature\s*=")
_IN_QUERIES: Final = re.compile(rb"(?i)(?:\A|&)([a-z0-9_-]*signature)=")
_OF_QUERIES: Final = {
    b"x-amz-signature": "AWS Signature Version 4A, or 4 in a spelling of its own",
    b"x-goog-signature": "Google Cloud Storage HMAC",
    b"x-oss-signature": "Alibaba Cloud OSS",
    b"q-signature": "Tencent Cloud COS",
    b"oauth_signature": "OAuth 1",
}
_WORD: Final = re.compile(rb"[^\s\"();,=]+")
_PATHS: Final = (b"@path", b"@query", b"@target-uri", b"@request-target", b"(request-target)")
type Part = tuple[str, bytes]
"""A scheme's name, and what it signs or names as its key."""


def signed_otherwise(headers: Headers, path: bytes, *, again: bool) -> Iterator[Part]:
    """Yield what a request says to be signed. `again`: it has a signature that is made again."""
    for name, value in headers:
        if name.lower() in SIGNATURES:
            yield _HTTP, value
            yield from _covered(value, headers, path)
        elif name.lower() == b"authorization":
            scheme = _scheme(value, again=again)
            if scheme:
                yield scheme, value
            if scheme == _HTTP:
                yield from _covered(value, headers, path)
    query = path.partition(b"?")[2]
    signature = None if again else _IN_QUERIES.search(query)
    if signature:
        yield _OF_QUERIES.get(signature.group(1).lower(), "a signature in its query"), query


def _scheme(value: bytes, *, again: bool) -> str:
    """Return what signs an `Authorization`, or nothing."""
    scheme, _, rest = value.strip().partition(b" ")
    lower = scheme.lower()
    if lower == _READ:
        return "" if again else "AWS Signature Version 4 in a spelling of its own"
    if lower == b"oauth" and b"oauth_signature" not in rest:
        return ""
    begun = (name for begins, name in _BEGINS.items() if lower.startswith(begins))
    known = _NAMED.get(lower) or next(begun, "")
    if known:
        return known
    return f"{clipped(scheme, 40)}, a signature" if _SIGNS.search(scheme) or _SIGNED.search(rest) else ""


def _covered(said: bytes, headers: Headers, path: bytes) -> Iterator[Part]:
    """Yield what a signature of RFC 9421, or of the draft before it, says that it is over."""
    over = said.lower()
    names = frozenset(_WORD.findall(over))
    yield from ((_HTTP, value) for name, value in headers if name.lower() in names)
    if any(part in over for part in _PATHS):
        yield _HTTP, path

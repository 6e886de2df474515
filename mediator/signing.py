"""Requests signed with a key that the agent does not hold: AWS Signature Version 4, signed again. Pure.

Always: a request whose signature names a placeholder is signed with the real key over what is really sent, or
it is refused by the name of its scheme. Source: "Signature Version 4 signing process" of the IAM user guide,
and botocore's `auth.py` for what services take (S3 signs the path as it is, others encode it once more).

Not done here: signatures over each chunk (`STREAMING-AWS4-HMAC-SHA256-PAYLOAD`), SigV4a, and other schemes
(`mediator.schemes`): a request with a placeholder in such a signature is refused.
"""

import posixpath
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from mediator.transcript import Headers

ALGORITHM: Final = b"AWS4-HMAC-SHA256"
UNSIGNED: Final = b"UNSIGNED-PAYLOAD"
_CHUNKED: Final = b"STREAMING-"
_UNSIGNED_CHUNKS: Final = b"STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_PAYLOAD: Final = b"x-amz-content-sha256"
_HASH: Final = re.compile(rb"[0-9a-f]{64}")
_HEADER: Final = re.compile(
    rb"AWS4-HMAC-SHA256\s+Credential=([^,\s]+)\s*,\s*SignedHeaders=([^,\s]+)\s*,\s*Signature=([0-9a-f]+)\s*"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says of its signature. `scope` is date, region and service."""

    key_id: bytes
    scope: tuple[bytes, bytes, bytes]
    signed: tuple[bytes, ...]
    """Names of the headers that are signed, in lower case."""
    presigned: bool
    """Whether the signature stands in the query."""
    payload: bytes
    """What the request says of its body's hash; empty where it says nothing."""

    @property
    def needs_body(self) -> bool:
        """Tell whether it can be signed only with the whole body at hand."""
        return not self.payload

    @property
    def by_chunk(self) -> bool:
        """Tell whether every chunk of the body has a signature of its own."""
        return self.payload.startswith(_CHUNKED) and self.payload != _UNSIGNED_CHUNKS


@dataclass(frozen=True, slots=True)
class Signing:
    """A request that is signed again before it is sent, with whose key."""

    claim: Claim
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A request as it is sent but for its signature. `headers` have the host; a streamed `body` is None."""

    method: bytes
    path: bytes
    headers: Headers
    body: bytes | None


def claimed(headers: Headers, path: bytes) -> Claim | None:
    """Return what a request says of its signature of version 4; None where it has none that can be read."""
    values = {name.lower(): value for name, value in headers}
    payload = values.get(_PAYLOAD, b"")
    found = _HEADER.fullmatch(values.get(b"authorization", b""))
    if found:
        return _claim(found.group(1), found.group(2), payload, presigned=False)
    query = {name: unquote_to_bytes(value) for name, value in _pairs(path)}
    if query.get(b"X-Amz-Algorithm") != ALGORITHM:
        return None
    credential = query.get(b"X-Amz-Credential", b"")
    if not payload and credential.endswith((b"/s3/aws4_request", b"/s3-object-lambda/aws4_request")):
        payload = UNSIGNED
    return _claim(credential, query.get(b"X-Amz-SignedHeaders", b""), payload, presigned=True)


def ambiguous(claim: Claim, headers: Headers) -> str:
    """Say why a request is not signed: the signature would stand for more than one request, or for none."""
    names = [name.lower() for name, _ in headers]
    twice = next(
        (name for name in (b"authorization", _PAYLOAD, b"x-amz-date") if names.count(name) > 1), None
    )
    if twice is not None:
        return f"it is signed, and has {twice.decode()} more than once"
    return "" if b"host" in claim.signed else "its signature leaves the host out, so another would take it"


def signed_again(request: Unsigned, signing: Signing) -> tuple[bytes, Headers]:
    """Return the path and headers of a request with a signature by the real key."""
    claim = signing.claim
    path, headers = request.path, request.headers
    payload = _payload(claim, request.body)
    if _HASH.fullmatch(claim.payload) and request.body is not None:
        headers = _with(headers, _PAYLOAD, payload)
    if claim.presigned:
        path = _without_signature(path)
    names = tuple(name for name in claim.signed if any(name == field.lower() for field, _ in headers))
    if claim.presigned and names != claim.signed:
        shown = quote(b";".join(names), safe="").encode()
        path = re.sub(rb"(X-Amz-SignedHeaders=)[^&]*", lambda found: found.group(1) + shown, path)
    canonical = b"\n".join((
        request.method,
        _canonical_path(path.partition(b"?")[0], claim.scope[2]),
        b"&".join(b"%s=%s" % pair for pair in sorted(_pairs(path))),
        b"".join(b"%s:%s\n" % (name, _canonical_value(headers, name)) for name in names),
        b";".join(names),
        payload,
    ))  # fmt: skip
    scope = b"/".join((*claim.scope, b"aws4_request"))
    to_sign = b"\n".join((ALGORITHM, _moment(path, headers), scope, _sha256(canonical)))
    signature = _hmac(_key(signing), to_sign).hex().encode()
    if claim.presigned:
        return path + b"&X-Amz-Signature=" + signature, headers
    shown = b"%s Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        ALGORITHM, _key_id(headers), scope, b";".join(names), signature
    )  # fmt: skip
    return path, _with(headers, b"authorization", shown)


def _claim(credential: bytes, signed: bytes, payload: bytes, *, presigned: bool) -> Claim | None:
    parts = credential.rsplit(b"/", 4)
    if len(parts) != 5 or parts[4] != b"aws4_request":
        return None
    names = tuple(signed.lower().split(b";"))
    return Claim(parts[0], (parts[1], parts[2], parts[3]), names, presigned, payload)


def _key_id(headers: Headers) -> bytes:
    """Return the access key id as it stands in what is sent."""
    value = next(value for name, value in headers if name.lower() == b"authorization")
    found = _HEADER.fullmatch(value)
    if found is None:
        raise RuntimeError("a signature that was read cannot be read any more")
    return found.group(1).rsplit(b"/", 4)[0]


def _key(signing: Signing) -> bytes:
    key = b"AWS4" + signing.key
    for part in (*signing.claim.scope, b"aws4_request"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, data: bytes) -> bytes:
    import hmac  # which loads OpenSSL: what nothing signs does without

    return hmac.digest(key, data, "sha256")


def _sha256(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).hexdigest().encode()


def _payload(claim: Claim, body: bytes | None) -> bytes:
    if claim.payload and (body is None or not _HASH.fullmatch(claim.payload)):
        return claim.payload
    return _sha256(body or b"")


def _moment(path: bytes, headers: Headers) -> bytes:
    query = dict(_pairs(path))
    dated = next((value for name, value in headers if name.lower() == b"x-amz-date"), b"")
    return unquote_to_bytes(query.get(b"X-Amz-Date", b"")) or dated


def _canonical_path(path: bytes, service: bytes) -> bytes:
    if service in (b"s3", b"s3-object-lambda", b"s3-outposts", b"s3express"):
        return path or b"/"
    text = path.decode("latin-1")
    ended = "/" if text.endswith(("/", "/.", "/..")) else ""
    normal = posixpath.normpath("/" + text.lstrip("/"))
    normal = normal if normal == "/" else normal + ended
    return quote(normal.encode("latin-1"), safe="/~").encode()


def _canonical_value(headers: Headers, name: bytes) -> bytes:
    values = [b" ".join(value.split()) for field, value in headers if field.lower() == name]
    return b",".join(values)


def _pairs(path: bytes) -> list[tuple[bytes, bytes]]:
    query = path.partition(b"?")[2]
    return [(name, value) for name, _, value in (pair.partition(b"=") for pair in query.split(b"&") if pair)]


def _without_signature(path: bytes) -> bytes:
    place, _, query = path.partition(b"?")
    return place + b"?" + b"&".join(p for p in query.split(b"&") if not p.startswith(b"X-Amz-Signature="))


def _with(headers: Headers, name: bytes, value: bytes) -> Headers:
    return tuple((field, value if field.lower() == name else old) for field, old in headers)

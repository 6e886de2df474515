"""What is said to logs (Rekor, both versions), to authorities of time stamps (RFC 3161) and of certificates
(Fulcio).

What always holds: an answer is read strictly, and believed only by whoever judges the anchor that is made of
it. A log whose version nobody said is asked what it is before anything is sent that would stand in it.
"""

from typing import TYPE_CHECKING, Any, Final

from hark.anchor import answer, body, jsonform
from hark.anchor.body import Claim
from hark.anchor.entry import Entry
from hark.anchor.jsonform import MalformedError
from hark.anchoring import web
from hark.anchoring.services import Service
from hark.errors import UpstreamError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

JSON: Final = {"content-type": "application/json", "accept": "application/json"}
STAMP_TYPES: Final = {
    "content-type": "application/timestamp-query",
    "accept": "application/timestamp-reply",
}


def settled(log: Service) -> Service:
    """Return the log with its version: only one of version 1 describes itself."""
    if log.version:
        return log
    return log._replace(version=1 if web.ask(f"{log.url}/api/v1/log").status == 200 else 2)


def submit(log: Service, claim: Claim) -> Entry:
    """Have a log take an entry in."""
    first = log.version == 1
    url = f"{log.url}/api/v{log.version}/log/entries"
    request = body.request_v1(claim) if first else body.request_v2(claim)
    data = web.wanted(url, web.ask(url, request, JSON))
    try:
        return answer.from_v1(data) if first else answer.from_v2(data)
    except MalformedError as error:
        raise UpstreamError(f"the answer of {url} is no entry: {error}") from None


def stamp(clock: Service, message: bytes) -> bytes:
    """Have `message` stamped with the time."""
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    builder = TimestampRequestBuilder().hash_algorithm(HashAlgorithm.SHA256)
    request = builder.data(message).nonce(nonce=True).build()
    return web.wanted(clock.url, web.ask(clock.url, request.as_bytes(), STAMP_TYPES))


def certificate(authority: Service, key: "EllipticCurvePrivateKey", token: str) -> bytes:
    """Have a certificate made for `key` and the identity in `token`; return it as DER."""
    url = f"{authority.url}/api/v2/signingCert"
    web.refuse_open(url, "your identity token")
    request = jsonform.dump({"certificateSigningRequest": jsonform.base64(_request(key))})
    data = web.wanted(url, web.ask(url, request, JSON | {"authorization": f"Bearer {token}"}))
    try:
        answered = jsonform.load(data, "the answer")
        chain = jsonform.child(jsonform.child(answered, "signedCertificateEmbeddedSct"), "chain")
        return _first(chain.get("certificates"))
    except MalformedError as error:
        raise UpstreamError(f"the answer of {url} is no certificate: {error}") from None


def _request(key: "EllipticCurvePrivateKey") -> bytes:
    """A signing request with an empty subject: who it is stands in the token."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding

    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


def _first(certificates: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509 import load_pem_x509_certificate

    if not isinstance(certificates, list) or not certificates or not isinstance(certificates[0], str):
        raise MalformedError("it has no chain")
    try:
        return load_pem_x509_certificate(certificates[0].encode()).public_bytes(Encoding.DER)
    except ValueError:
        raise MalformedError("it cannot be read") from None

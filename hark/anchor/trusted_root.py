"""The trust root: whose logs, certificate authorities and clocks are believed, and between which days.

The file is sigstore's `trusted_root.json` (application/vnd.dev.sigstore.trustedroot), of the public logs or
of one's own. What always holds: a key or certificate in it that cannot be read makes the whole file
MalformedError; nothing in an anchor adds to it. Whether the file itself may be believed is its reader's
affair.
"""

from datetime import datetime
from typing import Final, NamedTuple

from hark.anchor import jsonform
from hark.anchor.jsonform import MalformedError, Object
from hark.anchor.keys import PublicKey
from hark.anchor.outcome import MANY

MEDIA_TYPE: Final = "application/vnd.dev.sigstore.trustedroot"
FOREVER: Final = 253402300799  # the last second of the year 9999: later ones have no name


class Period(NamedTuple):
    """Unix seconds, both ends included."""

    start: float = 0
    end: float = FOREVER

    def has(self, time: int) -> bool:
        """Tell whether `time` is in it."""
        return self.start <= time <= self.end


class Log(NamedTuple):
    """A transparency log."""

    names: tuple[str, ...]
    """Spellings of its base URL without the scheme: with port and path, and without port."""
    log_id: bytes
    key: PublicKey
    period: Period


class Authority(NamedTuple):
    """A certificate authority, or one of time stamps: its certificates in DER, the leaf's issuer first."""

    name: str
    chain: tuple[bytes, ...]
    period: Period


class TrustedRoot(NamedTuple):
    """All that is believed."""

    logs: tuple[Log, ...]
    authorities: tuple[Authority, ...]
    certificate_logs: tuple[Log, ...]
    clocks: tuple[Authority, ...]


def parse(data: bytes) -> TrustedRoot:
    """Read the file. Raises MalformedError."""
    root = jsonform.load(data, "the trust root")
    if not jsonform.text(root, "mediaType").startswith(MEDIA_TYPE):
        raise MalformedError(f"the trust root is not of the type {MEDIA_TYPE}")
    return TrustedRoot(
        tuple(_log(one) for one in jsonform.children(root, "tlogs", MANY)),
        tuple(_authority(one) for one in jsonform.children(root, "certificateAuthorities", MANY)),
        tuple(_log(one) for one in jsonform.children(root, "ctlogs", MANY)),
        tuple(_authority(one) for one in jsonform.children(root, "timestampAuthorities", MANY)),
    )


def _log(value: Object) -> Log:
    key = jsonform.child(value, "publicKey")
    log_id = jsonform.octets(jsonform.child(value, "logId"), "keyId")
    believed = period(key.get("validFor", {}))
    if value.get("hashAlgorithm", "SHA2_256") != "SHA2_256":
        raise MalformedError("the trust root has a log of another hash than SHA-256")
    return Log(
        names(jsonform.text(value, "baseUrl")), log_id, PublicKey(jsonform.octets(key, "rawBytes")), believed
    )


def names(url: str) -> tuple[str, ...]:
    """Return the origins that a log at `url` may have: C2SP's is the URL without its scheme."""
    bare = url.partition("://")[2] or url
    host, slash, path = bare.rstrip("/").partition("/")
    without_port = host.rpartition(":")[0] or host
    return tuple(dict.fromkeys(f"{one}{slash}{path}" for one in (host, without_port)))


def _authority(value: Object) -> Authority:
    certificates = jsonform.children(jsonform.child(value, "certChain"), "certificates", MANY)
    subject = value.get("subject")
    named = subject.get("commonName") if isinstance(subject, dict) else None
    uri = value.get("uri")
    name = uri if isinstance(uri, str) and uri else named if isinstance(named, str) else "an authority"
    if not certificates:
        raise MalformedError("the trust root has an authority without certificate")
    return Authority(
        name,
        tuple(jsonform.octets(one, "rawBytes") for one in certificates),
        period(value.get("validFor", {})),
    )


def period(value: object) -> Period:
    """Read `validFor`."""
    if not isinstance(value, dict):
        raise MalformedError("validFor is not of the right type")
    start, end = value.get("start"), value.get("end")
    return Period(0 if start is None else _time(start), FOREVER if end is None else _time(end))


def _time(value: object) -> float:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is None or moment.tzinfo is None:
            raise MalformedError("a time in the trust root has no zone")
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise MalformedError("a time in the trust root cannot be read") from None

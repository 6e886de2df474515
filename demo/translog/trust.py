"""The files by which clients know the services: sigstore's trusted root, signing config and both in one."""

from datetime import datetime
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from demo.translog.notes import b64

TRUSTED_ROOT: Final = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
SIGNING_CONFIG: Final = "application/vnd.dev.sigstore.signingconfig.v0.2+json"
BOTH: Final = "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json"
OPERATOR: Final = "hark translog"


def log_instance(url: str, spki: bytes, details: str, key_id: bytes, start: datetime) -> dict[str, Any]:
    """A log, of entries or of certificates."""
    return {
        "baseUrl": url,
        "hashAlgorithm": "SHA2_256",
        "publicKey": {"rawBytes": b64(spki), "keyDetails": details, "validFor": _since(start)},
        "logId": {"keyId": b64(key_id)},
    }


def authority(url: str, chain: list[x509.Certificate], start: datetime) -> dict[str, Any]:
    """An authority for certificates or for timestamps."""
    subject = chain[0].subject
    organization = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value
    common = subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    certificates = [{"rawBytes": b64(one.public_bytes(serialization.Encoding.DER))} for one in chain]
    return {
        "subject": {"organization": organization, "commonName": common},
        "uri": url,
        "certChain": {"certificates": certificates},
        "validFor": _since(start),
    }


def trusted_root(
    tlogs: list[dict[str, Any]],
    authorities: list[dict[str, Any]],
    ctlogs: list[dict[str, Any]],
    stampers: list[dict[str, Any]],
) -> dict[str, Any]:
    """What verifiers need, and all they need."""
    return {
        "mediaType": TRUSTED_ROOT,
        "tlogs": tlogs,
        "certificateAuthorities": authorities,
        "ctlogs": ctlogs,
        "timestampAuthorities": stampers,
    }


def signing_config(url: str, version: int, start: datetime) -> dict[str, Any]:
    """Where signers go; `version` is that of the log they are sent to."""

    def service(path: str, major: int = 1) -> list[dict[str, Any]]:
        named = {"url": url + path, "majorApiVersion": major, "operator": OPERATOR}
        return [named | {"validFor": _since(start)}]

    return {
        "mediaType": SIGNING_CONFIG,
        "caUrls": service(""),
        "oidcUrls": service("/oidc"),
        "rekorTlogUrls": service("", version),
        "rekorTlogConfig": {"selector": "ANY"},
        "tsaUrls": service("/api/v1/timestamp"),
        "tsaConfig": {"selector": "ANY"},
    }


def _since(start: datetime) -> dict[str, str]:
    return {"start": start.strftime("%Y-%m-%dT%H:%M:%SZ")}

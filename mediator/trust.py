"""Who is trusted: the host's roots for upstreams, and what the agent is shown of them with the run's CA.

The agent's programs must go on trusting what they trusted before (a bundle with the run's CA alone *replaces*
the roots), so one merged bundle is shown at the system's paths and named in each program's own variable. The
host's roots are the caller's SSL_CERT_FILE, else the system's: many machines sit behind a company's proxy.
Cheap to import. Not done here: SSL_CERT_DIR; programs with compiled-in roots trust nothing of ours.
"""

import binascii
import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hark.errors import PolicyError

SYSTEM_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # what the two above point to, newer spelling
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/var/lib/ca-certificates/ca-bundle.pem",  # SUSE, the file behind it
    "/etc/ssl/cert.pem",  # Alpine, BSD heritage
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",  # Arch
    "/usr/lib/ssl/cert.pem",  # Debian's OPENSSLDIR
)
BUNDLE_VARIABLES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Go, rustls-native-certs
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
)
CHROMIUM_POLICIES: Final = tuple(
    f"{place}/policies/managed/hark.json"
    for place in (
        "/etc/chromium",
        "/etc/chromium-browser",
        "/etc/opt/chrome",
        "/etc/opt/chrome_for_testing",
        "/etc/opt/edge",
        "/etc/brave",
    )
)
"""Where Chromium and its kin read an administrator's settings: they have their own roots otherwise."""
JAVA_STORE_PASSWORD: Final = "changeit"  # noqa: S105  # the JDK's own, known to everyone; the store holds no key
MAX_ROOTS: Final = 16 << 20  # the largest known bundle has half a megabyte
_PEM_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


def host_roots(environ: Mapping[str, str]) -> bytes:
    """Return the roots that this machine trusts, as PEM. Raises PolicyError where SSL_CERT_FILE is no use."""
    chosen = environ.get("SSL_CERT_FILE")
    if chosen:
        roots = _read(chosen)
        if not roots:
            raise PolicyError(f"SSL_CERT_FILE names {chosen}, which has no readable certificate; unset it")
        return roots
    for path in SYSTEM_BUNDLES:
        roots = _read(path)
        if roots:
            return roots
    return b""


def bundle_paths(environ: Mapping[str, str], candidates: Iterable[str] = SYSTEM_BUNDLES) -> tuple[str, ...]:
    """Return the paths at which the agent must be shown the merged bundle: real files, links followed."""
    wanted = [*candidates]
    chosen = environ.get("SSL_CERT_FILE")
    if chosen and os.path.isabs(chosen):
        wanted.append(chosen)
    found = (os.path.realpath(path) for path in wanted if os.path.isfile(path))
    return tuple(dict.fromkeys(found))


def variables(bundle: str, java_store: str | None = None, java_options: Iterable[str] = ()) -> dict[str, str]:
    """Return what to set in the agent's environment: `bundle` is the merged bundle's path inside.

    `java_options` are what a JVM is told besides, where there is one.
    """
    found = dict.fromkeys(BUNDLE_VARIABLES, bundle)
    if java_store is not None:
        found["JAVA_TOOL_OPTIONS"] = " ".join(
            (
                f"-Djavax.net.ssl.trustStore={java_store}",
                "-Djavax.net.ssl.trustStoreType=PKCS12",
                f"-Djavax.net.ssl.trustStorePassword={JAVA_STORE_PASSWORD}",
                *java_options,
            )
        )
    return found


def java_store(bundle_pem: bytes) -> bytes:
    """Return a PKCS12 trust store with the bundle's certificates, for the JVM."""
    from mediator import truststore

    return truststore.store(_decoded(certificates(bundle_pem)))


def _decoded(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        with contextlib.suppress(ValueError):  # a damaged one in the host's store: nothing trusts it anyway
            yield binascii.a2b_base64(block.split(b"-----")[2])


def chromium_policy(ca_pem: bytes) -> bytes:
    """Return the managed policy that adds the run's CA to a Chromium's own roots.

    The source of the format is Chromium's documentation of its enterprise policy `CACertificates`.
    """
    blocks = certificates(ca_pem)
    ders = ["".join(block.decode("ascii").split("\n")[1:-1]) for block in blocks]
    return json.dumps({"CACertificates": ders}).encode()


def certificates(pem: bytes) -> list[bytes]:
    """Return the certificate blocks of a PEM bundle, one by one."""
    return _BLOCK.findall(pem)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_ROOTS + 1)
    except OSError:
        return b""
    return data if _PEM_BEGIN in data and len(data) <= MAX_ROOTS else b""

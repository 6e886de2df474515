"""Traps 20 and 21: a client that no longer trusts what it trusted, or does not trust us yet."""

import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from unittest.mock import patch

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import DNSName, load_der_x509_certificate
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from mediator import ca, trust
from mediator.ca import RunCA
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.mediator.rig import API

BEHIND: Final = timedelta(days=10)
CLIENT: Final = """
import socket, ssl, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    try:
        ssl.create_default_context().wrap_socket(sock, server_hostname=sys.argv[2]).close()
    except ssl.SSLCertVerificationError as error:
        print("SUCCEEDED", error.verify_message)
    else:
        print("REFUSED the server is trusted")
"""


@contextmanager
def _server(root: RunCA) -> Iterator[int]:
    """A TLS server for `API` under `root`, on a port of loopback, for one connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key = root.leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with tempfile.NamedTemporaryFile() as file:
        file.write(key + ssl.DER_cert_to_PEM_cert(root.leaf(API)).encode())
        file.flush()
        context.load_cert_chain(file.name)

    def serve() -> None:
        with suppress(OSError), listener.accept()[0] as sock:
            context.wrap_socket(sock, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def _root_replaced() -> Outcome:
    """Have a client with our variables talk to a server under a root that the host trusts."""
    now = datetime.now(UTC)
    hosts, ours = RunCA.create(now), RunCA.create(now)
    with _server(hosts) as port, tempfile.NamedTemporaryFile() as file:
        file.write(ours.trust_bundle(hosts.pem()))
        file.flush()
        words = [sys.executable, "-I", "-c", CLIENT, str(port), API]
        told = trust.variables(file.name)
        done = subprocess.run(words, env=told, capture_output=True, text=True, timeout=60, check=False)
    return Outcome.said(done.stdout or done.stderr)


def _our_root_alone() -> AbstractContextManager[object]:
    return patch.object(RunCA, "trust_bundle", lambda self, _roots: self.pem())


def _accepts(authority: RunCA, clock: datetime) -> bool:
    client = PolicyBuilder().store(Store([load_der_x509_certificate(authority.certificate)])).time(clock)
    try:
        client.build_server_verifier(DNSName(API)).verify(load_der_x509_certificate(authority.leaf(API)), [])
    except VerificationError:
        return False
    return True


def _clock_behind() -> Outcome:
    """Judge the leaf as a client does whose clock is days behind."""
    now = datetime.now(UTC)
    authority = RunCA.create(now)
    if not _accepts(authority, now + timedelta(minutes=1)):
        return Outcome(Verdict.UNKNOWN, "nor does one whose clock is right accept it")
    detail = f"valid since {load_der_x509_certificate(authority.leaf(API)).not_valid_before_utc}"
    return Outcome.seen(detail, succeeded=not _accepts(authority, now - BEHIND))


def _valid_from_now() -> AbstractContextManager[object]:
    return patch.object(ca, "BACKDATED", timedelta())


add(
    20,
    "a client that is told of our root loses the host's",
    _root_replaced,
    run_without(_our_root_alone, _root_replaced),
)
add(
    21,
    "a client whose clock is behind refuses the certificate",
    _clock_behind,
    run_without(_valid_from_now, _clock_behind),
)

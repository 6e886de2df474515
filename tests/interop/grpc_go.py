"""The interoperability cases of gRPC, by the client and server of its implementation in Go.

Neither is in a package index: they are built from the source of Debian's package `golang-google-grpc`, as
docs/interop.md says, into a folder that the environment variable GRPC_INTEROP names. What is compared is
whether the client says that a case passed, and else its last words.
"""

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hark.bundle.events import LlmRequest
from tests.fakes.upstream import certified_pem
from tests.mediator.rig import API, running, secret
from tests.support.waiting import until

CASES: Final = (
    *("empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream"),
    *("timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response"),
    *("status_code_and_message", "special_status_message", "custom_metadata"),
    *("unimplemented_method", "unimplemented_service"),
)
_VALUE: Final = "sk-real-5e884898da28047151d0e56f8dc62927"
_STAMP: Final = re.compile(r"^.*?(FATAL|ERROR): ?(\[[a-z-]+\] ?)?", re.MULTILINE)


def programs() -> Path:
    """Return the folder of the two programs. Raises SystemExit where it is not named."""
    folder = os.environ.get("GRPC_INTEROP")
    if not folder:
        raise SystemExit("GRPC_INTEROP names no folder with the programs interop_client and interop_server")
    return Path(folder)


def answers() -> Iterator[tuple[str, str, str]]:
    """Run each case directly and through the mediator, which holds a credential."""
    with tempfile.TemporaryDirectory() as name, _server(Path(name)) as (port, roots):
        held = (secret(_VALUE, API),)
        place = f"127.0.0.1:{port}"
        with running(API, upstreams={API: place}, roots=roots, secrets=held) as rig:
            rig.origins.default = (rig.address(API), 443)
            ours = Path(name) / "ours.pem"
            ours.write_bytes(rig.ca.pem())
            for case in CASES:
                bare = _asked(case, port, Path(name) / "roots.pem")
                yield case, bare, _asked(case, rig.tcp[1], ours)
            passed = len(rig.recorder.of(LlmRequest))
            if rig.fatal or passed < len(CASES):
                raise RuntimeError(f"{passed} requests came through; {rig.fatal}")


@contextmanager
def _server(folder: Path) -> Iterator[tuple[int, bytes]]:
    roots, key, chain = certified_pem((API,))
    for name, text in (("roots.pem", roots), ("key.pem", key), ("chain.pem", chain)):
        (folder / name).write_bytes(text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-use_tls", f"-tls_cert_file={folder}/chain.pem", f"-tls_key_file={folder}/key.pem"]
    with subprocess.Popen([programs() / "interop_server", f"-port={port}", *words]) as server:
        try:
            until(lambda: _listens(port), "the server to listen")
            yield port, roots
        finally:
            server.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def _asked(case: str, port: int, roots: Path) -> str:
    words = ["-server_host=127.0.0.1", f"-server_port={port}", f"-server_host_override={API}", "-use_tls"]
    words += ["-use_test_ca", f"-ca_file={roots}", f"-test_case={case}"]
    done = subprocess.run(
        [programs() / "interop_client", *words], capture_output=True, text=True, check=False, timeout=60
    )
    said = done.stderr.strip().rpartition("\n")[2]
    return "passed" if not done.returncode else f"failed: {_STAMP.sub('', said)[:200]}"

"""The ways between a client and a server that are compared: none, plain mitmdump, and hark's mediator.

hark's has a policy, a broker with a secret, the scan of both directions and a real bundle on disk. Each way
is a process of its own, as are client and server: otherwise one interpreter's lock would be measured.
"""

import gc
import multiprocessing
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hark.bundle.header import Header
from hark.bundle.writer import Writer
from hark.cli.main import GC_THRESHOLD
from mediator.credentials import Broker, placeholder_for
from tests.bench.peers import HOST, Place
from tests.mediator.rig import running, secret

NAMES: Final = ("direct", "mitmdump", "hark")
VALUE: Final = "sk-real-5e884898da28047151d0e56f8dc62927"
_READY_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ways:
    """All three as places, in the order of `NAMES`, and how much memory hark's has had at most."""

    places: dict[str, Place]
    peak: Callable[[], int]
    """Bytes, of the mediator's process."""


@contextmanager
def ways(to: Place) -> Iterator[Ways]:
    """Open all three ways to one server."""
    with _mitmdump(to) as dumped, _hark(to) as (recorded, peak):
        yield Ways(dict(zip(NAMES, (to, dumped, recorded), strict=True)), peak)


@contextmanager
def _mitmdump(to: Place) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        program = [str(Path(sys.executable).parent / "mitmdump"), "-q", "--listen-host", "127.0.0.1"]
        options = [
            f"confdir={folder}",
            "ssl_insecure=true",
            "stream_large_bodies=1m",
            "keep_host_header=true",
        ]
        words = [word for option in options for word in ("--set", option)]
        mode = ["--mode", f"reverse:https://127.0.0.1:{to[0]}", "-p", str(port)]
        with subprocess.Popen([*program, *words, *mode], stdout=subprocess.DEVNULL) as process:
            try:
                authority = Path(folder) / "mitmproxy-ca-cert.pem"
                _wait_for(port)
                yield port, authority.read_bytes()
            finally:
                process.terminate()


@contextmanager
def _hark(to: Place) -> Iterator[tuple[Place, Callable[[], int]]]:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_mediate, args=(to, theirs), daemon=True)
    process.start()

    def peak() -> int:
        ours.send("peak")
        return int(ours.recv())

    try:
        yield ours.recv(), peak
    finally:
        ours.send("end")
        process.join()


def _mediate(to: Place, pipe: Any) -> None:
    gc.set_threshold(GC_THRESHOLD)  # as the program does
    held = secret(VALUE, HOST, placeholder=placeholder_for(VALUE))
    with (
        tempfile.TemporaryDirectory() as folder,
        Writer.create(f"{folder}/run.hark", _header(), guard=Broker((held,)).guard) as writer,
        running(
            HOST,
            upstreams={HOST: f"127.0.0.1:{to[0]}"},
            roots=to[1],
            secrets=(held,),
            recorder=writer,  # type: ignore[arg-type]
        ) as rig,
    ):
        rig.origins.default = (rig.address(HOST), 443)
        pipe.send((rig.tcp[1], rig.ca.pem()))
        while pipe.recv() == "peak":
            pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _header() -> Header:
    nothing = bytes(32)
    return Header(
        run_id="01J8X000000000000000000000",
        created_at=0,
        recorder="bench",
        argv_hash=nothing,
        policy_hash=nothing,
        env_hash=nothing,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return

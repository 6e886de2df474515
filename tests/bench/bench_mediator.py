"""What the mediator costs: start-up, latency of a kept-alive POST against direct, memory under large bodies.

Events go through the real writer into a real file, below TMPDIR: on a tmpfs a file is memory. Run by hand:
`python -m tests.bench.bench_mediator [latency|volume]`. Prints numbers; asserts nothing.
"""

import http.client
import multiprocessing
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from hark.bundle.events import Event
from hark.bundle.header import Header
from hark.bundle.writer import Writer
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import Call, early, serving
from tests.mediator.rig import API, Rig, running, secret

POSTS = 1000
UP = 300 << 20
DOWN = 1 << 30
BLOCK = bytes(1 << 20)


class Writing(ListRecorder):
    """Hands events to the bundle writer and keeps none, so that what grows is the mediator's own."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="hark-bench-")
        self.path = f"{self.folder.name}/run.hark"
        self.writer = Writer.create(self.path, Header(run_id="bench"), guard=self._look)
        self.taken = 0.0

    def _look(self, payload: bytes) -> None:
        if self.guard is not None:
            self.guard(payload)

    def append(self, event: Event, *, durable: bool = False) -> int:
        """Write, and note how long it took."""
        began = time.perf_counter()
        self.appends = self.writer.append(event, durable=durable) + 1
        self.taken += time.perf_counter() - began
        return self.appends - 1

    def sync(self, seq: int) -> None:
        """Have it on the disk."""
        self.writer.sync(seq)

    def close(self) -> int:
        """Seal, say how long that took, and return the file's size."""
        began = time.perf_counter()
        self.writer.seal("exit")
        self.writer.close()
        size = os.path.getsize(self.path)
        print(
            f"  {self.appends} events, {size} bytes ({size * 1000 // max(self.appends, 1)} for 1000 events), "
            f"{self.taken / max(self.appends, 1) * 1e6:.0f} us each to record, sealed in "
            f"{(time.perf_counter() - began) * 1000:.0f} ms"
        )
        self.folder.cleanup()
        return size


def main() -> None:
    """Measure everything."""
    if "volume" not in sys.argv:
        _small()
    if "latency" not in sys.argv:
        _volume("no secrets", ())
        _volume("one secret", (secret("sk-real-5e884898da28047151d0e56f8dc62927", API),))


def _small() -> None:
    for name in ("mediator.trust", "mediator.credentials", "mediator.serve", "mediator.handler"):
        print(f"import {name}: {_import(name):.0f} ms beyond the interpreter")
    _latency("no secrets", ())
    _latency("one secret", (secret("sk-real-5e884898da28047151d0e56f8dc62927", API),))


def _import(name: str) -> float:
    def run(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return (time.perf_counter() - began) * 1000

    return statistics.median(run(f"import {name}") for _ in range(7)) - statistics.median(
        run("pass") for _ in range(7)
    )


def _latency(what: str, secrets: tuple[object, ...]) -> None:
    """Server, client and mediator are processes of their own, or one interpreter lock would be measured."""
    recorder = Writing()
    spawn = multiprocessing.get_context("spawn")
    to_server, theirs = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port, ca = to_server.recv()
    with running(
        API,
        upstreams={API: f"127.0.0.1:{port}"},
        roots=ca,
        secrets=secrets,  # type: ignore[arg-type]
        recorder=recorder,
    ) as rig:
        recorder.guard = rig.mediator.broker.guard
        rig.origins.default = (rig.address(API), 443)
        with spawn.Pool(1) as pool:
            direct = pool.apply(_posts, (port, ca))
            through = pool.apply(_posts, (rig.tcp[1], rig.ca.pem()))
            again = pool.apply(_posts, (port, ca))
    to_server.send("end")
    server.join()
    recorder.close()
    base = (direct[0] + again[0]) / 2
    print(
        f"POST of 2 kB, kept alive, {what}: direct {base:.2f} ms, through {through[0]:.2f} ms, "
        f"added p50 {through[0] - base:.2f} ms, p99 {through[1] - max(direct[1], again[1]):.2f} ms"
    )


def _serve(pipe: Any) -> None:
    with serving(API) as upstream:
        pipe.send((upstream.port, upstream.ca_pem))
        pipe.recv()


def _posts(port: int, ca: bytes) -> tuple[float, float]:
    client = http.client.HTTPConnection(API, 443)
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ca.decode())
    client.sock = context.wrap_socket(raw, server_hostname=API)
    taken = []
    for number in range(POSTS + 50):
        began = time.perf_counter()
        client.request("POST", "/v1/messages", body=b"x" * 2000)
        client.getresponse().read()
        if number >= 50:
            taken.append((time.perf_counter() - began) * 1000)
    ordered = sorted(taken)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.99)]


def _volume(what: str, secrets: tuple[object, ...]) -> None:
    recorder = Writing()
    with (
        serving(API) as upstream,
        running(
            API,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            secrets=secrets,  # type: ignore[arg-type]
            recorder=recorder,
        ) as rig,
    ):
        recorder.guard = rig.mediator.broker.guard

        @upstream.on("/up")
        @early
        def up(call: Call) -> None:
            size = sum(map(len, call.pieces()))
            call.reply(200, b"%d" % size)

        @upstream.on("/down")
        def down(call: Call) -> None:
            call.send_response(200)
            call.send_header("Content-Length", str(DOWN))
            call.end_headers()
            for _ in range(DOWN // len(BLOCK)):
                call.wfile.write(BLOCK)

        _grow(f"{UP >> 20} MiB up, {what}", UP, lambda: _upload(rig))
        _grow(f"{DOWN >> 20} MiB down, {what}", DOWN, lambda: _download(rig))
    recorder.close()


def _upload(rig: Rig) -> None:
    with rig.https() as client:
        client.putrequest("POST", "/up")
        client.putheader("Content-Length", str(UP))
        client.endheaders()
        for _ in range(UP // len(BLOCK)):
            client.send(BLOCK)
        assert client.getresponse().read() == b"%d" % UP


def _download(rig: Rig) -> None:
    with rig.https() as client:
        client.request("GET", "/down")
        answer = client.getresponse()
        while answer.read(1 << 20):
            pass


def _grow(what: str, size: int, run: Callable[[], None]) -> None:
    before, peak, done = _resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    run()
    taken = time.perf_counter() - began
    done.set()
    watcher.join()
    print(
        f"{what}: {size / taken / (1 << 20):.0f} MiB/s, memory {before >> 20} -> {peak >> 20} MiB "
        "(client, server and mediator in one process)"
    )


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()

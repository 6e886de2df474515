"""How long a server-sent event takes from the server's write to the agent's read, mediated and not.

Server, agent and mediator are processes of their own. Run by hand: `python -m tests.bench.bench_sse`. Prints
numbers; asserts nothing. What is aimed at: the first event within 5 ms.
"""

import http.client
import multiprocessing
import socket
import ssl
import statistics
import time
from typing import Any, Final

from tests.bench.bench_mediator import Writing
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, running, secret

STREAMS: Final = 50
EVENTS: Final = 20
GAP_S: Final = 0.01


def main() -> None:
    """Measure with and without a secret that answers are searched for."""
    _measure("no secrets", ())
    _measure("one secret", (secret("sk-real-5e884898da28047151d0e56f8dc62927", API),))


def _measure(what: str, secrets: tuple[Any, ...]) -> None:
    spawn = multiprocessing.get_context("spawn")
    to_server, theirs = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    port, ca = to_server.recv()
    upstreams = {API: f"127.0.0.1:{port}"}
    with running(API, upstreams=upstreams, roots=ca, secrets=secrets, recorder=Writing()) as rig:
        rig.origins.default = (rig.address(API), 443)
        with spawn.Pool(1) as pool:
            direct = pool.apply(_listen, (port, ca))
            through = pool.apply(_listen, (rig.tcp[1], rig.ca.pem()))
        rig.recorder.close()  # type: ignore[attr-defined]
    to_server.send("end")
    server.join()
    for name, at in (("first event", 0), ("later events", 1)):
        ways = [sorted(way[at]) for way in (direct, through)]
        shown = ", ".join(
            f"{label} p50 {statistics.median(way):.2f} ms, p99 {way[len(way) * 99 // 100]:.2f} ms"
            for label, way in zip(("direct", "through"), ways, strict=True)
        )
        print(f"{name}, {what}: {shown}")


def _serve(pipe: Any) -> None:
    def stream(call: Call) -> None:
        call.begin_chunked("text/event-stream")
        for _ in range(EVENTS):
            time.sleep(GAP_S)
            call.chunk(b"data: %d\n\n" % time.monotonic_ns())
        call.chunk(b"")

    with serving(API) as upstream:
        upstream.routes["/sse"] = stream
        pipe.send((upstream.port, upstream.ca_pem))
        pipe.recv()


def _listen(port: int, ca: bytes) -> tuple[list[float], list[float]]:
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ca.decode())
    client = http.client.HTTPConnection(API, 443)
    client.sock = context.wrap_socket(raw, server_hostname=API)
    first, later = [], []
    for _ in range(STREAMS):
        client.request("GET", "/sse")
        answer = client.getresponse()
        for number in range(EVENTS):
            line = answer.readline()
            taken = (time.monotonic_ns() - int(line.split()[1])) / 1e6
            answer.readline()
            (later if number else first).append(taken)
        answer.read()
    return first, later


if __name__ == "__main__":
    main()

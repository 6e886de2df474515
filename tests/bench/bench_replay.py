"""What a replay costs: the same agents bare, under `hark run` and replayed from what that recorded.

    python -m tests.bench.bench_replay

Thirty model calls of a second each, one call that is answered at once (start-up), 500 server-sent events, and
a million draws of randomness, counted in bytes of the bundle. Rounds alternate. Prints; asserts nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.figures import HEAD, Figure, median
from tests.fakes.upstream import Call, Upstream, serving

HOST: Final = "api.example"
ROUNDS: Final = 5
CALLS: Final = 30
CALL_S: Final = 1.0
EVENTS: Final = 500
EVENT_GAP_S: Final = 0.01
DRAWS: Final = 1_000_000

_CALLS: Final = """
import http.client, json, ssl, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
connection = http.client.HTTPSConnection("api.example", port, context=ssl.create_default_context())
for turn in range(count):
    body = json.dumps({"turn": turn})
    connection.request("POST", sys.argv[3], body, {"Content-Type": "application/json"})
    print(connection.getresponse().read().decode())
"""
_EVENTS: Final = """
import http.client, ssl, sys
port = int(sys.argv[1])
connection = http.client.HTTPSConnection("api.example", port, context=ssl.create_default_context())
connection.request("GET", "/events")
answer = connection.getresponse()
while line := answer.readline():
    sys.stdout.write(line.decode())
"""
_DRAWS: Final = """
import os, random, sys
for _ in range(int(sys.argv[1])):
    random.random()
    os.urandom(16)
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of one round."""

    bare: float
    recorded: float
    replayed: float


def figures(*, quick: bool = False) -> Iterator[Figure]:
    """Measure; yields each row when it is known."""
    rounds = 2 if quick else ROUNDS
    with tempfile.TemporaryDirectory() as name, serving(HOST) as server:
        _routes(server)
        bench = _Bench(Path(name), server)
        calls = bench.rounds(_CALLS, (str(CALLS), "/slow"), 1 if quick else 2)
        yield _against(
            f"{CALLS} calls of {CALL_S:g} s", "recorded", calls.recorded, calls.replayed, "aim 0.04"
        )
        start = bench.rounds(_CALLS, ("1", "/fast"), rounds)
        for baseline, seconds in (("bare", start.bare), ("recorded", start.recorded)):
            more = f"{(start.replayed - seconds) * 1000:+.0f} ms over {baseline}"
            bar = "aim +300 ms" if baseline == "bare" else ""
            yield _against(f"one call, {more}", baseline, seconds, start.replayed, bar)
        events = bench.rounds(_EVENTS, (), min(rounds, 2))
        yield _against(
            f"{EVENTS} events {EVENT_GAP_S * 1000:g} ms apart", "bare", events.bare, events.replayed
        )
        yield bench.draws()


def _against(what: str, baseline: str, seconds: float, replayed: float, bar: str = "") -> Figure:
    return Figure(what, f"{baseline} {seconds:.2f} s", f"{replayed:.2f} s", replayed / seconds, bar)


def _routes(server: Upstream) -> None:
    @server.on("/slow")
    def slow(call: Call) -> None:
        time.sleep(CALL_S)
        call.reply(200, json.dumps({"said": "yes"}).encode())

    @server.on("/fast")
    def fast(call: Call) -> None:
        call.reply(200, b'{"said": "yes"}')

    @server.on("/events")
    def events(call: Call) -> None:
        call.begin_chunked("text/event-stream")
        for number in range(EVENTS):
            call.chunk(b"data: %d\n\n" % number)
            time.sleep(EVENT_GAP_S)
        call.chunk(b"")


class _Bench:
    """A folder with a project in it, and the server that recordings are made against."""

    def __init__(self, folder: Path, server: Upstream) -> None:
        self._folder = folder
        self._server = server
        self._warm = False
        self._project = folder / "project"
        self._project.mkdir()
        self._program = str(Path(sys.executable).parent / "hark")
        (folder / "policy.toml").write_text(f'allow_hosts = ["{HOST}"]\n')
        (folder / "ca.pem").write_bytes(server.ca_pem)
        state = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        self.env = dict(os.environ) | state
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed hark has its bytecode

    def rounds(self, agent: str, words: tuple[str, ...], count: int) -> Taken:
        """Measure `count` rounds; the median of each way."""
        if not self._warm:
            self._warm = True
            self._round(_CALLS, ("1", "/fast"))  # writes bytecode, and builds what is built once
        found = [self._round(agent, words) for _ in range(count)]
        ways = zip(*((one.bare, one.recorded, one.replayed) for one in found), strict=True)
        return Taken(*(median(way) for way in ways))

    def _round(self, agent: str, words: tuple[str, ...]) -> Taken:
        (self._project / "agent.py").write_text(agent)
        trust = {"SSL_CERT_FILE": str(self._folder / "ca.pem")}
        port = self._server.address.rpartition(":")[2]
        bare = self._timed([sys.executable, "-c", _AT_HOME, port, *words], trust)
        recorded = self._record("443", *words)
        replayed = self._timed([self._program, "replay", "-o", self._new("again"), self._bundle], {})
        return Taken(bare, recorded, replayed)

    @property
    def _bundle(self) -> str:
        return str(self._folder / "run.hark")

    def _new(self, name: str) -> str:
        path = self._folder / f"{name}.hark"
        path.unlink(missing_ok=True)
        return str(path)

    def _record(self, *words: str) -> float:
        options = ["-policy", str(self._folder / "policy.toml"), "-upstream-ca", str(self._folder / "ca.pem")]
        options += ["-upstream", f"{HOST}={self._server.address}", "-o", self._new("run")]
        agent = [sys.executable, "agent.py", *words]
        return self._timed([self._program, "run", *options, "--", *agent], {})

    def _timed(self, argv: list[str], more: dict[str, str]) -> float:
        began = time.perf_counter()
        ended = subprocess.run(
            argv,
            cwd=self._project,
            env=self.env | more,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        taken = time.perf_counter() - began
        if ended.returncode:
            raise SystemExit(
                f"{' '.join(argv[:3])} ended with {ended.returncode}:\n{ended.stderr[-2000:].decode()}"
            )
        return taken

    def draws(self) -> Figure:
        """Compare the sizes of two bundles: of no draw, and of a million."""
        (self._project / "agent.py").write_text(_DRAWS)
        sizes = []
        for count in (0, DRAWS):
            self._record(str(count))
            sizes.append(os.path.getsize(self._bundle))
        none, many = sizes
        what = f"bundle of {DRAWS:,} draws, {many - none:+,} bytes"
        return Figure(what, f"no draw {none:,} bytes", f"{many:,} bytes", many / none, "aim +1 MB")


_AT_HOME: Final = """
import socket, sys
found = socket.getaddrinfo
socket.getaddrinfo = lambda host, *more, **named: found("127.0.0.1", *more, **named)
sys.argv[0] = "agent.py"
exec(compile(open("agent.py").read(), "agent.py", "exec"))
"""
"""Runs the agent bare: where no proxy stands, its host's name leads to this machine."""


def main() -> None:
    """Print the table."""
    print(HEAD)
    for figure in figures(quick="-quick" in sys.argv):
        print(figure.row(), flush=True)


if __name__ == "__main__":
    main()

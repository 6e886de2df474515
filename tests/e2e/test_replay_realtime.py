"""`hark replay -realtime`: the recorded waits, and the clock reads between pieces, on a busier machine."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_replay import PYTHON, replay
from tests.fakes.upstream import Call, serving

pytestmark = pytest.mark.e2e

PIECES = 10
GAP_S = 0.2
TRIES = 5
AGENT = """
import hashlib, time, urllib.request
with urllib.request.urlopen("https://api.example/stream") as answer:
    for piece in answer:
        end = time.thread_time() + 0.09
        while time.thread_time() < end: hashlib.sha256(bytes(1000))
        print(piece.decode().strip(), time.time())
with urllib.request.urlopen("https://api.example/end?%f" % time.time()) as answer:
    print(answer.read().decode())
"""


@contextmanager
def busy() -> Iterator[None]:
    """Processes of others beside the agent, for each processor."""
    others = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def kept_up(printed: str) -> bool:
    """Tell whether the recorded agent had read each piece before the next one came, by its own clock."""
    times = [float(line.split()[2]) for line in printed.splitlines() if line.startswith("piece")]
    return len(times) == PIECES and all(later - one > 0.05 for one, later in pairwise(times))


def test_the_waits_are_as_recorded_and_so_is_each_clock_read(rootless: Desk) -> None:
    rootless.write("agent.py", AGENT)
    gaps: list[float] = []
    with serving("api.example") as upstream:

        @upstream.on("/stream")
        def stream(call: Call) -> None:
            call.send_response(200)
            call.send_header("Transfer-Encoding", "chunked")
            call.end_headers()
            for number in range(PIECES):
                line = b"piece %d\n" % number
                call.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                call.wfile.flush()
                time.sleep(gaps[-1])
            call.wfile.write(b"0\r\n\r\n")

        options = rootless.toward(upstream, "api.example")
        upstream.on("/end")(lambda call: call.reply(200, b"done"))
        for turn in range(TRIES):
            gaps.append(GAP_S * 2**turn)
            printed = ok(rootless.run(*options, "--", PYTHON, "agent.py")).stdout
            if kept_up(printed):
                break
            rootless.bundle.unlink()
    assert kept_up(printed)
    for words in (("-realtime",), ()):
        with busy():
            began = time.monotonic()
            ended = ok(replay(rootless, *words))
            took = time.monotonic() - began
        assert "hark: REPLAY-EQUAL, " in ended.stderr
        assert ended.stdout == printed
        assert took > PIECES * gaps[-1] or not words

"""Large bodies through the real `hark run`: how far memory grew, and how much the bundle holds."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hark.bundle.events import LlmResponseChunk, RequestChunk, decode
from hark.bundle.walk import BundleFile
from tests.e2e.rig import Desk
from tests.fakes.upstream import Call, Seen, early, serving

HOST: Final = "bulk.example"
_STEP: Final = 1 << 20
_PATIENCE_S: Final = 240.0

PROGRAM: Final = f"""
import http.client, os, ssl, sys, time
up, down = map(int, sys.argv[1:])
client = http.client.HTTPSConnection("{HOST}", timeout=120)

def ask(method, path, body=None, **headers):
    client.request(method, path, body, headers)
    answer, got = client.getresponse(), 0
    while piece := answer.read({_STEP}):
        got += len(piece)
    return got

for _ in range(20):
    ask("GET", "/warm")
open("warm", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
block = os.urandom({_STEP})
ask("PUT", "/up", (block for _ in range(up // {_STEP})), **{{"Content-Length": str(up)}})
assert ask("GET", "/down") == down
open("done", "w").close()
while not os.path.exists("end"):
    time.sleep(0.01)
"""


@dataclass(frozen=True, slots=True)
class Volume:
    """What was measured: bytes of memory at the peak before and after, and bytes that the bundle holds."""

    before: int
    after: int
    up: int
    down: int
    seconds: float


def measure(desk: Desk, *, up: int, down: int) -> Volume:
    """Send `up` bytes and get `down`, both whole megabytes, and leave the bundle sealed."""
    block = os.urandom(_STEP)
    with serving(HOST) as upstream:

        @upstream.on("/up")
        @early
        def upload(call: Call) -> None:
            call.reply(200, b"%d" % sum(map(len, call.pieces())))

        @upstream.on("/down")
        def download(call: Call) -> None:
            call.send_response(200)
            call.send_header("Content-Length", str(down))
            call.end_headers()
            for _ in range(down // _STEP):
                call.wfile.write(block)

        desk.write("bulk.py", PROGRAM)
        options = desk.toward(upstream, HOST)
        command = ["run", "-o", desk.bundle, *options, "--", desk.user.python, "bulk.py", str(up), str(down)]
        with desk.start(*command) as hark:
            try:
                _wait(desk.project / "warm")
                before, began = _peak(hark.pid), time.monotonic()
                desk.write("go", "")
                _wait(desk.project / "done")
                after, seconds = _peak(hark.pid), time.monotonic() - began
                desk.write("end", "")
                _, complaint = hark.communicate(timeout=_PATIENCE_S)
            except BaseException:
                hark.kill()
                raise
        assert hark.returncode == 0, complaint
        assert _largest(upstream.seen) == up
    sent, got = _recorded(desk.bundle)
    return Volume(before, after, sent, got, seconds)


def _largest(seen: list[Seen]) -> int:
    return max(int(one.header("content-length") or 0) for one in seen)


def _wait(path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not path.exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"{path.name} did not come")
        time.sleep(0.02)


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    if found is None:
        raise AssertionError("no VmHWM")
    return int(found[1]) << 10


def _recorded(bundle: Path) -> tuple[int, int]:
    """Return the bytes of request pieces and of answers in a bundle."""
    sent = got = 0
    with BundleFile(str(bundle)) as file:
        for placed in file.frames():
            frame = placed.frame
            if frame.kind not in (6, 35):
                continue
            event = decode(frame.kind, frame.payload)
            if isinstance(event, RequestChunk):
                sent += len(event.data)
            elif isinstance(event, LlmResponseChunk):
                got += len(event.data)
    return sent, got

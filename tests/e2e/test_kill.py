"""hark killed in the middle: what crossed the boundary by then is in the file, whatever crossed last."""

import json
import threading

import pytest

from tests.e2e.rig import Desk
from tests.fakes.upstream import Call, early, serving

pytestmark = [pytest.mark.e2e]

PIECES = 400
SIZE = 5000


@pytest.mark.parametrize("after", [1, 50, 300])
def test_what_a_server_got_before_hark_was_killed_is_in_the_record(rootless: Desk, after: int) -> None:
    got = bytearray()
    enough, ended = threading.Event(), threading.Event()
    data = b"".join(b"%d," % number * SIZE for number in range(PIECES))
    rootless.write("upload", data)
    with serving("api.example") as server:

        @server.on("/up")
        @early
        def up(call: Call) -> None:
            try:
                for piece in call.pieces():
                    got.extend(piece)  # of a piece that was cut, what came of it
                    if len(got) > after * SIZE:
                        enough.set()
            finally:
                ended.set()

        options = rootless.toward(server, "api.example")
        script = "curl -sS --limit-rate 20M -H 'Transfer-Encoding: chunked' -T upload https://api.example/up"
        process = rootless.start("run", *options, "--", "sh", "-c", script)
        assert enough.wait(60)
        process.kill()
        process.communicate(timeout=60)
        assert ended.wait(60)
    (left,) = (rootless.project.parent / "state" / "hark" / "runs").glob("*.hark")
    assert rootless.hark("verify", left).stdout.startswith("TRUNCATED: ")
    shown = rootless.hark("inspect", "--json", "-kind=RequestChunk", left)
    assert shown.returncode == 3, shown.stderr
    chunks = [json.loads(line)["fields"] for line in shown.stdout.splitlines()]
    recorded = b"".join(chunk["data"]["text"].encode() for chunk in chunks)
    assert data.startswith(recorded)
    assert recorded.startswith(got)
    assert 0 < len(got) <= len(recorded)

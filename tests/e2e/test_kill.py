"""hark killed in the middle: what crossed the boundary by then is in the file, whatever crossed last.

Asked to end at any other moment, it leaves a sealed file that says how far the run came.
"""

import json
import signal
import threading

import pytest

from tests.e2e.rig import Desk, ok
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


ASKED = """
import os, signal, sys
from hark.cli import main
from hark.running.run import Run
where, number = sys.argv.pop(1), int(sys.argv.pop(1))
whole = getattr(Run, where)
def asked(run, *rest):
    os.kill(os.getpid(), number)
    return whole(run, *rest)
setattr(Run, where, asked)
sys.exit(main.entry())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("where", ["opening", "recorder", "stands", "shown"])
def test_who_asks_hark_to_end_before_the_agent_starts_has_a_sealed_record_that_says_so(
    rootless: Desk, where: str, number: int
) -> None:
    ended = rootless.program(
        ASKED, where, str(number), "run", "-o", rootless.bundle, "--", "touch", "started"
    )
    assert ended.returncode == 128 + number, ended.stderr
    why = f"{signal.Signals(number).name} came before the agent was started"
    assert ended.stderr.splitlines()[-1] == f"hark: {why}"
    assert f'the run never started ("{why}")' in rootless.verdict()
    assert not (rootless.project / "started").exists()


@pytest.mark.parametrize("where", ["closing", "_looked_through", "_finish", "_seal", "tell"])
def test_who_asks_hark_to_end_after_the_agent_has_keeps_nothing_from_being_sealed(
    rootless: Desk, where: str
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        ended = rootless.program(
            ASKED, where, str(int(number)), "run", "-o", rootless.bundle, "--", "sh", "-c", "exit 3"
        )
        assert ended.returncode == 3, ended.stderr
        assert rootless.verdict().startswith("VERIFIED: the run ended with exit code 3, ")
        rootless.bundle.unlink()


STAGING = """
import os, sys
from hark.cli import main
from hark.rerun import replaying
whole, number = replaying.stage, int(sys.argv.pop(1))
def asked(*parts, **more):
    os.kill(os.getpid(), number)
    return whole(*parts, **more)
replaying.stage = asked
sys.exit(main.entry())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_who_asks_a_replay_to_end_before_its_agent_starts_leaves_no_copy_of_the_project(
    rootless: Desk, number: int
) -> None:
    rootless.write("notes", "mine")
    ok(rootless.run("--", "cat", "notes"))
    ended = rootless.program(STAGING, str(int(number)), "replay", rootless.bundle)
    assert ended.returncode in (128 + number, -number), ended.stderr
    copies = rootless.project.parent / "state" / "hark" / "copies"
    left = [path for path in copies.rglob("notes") if path.read_text() == "mine"]
    assert len(left) == (number == signal.SIGKILL)  # the control, which the next one takes away
    ok(rootless.hark("replay", rootless.bundle))
    assert list(copies.iterdir()) == []

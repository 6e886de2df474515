"""`hark replay` as a person meets it: a run again without its servers, and what must not come out equal."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from tests.e2e.conftest import root_like
from tests.e2e.rig import Desk, desk, ok
from tests.fakes.upstream import Call, serving
from tests.support.rerecorded import STRANGER, Change, Told, replaced, retell, without
from tests.support.user import User

pytestmark = pytest.mark.e2e

PYTHON = next(path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path))
AGENT = """
import getpass, hashlib, json, os, random, ssl, sys, time, urllib.request, uuid

last = ""
print("agent", os.getcwd(), os.environ["HOME"], getpass.getuser(), os.getuid(), os.uname().nodename)
for turn in range(3):
    body = {"prompt": "Go on, please.", "turn": turn, "last": last, "id": str(uuid.uuid4())}
    body |= {"at": time.time(), "dice": random.random(), "day": time.strftime("%c")}
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request("https://api.example/v1/chat", json.dumps(body).encode(), kind)
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    last = hashlib.sha256(text.encode()).hexdigest()
    print(turn, text, body["id"], body["at"])
    time.sleep(0.02)
with open("result.txt", "w") as file:
    file.write(last)
sys.exit(3)
"""


@pytest.fixture
def recorded(at: Desk) -> Desk:
    """A desk with a recorded run, whose server is gone."""
    record(at)
    return at


def record(at: Desk, agent: str = AGENT) -> str:
    """Record the agent against a server, which is then stopped; returns what the agent printed."""
    at.write("agent.py", agent)
    with serving("api.example") as upstream:
        turn = iter(range(100))

        @upstream.on("/v1/chat")
        def chat(call: Call) -> None:
            call.reply(200, json.dumps({"answer": next(turn), "nonce": os.urandom(8).hex()}).encode())

        options = at.toward(upstream, "api.example")
        return ok(at.run(*options, "--", PYTHON, "agent.py"), 3).stdout


def replay(at: Desk, *words: str | Path, bundle: Path | None = None) -> Any:
    return at.hark("replay", *words, bundle or at.bundle)


def told_as_json(at: Desk, *words: str | Path, bundle: Path | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(replay(at, "-json", *words, bundle=bundle).stdout)
    return found


def test_a_replay_prints_does_and_says_the_same_without_any_server(at: Desk) -> None:
    printed = record(at)
    (at.project / "result.txt").unlink()
    ended = ok(replay(at, "-o", at.project.parent / "again.hark"))
    assert ended.stdout == printed
    assert "hark: REPLAY-EQUAL, " in ended.stderr
    assert "; 0 dials, 0 packets" in ended.stderr
    assert "signed by you" in ended.stderr
    assert not (at.project / "result.txt").exists()


def test_a_replays_bundle_replays(recorded: Desk) -> None:
    folder = recorded.project.parent
    first = told_as_json(recorded, "-o", folder / "1.hark")
    second = told_as_json(recorded, "-o", folder / "2.hark", bundle=folder / "1.hark")
    third = told_as_json(recorded, bundle=folder / "2.hark")
    assert {one["verdict"] for one in (first, second, third)} == {"REPLAY-EQUAL"}
    assert len({one["digest"] for one in (first, second, third)}) == 1
    assert ok(recorded.hark("verify", folder / "2.hark")).stdout.startswith("VERIFIED")


@pytest.fixture
def elsewhere(who: User, unprivileged: User) -> Iterator[Desk]:
    """The desk of another user, in another place."""
    other = unprivileged if who.uid == 0 or os.geteuid() != 0 else root_like(unprivileged)
    with tempfile.TemporaryDirectory(prefix="hark-elsewhere-", dir="/var/tmp") as name:
        environ = {"TZ": "Asia/Kathmandu", "LANG": "C", "COLUMNS": "40", "LOGNAME": "eve"}
        os.chmod(name, 0o755)
        (Path(name) / "deep").mkdir()
        with desk(other, Path(name) / "deep", environ) as made:
            yield made


def test_another_user_elsewhere_replays_it_equal(recorded: Desk, elsewhere: Desk) -> None:
    shutil.copy(recorded.bundle, elsewhere.bundle)
    os.chmod(elsewhere.bundle, 0o644)
    shutil.rmtree(recorded.project)
    refused = ok(replay(elsewhere), 4)
    assert "asks to have run" in refused.stderr
    assert "REPLAY" not in refused.stderr
    ended = ok(replay(elsewhere, "--trust-bundle"))
    assert "REPLAY-EQUAL" in ended.stderr
    assert str(recorded.project) in ended.stdout


def test_what_it_worked_on_can_be_kept(recorded: Desk) -> None:
    kept = recorded.project.parent / "kept"
    (recorded.project / "result.txt").unlink()
    ok(replay(recorded, "-keep", kept))
    assert len((kept / "result.txt").read_text()) == 64
    assert not (recorded.project / "result.txt").exists()
    assert replay(recorded, "-keep", kept).returncode == 2


def _chunks(change: Callable[[list[Told]], list[Told]]) -> Change:
    """Change the pieces of answers, as a list of their own."""

    def changed(events: list[Told]) -> Iterator[Told]:
        pieces = iter(change([told for told in events if isinstance(told[1], ev.LlmResponseChunk)]))
        for told in events:
            yield next(pieces) if isinstance(told[1], ev.LlmResponseChunk) else told

    return changed


def _one_byte(pieces: list[Told]) -> list[Told]:
    (time, first), *rest = pieces
    return [(time, first._replace(data=first.data.replace(b'"nonce": "', b'"nonce": "x', 1)[:-1])), *rest]


def _swapped(pieces: list[Told]) -> list[Told]:
    one, other = pieces[0], pieces[1]
    data = one[1].data, other[1].data
    return [(one[0], one[1]._replace(data=data[1])), (other[0], other[1]._replace(data=data[0])), *pieces[2:]]


def _second_request(event: Any) -> bool:
    return isinstance(event, ev.LlmRequest) and b'"turn": 1' in event.body


SPOILED: dict[str, Change] = {
    "one byte of an answer": _chunks(_one_byte),
    "a draw shifted": replaced(ev.Determinism, seed=bytes(32)),
    "two answers swapped": _chunks(_swapped),
    "another exit code": replaced(RunEnd, exit_code=0),
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_recording_that_was_changed_is_not_replayed_equal(rootless: Desk, spoil: str) -> None:
    record(rootless)
    spoiled = retell(rootless.bundle, rootless.project.parent / "spoiled.hark", SPOILED[spoil])
    os.chmod(spoiled, 0o644)
    assert ok(rootless.hark("verify", spoiled)).stdout.startswith("VERIFIED")
    ended = ok(replay(rootless, "--trust-bundle", bundle=spoiled), 1)
    assert "hark: REPLAY-DIVERGED: " in ended.stderr


def test_a_recording_with_an_event_dropped_is_none_of_harks_and_not_replayed(rootless: Desk) -> None:
    record(rootless)
    spoiled = retell(rootless.bundle, rootless.project.parent / "spoiled.hark", without(_second_request))
    os.chmod(spoiled, 0o644)
    assert ok(rootless.hark("verify", spoiled)).stdout.startswith("VERIFIED")
    refused = ok(replay(rootless, "--trust-bundle", bundle=spoiled), 4)
    assert "which has none under way: no run of hark's has that" in refused.stderr
    assert "REPLAY" not in refused.stderr


def test_the_bundle_told_anew_without_a_change_is_equal(rootless: Desk) -> None:
    """The control of the test above: it is not the telling that diverges."""
    record(rootless)
    same = retell(rootless.bundle, rootless.project.parent / "same.hark")
    os.chmod(same, 0o644)
    assert "REPLAY-EQUAL" in ok(replay(rootless, "--trust-bundle", bundle=same)).stderr


def test_one_character_of_the_prompt_is_named_by_its_place(rootless: Desk) -> None:
    record(rootless)
    other = rootless.write("other/agent.py", AGENT.replace("Go on, please.", "Go on, please!")).parent
    ended = ok(replay(rootless, "-workdir", other), 1)
    assert "REPLAY-DIVERGED: no recording for POST api.example/v1/chat; nearest is event" in ended.stderr
    assert "$.prompt" in ended.stderr
    assert "not used: the answer to POST api.example/v1/chat" in ended.stderr
    verdict = told_as_json(rootless, "-workdir", other)
    assert verdict["divergences"][0]["kind"] == "miss"
    assert len(verdict["unconsumed"]) >= 3


def test_an_agent_that_asks_less_leaves_answers_and_is_not_equal(rootless: Desk) -> None:
    record(rootless)
    other = rootless.write("other/agent.py", AGENT.replace("range(3)", "range(2)")).parent
    ended = ok(replay(rootless, "-workdir", other), 1)
    assert "was not made again" in ended.stderr


def test_a_run_that_never_started_has_no_replay(rootless: Desk) -> None:
    end = RunEnd(ended_at=1, exit_code=127, reason="never-started: agent.py: no such file")
    record(rootless)
    path = retell(
        rootless.bundle, rootless.project.parent / "never.hark", lambda told: [*told[:-1], (1 << 40, end)]
    )
    os.chmod(path, 0o644)
    assert "it never started" in ok(replay(rootless, "--trust-bundle", bundle=path), 4).stderr


def test_a_bundle_that_breaks_off_is_replayed_as_far_as_it_goes(rootless: Desk) -> None:
    timeless = AGENT.replace('"at": time.time()', '"at": 0').replace('time.strftime("%c")', '""')
    record(rootless, timeless)
    cut = retell(rootless.bundle, rootless.project.parent / "cut.hark", _until_second_answer, seal=False)
    os.chmod(cut, 0o644)
    assert "-truncated" in ok(replay(rootless, "--trust-bundle", bundle=cut), 3).stderr
    ended = ok(replay(rootless, "--trust-bundle", "-truncated", bundle=cut), 3)
    assert "REPLAY-EQUAL, " in ended.stderr
    assert "the bundle breaks off there" in ended.stderr


def test_a_killed_run_replays_with_its_clock_as_far_as_it_goes(rootless: Desk) -> None:
    pause = "sys.stdout.flush(); time.sleep(0.3)"
    rootless.write("agent.py", AGENT.replace("range(3)", "range(30)").replace("time.sleep(0.02)", pause))
    third = threading.Event()
    with serving("api.example") as upstream:
        turn = iter(range(100))

        @upstream.on("/v1/chat")
        def chat(call: Call) -> None:
            number = next(turn)
            if number == 3:
                third.set()
            call.reply(200, json.dumps({"answer": number}).encode())

        options = rootless.toward(upstream, "api.example")
        process = rootless.start("run", *options, "--", PYTHON, "agent.py")
        assert third.wait(60)
        process.kill()
        process.communicate(timeout=60)
    (left,) = (rootless.project.parent / "state" / "hark" / "runs").glob("*.hark")
    shutil.copy(left, killed := rootless.project.parent / "killed.hark")
    os.chmod(killed, 0o644)
    ended = ok(replay(rootless, "--trust-bundle", "-truncated", bundle=killed), 3)
    assert "REPLAY-EQUAL, " in ended.stderr
    assert ended.stdout.count('{"answer": ') >= 3


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_replay_that_is_interrupted_says_so_and_nothing_of_the_agent(
    rootless: Desk, number: signal.Signals
) -> None:
    rootless.write("long", "0")
    ok(rootless.run("--", "sh", "-c", "echo up; sleep $(cat long); echo on > made; cat made"))
    (rootless.project / "made").unlink()
    rootless.write("long", "60")
    process = rootless.start("replay", "-workdir", ".", rootless.bundle)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number, told
    assert f"REPLAY-INTERRUPTED: by {number.name}".encode() in told
    assert b"DIVERGED" not in told


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_for_the_replays_bundle_takes_no_verdict_away(at: Desk) -> None:
    ok(at.run("--", "sh", "-c", "echo on > made"))
    full = at.project.parent / "full"
    full.mkdir()
    owner = f"uid={at.user.uid},gid={at.user.gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=4k,mode=700,{owner}", "tmpfs", full], check=True)
    try:
        ended = ok(replay(at, "-o", full / "again.hark"), 123)
    finally:
        subprocess.run(["umount", full], check=True)
    assert "no space is left there; it is at " in ended.stderr
    assert "REPLAY-EQUAL, " in ended.stderr


def test_a_replay_waits_for_what_the_run_waited_for(rootless: Desk) -> None:
    script = "(sleep 0.5; echo late > late.txt; curl -s https://late.example/) & exit 4"
    ok(rootless.run("-wait-children", "--", "sh", "-c", script), 4)
    ended = ok(replay(rootless, "-keep", rootless.project.parent / "kept"))
    assert "REPLAY-EQUAL, " in ended.stderr
    assert (rootless.project.parent / "kept" / "late.txt").read_text() == "late\n"
    (boundary,) = rootless.events("Boundary")
    assert boundary["waits_for_all"] is True


def test_what_of_a_named_directory_is_not_as_recorded_is_named(rootless: Desk) -> None:
    rootless.write("kept.txt", "as it was")
    script = 'import os; print(sorted(os.listdir(".")))'
    ok(rootless.run("-no-snapshot", "--", PYTHON, "-c", script))
    alike = ok(replay(rootless, "-workdir", "."))
    assert "not as recorded" not in alike.stderr
    rootless.write("kept.txt", "changed")
    rootless.write("more.txt", "")
    told = replay(rootless, "-workdir", ".").stderr
    assert "not as recorded: kept.txt differs" in told
    assert "not as recorded: more.txt is not in the recording" in told


LEAVES = "cat notes; mkdir out; echo made > out/made; echo more >> notes; rm gone"


@pytest.mark.parametrize("kept", [True, False])
def test_a_directory_that_has_what_the_run_left_replays_as_it_was(rootless: Desk, *, kept: bool) -> None:
    rootless.write("notes", "first\n")
    rootless.write("gone", "")
    ok(rootless.run(*(() if kept else ("-no-snapshot",)), "--", "sh", "-c", LEAVES))
    ended = replay(rootless, "-workdir", ".")
    if kept:
        assert "REPLAY-EQUAL, " in ok(ended).stderr
        assert "set back in the copy to what it began with: gone, notes, out/made" in ended.stderr
        assert "not as recorded" not in ended.stderr
    else:
        assert "the bundle has no copy of what it began with: gone, notes; name a directory" in ended.stderr
    assert (rootless.project / "notes").read_text() == "first\nmore\n"


@pytest.mark.attack
def test_a_file_that_is_not_made_again_is_missed_though_the_directory_has_it(rootless: Desk) -> None:
    rootless.write("agent.sh", "echo made > out; cat out")
    ok(rootless.run("--", "sh", "agent.sh"))
    assert "REPLAY-EQUAL, " in ok(replay(rootless, "-workdir", ".")).stderr, "the control"
    rootless.write("agent.sh", "cat out; true")
    told = ok(replay(rootless, "-workdir", "."), 1).stderr
    assert "file out of event" in told
    assert "was not made again" in told


@pytest.mark.parametrize("policy", ['exec = ["sh", "cat"]'])
def test_a_run_under_more_or_less_confinement_replays(rootless: Desk, policy: str) -> None:
    rootless.write("policy.toml", f"{policy}\n")
    rootless.write("in.txt", "words")
    ok(
        rootless.run(
            "-policy", "policy.toml", "--", "sh", "-c", "cat in.txt > out.txt; /usr/bin/env || exit 9"
        ),
        9 if "exec" in policy else 0,
    )
    assert "REPLAY-EQUAL, " in ok(replay(rootless)).stderr


def _until_second_answer(events: list[Told]) -> list[Told]:
    ends = [at for at, told in enumerate(events) if isinstance(told[1], ev.LlmResponseEnd)]
    return events[: ends[1] + 1]


@pytest.mark.attack
def test_a_hostile_bundle_gets_nothing_of_the_reviewers(at: Desk) -> None:
    record(at)
    home = at.project.parent / "reviewer"
    home.mkdir()
    (home / "notes.txt").write_text("mine")
    for path in (home, home / "notes.txt"):
        os.chown(path, at.user.uid, at.user.gid)
    script = f"cat {home}/notes.txt; echo owned > {home}/owned; ls {home}; env; exit 0"
    raw = f"""
        allow_hosts = ["api.example"]
        read_paths = ["{home}"]
        write_paths = ["{home}/"]
        [secrets.TOKEN]
        command = ["/bin/sh", "-c", "touch {home}/was-run"]
        hosts = ["api.example"]
        [mcp.tools]
        command = ["/bin/sh", "-c", "touch {home}/was-run"]
    """.encode()

    def hostile(events: list[Told]) -> Iterator[Told]:
        for time, event in events:
            match event:
                case RunStart():
                    yield time, event._replace(argv=("sh", "-c", script))
                case ev.PolicyLoaded():
                    paths = (event.write_paths[0], str(home))
                    yield time, event._replace(raw=raw, read_paths=(str(home),), write_paths=paths)
                case _:
                    yield time, event

    path = retell(at.bundle, at.project.parent / "hostile.hark", hostile)
    os.chmod(path, 0o644)
    ended = replay(at, "--trust-bundle", bundle=path)
    assert ended.returncode == 1, ended.stderr
    assert "mine" not in ended.stdout
    assert sorted(os.listdir(home)) == ["notes.txt"]  # neither owned nor was-run
    assert (home / "notes.txt").read_text() == "mine"


@pytest.mark.attack
def test_a_broken_bundle_is_not_started(rootless: Desk) -> None:
    record(rootless)
    data = bytearray(rootless.bundle.read_bytes())
    data[data.index(b"agent.py")] ^= 1
    rootless.bundle.write_bytes(data)
    ended = ok(replay(rootless, "--trust-bundle"), 4)
    assert "BROKEN" in ended.stderr
    assert "agent" not in ended.stdout


def test_a_signer_is_trusted_once_and_for_all(rootless: Desk) -> None:
    record(rootless)
    path = retell(rootless.bundle, rootless.project.parent / "ann.hark")
    os.chmod(path, 0o644)
    assert "hark trust" in ok(replay(rootless, bundle=path), 4).stderr
    ok(rootless.hark("trust", path))
    ended = ok(replay(rootless, bundle=path))
    assert STRANGER.public_key.hex()[:16] in ended.stderr
    assert "asks to have run" not in ended.stderr


def test_an_ordinary_user_replays_with_both_outputs_in_a_file(rootless: Desk) -> None:
    record(rootless)
    with (
        tempfile.TemporaryFile() as out,
        rootless.start("replay", rootless.bundle, stdout=out, stderr=out) as process,
    ):
        code = process.wait(120)
        out.seek(0)
        said = out.read().decode()
    assert code == 0, said
    assert "REPLAY-EQUAL" in said

"""Runs that are ended by a limit of the policy's or by a full disk: exit code, sentence, record."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import serving
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e]

BOMB = "while :; do sleep 60 & done"
HOG = "held = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))"
FILLER = "cat /dev/zero > /tmp/a; cat /dev/zero > /var/tmp/b; sleep 60"
SLEEPER = "trap '' TERM; while :; do sleep 1; done"
FLOOD = """
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
query = b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4evil\\4test\\0\\0\\1\\0\\1"
while True:
    sock.sendto(query, ("10.200.1.1", 53))
    sock.recv(512)
"""

LIMITS = {
    "time": ('time = "1s"', ("sh", "-c", "exec sleep 60"), "the agent ran for 1 seconds"),
    "processes": ("processes = 30", ("sh", "-c", BOMB), "31 processes and threads, and 30 are allowed"),
    "memory": ('memory = "64MiB"', ("/usr/bin/python3", "-c", HOG), "the agent uses "),
    "disk": ('disk = "2MiB"', ("sh", "-c", FILLER), "limits.disk was reached: "),
    "events_per_second": ("events_per_second = 20", ("/usr/bin/python3", "-c", FLOOD), "more than 20 events"),
}


@pytest.mark.parametrize("key", LIMITS)
def test_a_run_at_a_limit_ends_with_124_and_says_which_in_words_and_on_the_record(at: Desk, key: str) -> None:
    line, argv, words = LIMITS[key]
    at.write("policy.toml", f"[limits]\n{line}\n")
    ended = ok(at.run("-policy", "policy.toml", "--", *argv), 124)
    assert f"hark: the run was ended: limits.{key} was reached: " in ended.stderr
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    (end,) = at.events("RunEnd")
    assert end["reason"].startswith(f"interrupted: limits.{key} was reached: ")
    assert end["exit_code"] == 124
    assert f'VERIFIED: the run was interrupted ("limits.{key} was reached: ' in at.verdict()
    if key in {"processes", "memory", "disk"}:
        (boundary,) = at.events("Boundary")
        assert any(note.startswith(f"limits.{key} ") for note in boundary["notes"])


@pytest.mark.parametrize("key", LIMITS)
def test_below_its_limit_a_run_ends_its_own_way(rootless: Desk, key: str) -> None:
    line = 'time = "60s"' if key == "time" else LIMITS[key][0]
    rootless.write("policy.toml", f"[limits]\n{line}\n")
    script = "sleep 0.1 & wait; echo x > /tmp/x; getent hosts evil.test; exit 3"
    ok(rootless.run("-policy", "policy.toml", "--", "sh", "-c", script), 3)
    assert rootless.events("RunEnd")[0]["reason"] == "exit"


def test_an_agent_whose_time_is_up_and_that_will_not_go_is_killed(rootless: Desk) -> None:
    rootless.write("policy.toml", '[limits]\ntime = "1s"\n')
    ended = ok(rootless.run("-policy", "policy.toml", "--", "sh", "-c", SLEEPER), 124)
    assert "limits.time was reached" in ended.stderr
    assert "VERIFIED" in rootless.verdict()


STOPPER = """
import os, signal, time
if os.fork():
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(60)
"""


def test_an_agent_that_stops_itself_stops_neither_the_clock_nor_the_recorder(rootless: Desk) -> None:
    rootless.write("policy.toml", '[limits]\ntime = "1s"\n')
    argv = ("/usr/bin/python3", "-c", STOPPER)
    ended = ok(rootless.run("-policy", "policy.toml", "--", *argv, timeout=60, start_new_session=True), 124)
    assert "limits.time was reached" in ended.stderr
    assert "VERIFIED" in rootless.verdict()


def test_time_is_up_inside_when_the_recorder_itself_is_stopped(rootless: Desk) -> None:
    rootless.write("policy.toml", '[limits]\ntime = "1s"\n')
    words = ("-policy", "policy.toml", "-o", rootless.bundle)
    work = "while :; do date +%s >> here; sleep 0.2; done"
    with rootless.start("run", *words, "--", "sh", "-c", work) as process:
        here = rootless.project / "here"
        until(here.exists)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            until(lambda: time.time() - here.stat().st_mtime > 2, patience=40)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 124, said
    assert b"limits.time was reached" in said


SLASHES = """
import http.client
asked = http.client.HTTPConnection("api.example", 80, timeout=60)
headers = {"x-slashes": "\\\\" * 60_000 + "\\\\xZZ"}
asked.request("POST", "/", body=b"\\\\" * 500_000 + b"\\\\u00zz", headers=headers)
print(asked.getresponse().status)
"""


def test_a_body_and_a_header_of_backslashes_do_not_stop_the_recorder(rootless: Desk) -> None:
    """While an expression is matched no thread runs, so neither a limit nor a signal would end such a run."""
    rootless.env["KEY"] = "sk-demo-0123456789-abcdefgh"
    policy = '[secrets.KEY]\nhosts = ["api.example"]\nin = ["header", "body"]\n'
    with serving("api.example") as server:
        ended = ok(
            rootless.run(
                *rootless.toward(server, "api.example", policy=policy), "--", "python3", "-c", SLASHES
            )
        )
    assert ended.stdout == "403\n"  # port 80 is not allowed; what is refused is recorded, and so searched
    assert "VERIFIED" in rootless.verdict()


def test_the_record_does_not_grow_beyond_its_largest_size_and_is_sealed(at: Desk) -> None:
    at.write("upload", os.urandom(8 << 20))
    script = "curl -sS -T upload https://api.example/upload; sleep 60; touch finished"
    with serving("api.example") as server:
        options = at.toward(server, "api.example", policy='[record]\nmax_bytes = "2MiB"\n')
        ended = ok(at.run(*options, "--", "sh", "-c", script), 124)
        assert sum(len(request.body) for request in server.seen) < 2 << 20
    assert "record.max_bytes was reached: the record may not grow beyond 2097152 bytes" in ended.stderr
    assert not (at.project / "finished").exists()
    assert 1 << 20 < at.bundle.stat().st_size <= 2 << 20
    assert 'VERIFIED: the run was interrupted ("record.max_bytes was reached' in at.verdict()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_fills_up_ends_the_run_with_123_and_what_there_is_verifies(at: Desk) -> None:
    state = Path(at.env["XDG_STATE_HOME"], "hark", "runs")
    state.mkdir(mode=0o700, parents=True)
    owner = f"uid={at.user.uid},gid={at.user.gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=1m,mode=700,{owner}", "tmpfs", state], check=True)
    try:
        # Made by the agent: what lies in the project before it is on the record before it starts.
        script = "head -c 4194304 /dev/urandom > upload; curl -sS -T upload https://api.example/upload;"
        with serving("api.example") as server:
            options = at.toward(server, "api.example")
            waiting = f"{script} sleep 60; touch finished"
            ended = ok(at.hark("run", *options, "--", "sh", "-c", waiting), 123)
            assert sum(len(request.body) for request in server.seen) < 1 << 20
        assert "No space left on device; the run cannot go on unrecorded; make room there" in ended.stderr
        assert ended.stderr.count("No space left on device") == 1
        assert "hark: the record was not sealed; what there is lies in " in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not (at.project / "finished").exists()
        (left,) = state.glob("*.hark")
        verified = at.hark("verify", left)
        assert verified.returncode == 3, verified.stdout
        assert verified.stdout.startswith("TRUNCATED: ")
    finally:
        subprocess.run(["umount", state], check=True)


def test_an_agent_that_handles_a_signal_and_ends_its_own_way_was_not_interrupted(rootless: Desk) -> None:
    script = "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process = rootless.start("run", "-o", rootless.bundle, "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert rootless.events("RunEnd")[0]["reason"] == "exit: after SIGTERM"
    assert "VERIFIED: the run ended with exit code 0 (after SIGTERM)" in rootless.verdict()

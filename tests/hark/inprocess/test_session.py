"""A session with a real attendant: recorded, played, and what it refuses to begin with."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from hark.inprocess.guard import Over
from hark.inprocess.session import AttendantError, Session
from hark.inprocess.words import Job
from hark.verify.steps import verify
from tests.fakes.upstream import serving

VALUE = "sk-real-5e884898da280471"
URL = "http://api.example/v1"
ARGV = (sys.executable, "-m", "pytest", "--hark-inside", "test_a.py::test_a")


def fetch(body: bytes, url: str = URL) -> bytes:
    """Post with the key that the environment has."""
    request = urllib.request.Request(url, body, {"Authorization": f"Bearer {os.environ['KEY']}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: bytes = answer.read()
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle; its server is gone."""
    folder = tmp_path_factory.mktemp("session")
    with serving("api.example", tls=False) as upstream, pytest.MonkeyPatch.context() as patch:
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        policy = f'[[allow]]\nhost = "api.example"\nport = 80\nupstream = "{upstream.address}"\n'
        (folder / "policy.toml").write_text(policy + '[secrets.KEY]\nhosts = ["api.example:80"]\n')
        patch.setenv("KEY", VALUE)
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("http_proxy", "http://192.0.2.1:3128")
        job = Job(ARGV, str(folder), f"{folder}/run.hark", policy=f"{folder}/policy.toml")
        session = Session(job)
        session.begin()
        try:
            assert "hark" in os.environ["KEY"]
            assert fetch(b"hi") == b"hello"
            verdict = session.finish(0)
        finally:
            session.close()
        assert (os.environ["KEY"], os.environ["http_proxy"]) == (VALUE, "http://192.0.2.1:3128")
        assert f"Bearer {VALUE}" in str(upstream.seen)
        assert verdict.exit_code == 0, verdict.lines
    return folder / "run.hark"


def playing(recorded: Path, folder: Path, patch: pytest.MonkeyPatch) -> Session:
    """A session that plays it, begun."""
    patch.setenv("HOME", str(folder))
    patch.delenv("KEY", raising=False)
    session = Session(Job(ARGV, str(folder), f"{folder}/again.hark", str(recorded)))
    session.begin()
    return session


def test_the_record_is_marked_and_holds_no_key(recorded: Path) -> None:
    found = verify(str(recorded))
    assert (found.verdict, found.uncontained) == ("VERIFIED", "the test's own process")
    assert VALUE.encode() not in recorded.read_bytes()


def test_what_was_recorded_is_played_without_server_or_key(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = playing(recorded, tmp_path, monkeypatch)
    try:
        assert fetch(b"hi") == b"hello"
        verdict = session.finish(0)
    finally:
        session.close()
    assert (verdict.exit_code, verdict.lines[0].partition(",")[0]) == (0, "REPLAY-EQUAL"), verdict.lines
    assert "KEY" not in os.environ


def test_another_byte_ends_the_run_and_nothing_is_reached_after(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = playing(recorded, tmp_path, monkeypatch)
    try:
        with pytest.raises(OSError, match=r"reset|closed|hark"):
            fetch(b"ho")
        with pytest.raises(Over, match="diverged"):
            fetch(b"hi", "http://192.0.2.1/v1")
        verdict = session.finish(0)
    finally:
        session.close()
    assert (verdict.exit_code, "no recording for POST api.example/v1" in verdict.lines[0]) == (1, True)


def test_an_answer_that_is_not_asked_for_is_named(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = playing(recorded, tmp_path, monkeypatch)
    try:
        verdict = session.finish(0)
    finally:
        session.close()
    assert verdict.exit_code == 1
    assert any("was not asked for" in line for line in verdict.lines)


def test_an_attendant_that_is_gone_leaves_the_test_nothing_to_reach_and_no_verdict(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = playing(recorded, tmp_path, monkeypatch)
    try:
        assert session._process is not None
        session._process.kill()
        session._process.wait()
        with pytest.raises((Over, OSError)):
            fetch(b"hi")
        with pytest.raises((AttendantError, OSError)):
            session.finish(0)
    finally:
        session.close()


def test_what_cannot_begin_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.hark").write_text("no bundle")
    before = dict(os.environ)
    session = Session(Job(ARGV, str(tmp_path), f"{tmp_path}/o.hark", f"{tmp_path}/x.hark"))
    with pytest.raises(AttendantError, match="does not begin with HARK"):
        session.begin()
    assert dict(os.environ) == before


NATIVE = """
import ctypes, socket, struct, sys
from pyroute2 import IPRoute
from hark.inprocess.session import AttendantError, Session
from hark.inprocess.words import Job

with IPRoute() as route:  # an address that is no loopback's, in a network of this process's own
    route.link("set", index=1, state="up")
    route.addr("add", index=1, address="192.0.2.5", prefixlen=32)
server = socket.create_server(("192.0.2.5", 0))
port = server.getsockname()[1]
libc = ctypes.CDLL(None, use_errno=True)

def connect():
    number = libc.socket(2, 1, 0)
    address = struct.pack("=H", 2) + struct.pack("!H4s8x", port, socket.inet_aton("192.0.2.5"))
    assert libc.connect(number, address, len(address)) == 0
    return number

folder, when = sys.argv[1:]
session = Session(Job((sys.executable, "x"), folder, f"{folder}/o.hark"))
if when == "before":
    connect()
try:
    session.begin()
    if when == "during":
        connect()
    verdict = session.finish(0)
    print(verdict.exit_code, *verdict.lines[:1])
except AttendantError as error:
    print("not begun:", error)
"""


@pytest.mark.attack
@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("before", "not begun: this process has a connection to 192.0.2.5:"),
        ("during", "1 the test reached for 192.0.2.5:"),
        ("never", "0 "),
    ],
)
def test_a_connection_made_past_python_is_found_where_it_is_open(
    tmp_path: Path, when: str, said: str
) -> None:
    own_network = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", NATIVE]
    done = subprocess.run(
        [*own_network, str(tmp_path), when],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout.startswith(said), done.stdout + done.stderr

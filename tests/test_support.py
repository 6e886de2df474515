"""What the tests lean on: an ordinary user who really is one, and a host that is asked and not trusted."""

import os
import socket
import ssl
import sys
import threading
from pathlib import Path

import pytest

from hark.repeatable import shim_library
from hark.repeatable.shim_library import library
from launcher.doctor import Finding, State
from tests import conftest
from tests.bench import apart
from tests.fakes.upstream import certified
from tests.support import host, preload
from tests.support.apart import in_a_copy
from tests.support.carried import Listener, carried
from tests.support.user import ROOT, User, run_as

WHERE = "import hark, launcher, mediator, os; print(os.geteuid(), hark.__file__)"


def test_the_ordinary_user_is_not_root_and_has_a_home(unprivileged: User) -> None:
    done = run_as(unprivileged, ["sh", "-c", 'id -u; id -G; cd && touch mine && stat -c %u "$HOME/mine"'])
    assert done.stdout.split() == [str(unprivileged.uid), str(unprivileged.gid), str(unprivileged.uid)]
    assert unprivileged.uid != 0


def test_the_ordinary_user_has_hark_as_it_is_in_this_tree(unprivileged: User) -> None:
    uid, file = run_as(unprivileged, [unprivileged.python, "-c", WHERE]).stdout.split()
    assert int(uid) == unprivileged.uid
    assert Path(file).read_text() == (ROOT / "hark" / "__init__.py").read_text()
    assert run_as(unprivileged, [unprivileged.hark, "version"]).stdout.startswith("hark ")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs the tests on their own interpreter")
def test_the_ordinary_user_of_root_has_no_file_of_this_tree(unprivileged: User) -> None:
    path = "import sys; print(*sys.path, sys.prefix, sys.base_prefix)"
    seen = run_as(unprivileged, [unprivileged.python, "-c", path]).stdout.split()
    assert [entry for entry in seen if entry.startswith(str(ROOT))] == []
    secret = unprivileged.home.parent / "of-root"
    secret.write_text("x")
    secret.chmod(0o600)
    assert run_as(unprivileged, ["cat", secret]).returncode == 1


def test_a_preload_that_was_laid_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state")}
    preload.lay(environ, os.geteuid(), os.getegid())
    monkeypatch.setattr(shim_library, "_compile", lambda *_: pytest.fail("it was built again"))
    assert library(environ, []) == preload.built()[1]
    with pytest.raises(pytest.fail.Exception, match="built again"):
        library({"XDG_STATE_HOME": str(tmp_path / "other")}, [])


def test_what_a_copy_of_this_process_finds_out_fails_here() -> None:
    in_a_copy(os.pipe)
    with pytest.raises(AssertionError, match="1 != 2"):
        in_a_copy(lambda: pytest.fail("1 != 2"))
    with pytest.raises(AssertionError, match="wait status 9"):
        in_a_copy(lambda: os.kill(os.getpid(), 9))


def test_a_copy_of_this_process_has_no_thread_and_no_child_of_others() -> None:
    """The control is this process itself, which has both."""

    def alone() -> bool:
        tasks = list(Path("/proc/self/task").iterdir())
        return len(tasks) == 1 and not (tasks[0] / "children").read_text()

    def check() -> None:
        assert alone()

    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    child = os.fork() or os._exit(0)
    try:
        assert not alone()
        in_a_copy(check)
    finally:
        stop.set()
        thread.join()
        os.waitpid(child, 0)


class _Item:
    """As much of a pytest item as the rule looks at."""

    def __init__(self, *markers: str) -> None:
        self.markers = markers

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.markers else None


@pytest.mark.parametrize("marker", ["attack", "e2e"])
def test_a_kernel_test_fails_where_the_host_cannot_run_it(
    monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    monkeypatch.setattr(conftest, "what_is_missing", lambda: "network: change this setting")
    with pytest.raises(pytest.fail.Exception, match="change this setting"):
        conftest.pytest_runtest_setup(_Item(marker))  # type: ignore[arg-type]
    conftest.pytest_runtest_setup(_Item())  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [State.MISSING, State.UNKNOWN])
def test_what_could_not_be_observed_is_missing_too(monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    findings = (Finding("seccomp", State.OK, "fine"), Finding("network", state, "change this setting"))
    monkeypatch.setattr(host, "check", lambda: findings)
    assert host.what_is_missing.__wrapped__() == "network: change this setting"


def test_a_carried_stream_is_read_and_written_in_two_threads_and_ends_with_its_connection() -> None:
    ca_pem, context = certified(("localhost",))
    trust = ssl.create_default_context(cadata=ca_pem.decode())
    sent = {name: os.urandom(1 << 22) for name in ("there", "back")}
    got: dict[str, bytes] = {}

    def read(name: str, stream: socket.socket) -> None:
        pieces = bytearray()
        while len(pieces) < len(sent[name]) and (piece := stream.recv(1 << 16)):
            pieces += piece
        got[name] = bytes(pieces)

    with Listener(context) as listener:
        with socket.create_connection(listener.getsockname()):  # says nothing and leaves
            gone, _ = listener.accept()
        with gone:
            assert gone.recv(1) == b""
        sock = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
        client = carried(trust.wrap_socket(sock, server_hostname="localhost"))
        with client, served:
            readers = [
                threading.Thread(target=read, args=("there", served)),
                threading.Thread(target=read, args=("back", client)),
            ]
            for thread in readers:
                thread.start()
            served.sendall(sent["back"])
            client.sendall(sent["there"])
            for thread in readers:
                thread.join()
            assert got == sent
            served.close()
            assert client.recv(1) == b""


def test_a_benchmark_counts_the_memory_of_the_program_alone() -> None:
    """Not what the benchmark itself holds; the control is a program that holds as much."""
    held = bytearray(100 << 20)
    small = apart.taken([sys.executable, "-c", "pass"]).peak_mb
    large = apart.taken([sys.executable, "-c", "held = bytearray(100 << 20)"]).peak_mb
    assert small < 60 < 100 < large, len(held)


def test_a_benchmark_does_not_time_a_program_that_failed() -> None:
    with pytest.raises(SystemExit, match="exit code 3"):
        apart.taken([sys.executable, "-c", "raise SystemExit(3)"])
    assert apart.taken([sys.executable, "-c", "raise SystemExit(3)"], exits=(3,)).seconds > 0

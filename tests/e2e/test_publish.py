"""`[[publish]]` as the operator uses it: a browser outside, a server inside."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e


@contextmanager
def kept() -> Iterator[int]:
    """A port that nobody else gets meanwhile: bound, but not listened at, so that hark may."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("0.0.0.0", 0))
        yield sock.getsockname()[1]


@contextmanager
def serving(at: Desk, command: str, port: int = 8000) -> Iterator[int]:
    """A run whose agent serves at `port`; the address outside."""
    with kept() as outside:
        at.write("policy.toml", f'[[publish]]\nport = {port}\nat = "127.0.0.1:{outside}"\n')
        words = ("run", "-o", at.bundle, "-policy=policy.toml", "--", "sh", "-c", command)
        with at.start(*words, stdin=subprocess.PIPE) as process:
            try:
                yield outside
            finally:
                process.stdin.close()
                process.wait(60)


def fetch(port: int, path: str = "/") -> bytes:
    """As a browser that is told to try again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"http://127.0.0.1:{port}{path}", timeout=60
            ) as answer:
                return bytes(answer.read())
        except (urllib.error.URLError, ConnectionError):
            assert time.monotonic() < deadline
            time.sleep(0.05)


SERVER = "python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & cat >/dev/null; kill $!"


def test_a_server_inside_is_reached_from_outside_and_what_passed_is_recorded(at: Desk):
    at.write("page.txt", "the page")
    with serving(at, SERVER) as port:
        assert fetch(port, "/page.txt") == b"the page"
    assert at.verdict().startswith("VERIFIED")
    data = "".join(str(event) for event in at.events("TunnelData"))
    assert "GET /page.txt" in data
    assert "published port 8000 to 127.0.0.1" in data


def test_a_large_answer_and_many_at_once_arrive_whole(rootless: Desk):
    rootless.write("large", b"x" * 3_000_000)
    with serving(rootless, SERVER) as port:
        fetch(port)
        loads = [
            subprocess.Popen(["curl", "-s", f"http://127.0.0.1:{port}/large"], stdout=subprocess.PIPE)
            for _ in range(8)
        ]
        sizes = [len(load.communicate(timeout=60)[0]) for load in loads]
    assert sizes == [3_000_000] * 8


def test_an_address_that_is_taken_refuses_the_run_before_it_starts(rootless: Desk):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        rootless.write("policy.toml", f'[[publish]]\nport = 8000\nat = "127.0.0.1:{port}"\n')
        ended = ok(rootless.run("-policy=policy.toml", "--", "touch", "started"), 125)
    assert f"cannot publish port 8000 at 127.0.0.1:{port}: address already in use" in ended.stderr
    assert not (rootless.project / "started").exists()


def test_an_address_that_others_reach_is_warned_of(rootless: Desk):
    with kept() as port:
        rootless.write("policy.toml", f'[[publish]]\nport = 8000\nat = "0.0.0.0:{port}"\n')
        ended = ok(rootless.run("-policy=policy.toml", "--", "true"))
    assert "can be reached from other machines" in ended.stderr


def test_when_the_run_has_ended_nobody_listens_any_more(rootless: Desk):
    with serving(rootless, SERVER) as port:
        fetch(port)  # the control
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_the_agent_reaches_neither_the_address_outside_nor_a_service_of_the_hosts(at: Desk):
    """The port is a way in, and no way out: the agent's own connections meet the mediator, as ever."""
    with socket.create_server(("0.0.0.0", 0)) as host, kept() as outside:
        service = host.getsockname()[1]
        at.write("policy.toml", f'[[publish]]\nport = {service}\nat = "127.0.0.1:{outside}"\n')
        at.write(
            "attack.py",
            "import socket, sys\n"
            "for address in ('127.0.0.1', '::1', '10.200.1.1', '10.200.1.2', 'localhost'):\n"
            "    for port in map(int, sys.argv[1:]):\n"
            "        try:\n"
            "            s = socket.create_connection((address, port), 3); s.sendall(b'x'); s.settimeout(2)\n"
            "            print('REACHED' if s.recv(1) else 'closed')\n"
            "        except OSError: print('refused')\n",
        )
        ended = ok(at.run("-policy=policy.toml", "--", "python3", "attack.py", str(outside), str(service)))
        host.setblocking(False)
        with pytest.raises(BlockingIOError):
            host.accept()
        socket.create_connection(("127.0.0.1", service)).close()  # the control: from outside it is there
    assert set(ended.stdout.split()) <= {"refused", "closed"}

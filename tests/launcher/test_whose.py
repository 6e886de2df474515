"""Whose a connection is: found by the kernel's number of its socket, within a bound, or unknown."""

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from launcher import whose
from launcher.plan import AGENT_V4
from launcher.supervise import Boundary
from launcher.whose import UNKNOWN, Finder, inode
from tests.launcher.rig import WHO, python

CLIENT = """
import socket, sys
made = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(made.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["127.0.0.1", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.socket(family) as made:
        made.bind((request.param, 0))
        made.listen()
        yield made


def test_the_process_that_connected_is_named_and_not_the_one_that_accepted(listener: socket.socket) -> None:
    address, port = listener.getsockname()[:2]
    argv = [sys.executable, "-c", CLIENT, address, str(port)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        accepted, peer = listener.accept()
        with accepted:
            found = Finder().whose(peer[:2], (address, port))
            other_end = Finder().whose((address, port), peer[:2])
        client.communicate()
    assert (found.pid, found.program) == (client.pid, os.path.realpath(sys.executable))
    assert " ".join(found.arguments).startswith(f"{sys.executable} -c")
    assert other_end.pid == os.getpid()


def test_a_connection_that_nobody_made_is_unknown() -> None:
    assert inode(("127.0.0.1", 1), ("127.0.0.1", 2)) == 0
    assert Finder().whose(("127.0.0.1", 1), ("127.0.0.1", 2)) == UNKNOWN


def test_looking_ends_at_its_bound(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    address, port = listener.getsockname()[:2]
    with socket.create_connection((address, port)) as made:
        near = made.getsockname()[:2]
        assert Finder().whose(near, (address, port)).pid == os.getpid()
        monkeypatch.setattr(whose, "MAX_LOOKED", 0)
        assert Finder().whose(near, (address, port)) == UNKNOWN


def test_arguments_are_cut_and_any_bytes_of_them_pass(listener: socket.socket) -> None:
    address, port = listener.getsockname()[:2]
    argv = [sys.executable, "-c", CLIENT, address, str(port), b"\xff", "x" * 5000]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        accepted, peer = listener.accept()
        found = Finder().whose(peer[:2], (address, port))
        accepted.close()
        client.communicate()
    assert "\udcff" in found.arguments
    assert sum(len(word) + 1 for word in found.arguments) == whose.MAX_ARGUMENTS + 1


def test_it_serves_until_the_process_has_ended_and_after_whoever_asks_is_gone() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = subprocess.Popen(["sleep", "60"])
    ended = os.pidfd_open(child.pid)
    server = os.fork()
    if server == 0:
        ours.close()
        whose.serve(theirs, ended)
        os._exit(7)
    theirs.close()
    with ours:
        whose.ask(ours, ("127.0.0.1", 1), ("127.0.0.1", 2))
        assert whose.answer(ours) == UNKNOWN
        whose.ask(ours, ("no address", 1), ("127.0.0.1", 2))
        assert whose.answer(ours) == UNKNOWN
    serving = os.pidfd_open(server)
    assert not select.select([serving], [], [], 0.1)[0]
    child.kill()
    child.wait()
    assert os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]) == 7
    os.close(serving)
    os.close(ended)


AGENT = """
import os, socket, subprocess, sys, time
if len(sys.argv) < 2:
    subprocess.run([sys.executable, sys.argv[0], "second"])
made = socket.create_connection(("192.0.2.1", 443), source_address=("", 40001))
made.recv(100)
open("ready", "w").close()
time.sleep(60)
"""


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_the_agents_process_is_named_by_the_number_that_it_sees(who: str) -> None:
    def during(boundary: Boundary) -> None:
        channel = boundary.whose()
        while not os.path.exists(os.path.join(boundary._plan.workdir, "ready")):
            time.sleep(0.01)
        whose.ask(channel, (AGENT_V4, 40001), ("192.0.2.1", 443))
        os.write(2, repr(tuple(whose.answer(channel) or ())).encode())
        boundary.kill("done")

    again = "import os, sys; os.execv(sys.executable, [sys.executable, 'agent.py'])"
    result = python(f"open('agent.py', 'w').write({AGENT!r}); {again}", during=during, who=who)
    assert result.error == ""
    assert result.err.startswith("(3, "), result.err
    assert result.err.endswith("'agent.py', 'second'))"), result.err


@pytest.mark.parametrize("asked", [True, False])
def test_the_channel_is_given_back_with_the_boundary(*, asked: bool) -> None:
    def during(boundary: Boundary) -> None:
        if asked:
            assert boundary.whose() is boundary.whose()
        boundary.kill("done")

    def after(boundary: Boundary) -> int:
        boundary.close()
        boundary.close()
        return boundary.whose().fileno()

    result = python("import time; time.sleep(60)", during=during, after=after)
    assert result.error == ""
    assert result.found == -1

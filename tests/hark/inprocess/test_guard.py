"""What Python code reaches for past the redirection, tried for real: refused, kept, and let go after."""

import _socket
import os
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hark.inprocess.guard import Guard, Refused
from tests.hark.inprocess.rig import guarded


def raw(family: int, kind: int, address: object) -> None:
    """Connect by the class below that of the socket module."""
    sock = _socket.socket(family, kind)
    try:
        sock.settimeout(2)
        sock.connect(address)
    finally:
        sock.close()


def send(address: object) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", address)


def bind(address: str) -> None:
    """Listen by the class below that of the socket module."""
    sock = _socket.socket(_socket.AF_INET6 if ":" in address else _socket.AF_INET, _socket.SOCK_STREAM)
    try:
        sock.bind((address, 0))
    finally:
        sock.close()


ATTACKS = {
    "an address": lambda: raw(_socket.AF_INET, _socket.SOCK_STREAM, ("192.0.2.1", 443)),
    "a datagram": lambda: send(("192.0.2.1", 53)),
    "a local socket": lambda: raw(_socket.AF_UNIX, _socket.SOCK_STREAM, "/run/nobody.sock"),
    "a name": lambda: _socket.getaddrinfo("nobody.example", 80),
    "another name": lambda: _socket.gethostbyname("nobody.example"),
    "a program": lambda: subprocess.run(["true"], check=True),
    "a shell": lambda: os.system("true"),
    "a spawned program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "a shell that ends in a name": lambda: os.system("true /bin/uname"),
    "a program of that name": lambda: subprocess.run(
        ["uname"], env={"LD_PRELOAD": "/nowhere.so"}, check=False, stderr=subprocess.DEVNULL
    ),
    "all addresses": lambda: bind("0.0.0.0"),
    "all addresses of both": lambda: bind("::"),
    "no address": lambda: bind(""),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_what_passes_the_redirection_by_is_refused_and_kept(attack: Callable[[], object]) -> None:
    with guarded() as guard:
        with pytest.raises(Refused):
            attack()
        assert len(guard.refusals) == 1
    with suppress(OSError):
        attack()  # the control: nothing is refused any more, and most of it goes wrong by itself
    assert len(guard.refusals) == 1


def test_ones_own_server_is_reached_and_that_of_a_stranger_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, guarded() as guard:
        raw(_socket.AF_INET, _socket.SOCK_STREAM, server.getsockname())
        assert guard.refusals == []
        with pytest.raises(Refused, match=r"127\.0\.0\.1:9"):
            raw(_socket.AF_INET, _socket.SOCK_STREAM, ("127.0.0.1", 9))


def test_what_the_machine_says_of_itself_may_be_asked_and_the_loopback_be_listened_at() -> None:
    with guarded() as guard:
        subprocess.run(["uname", "-r"], check=True, stdout=subprocess.DEVNULL)
        bind("127.0.0.1")
        bind("::1")
        assert guard.refusals == []


def test_a_program_that_is_named_may_be_started_and_another_may_not(tmp_path: Path) -> None:
    with guarded("true") as guard:
        subprocess.run(["true"], check=True)
        assert guard.refusals == []
        with pytest.raises(Refused, match="name it in the marker's programs"):
            subprocess.run(["touch", tmp_path / "x"], check=True)
    assert not (tmp_path / "x").exists()


def test_a_process_that_the_test_forked_reaches_nothing() -> None:
    guard = Guard()
    guard.check_process()
    child = os.fork()
    if child == 0:
        try:
            guard.check_process()
        except Refused:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

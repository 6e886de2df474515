"""What sockets hold, by every family in which an agent can hold much without a page of its own."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from launcher import buffers
from launcher.buffers import REST, Buffers, held
from tests.launcher.rig import apart

LEAST = 100_000


def seen_and_gone(work: Callable[[], tuple[int, int, int]]) -> None:
    """Require that what `work` fills is counted, and gone afterwards: bytes before, when full, and after."""
    for _ in range(3):  # others use sockets on this machine too
        before, full, after = apart(work)
        if full - before > LEAST > after - before:
            return
    pytest.fail(f"{before}, {full}, {after}")


def filled(family: str, stack: ExitStack) -> None:
    """Fill one socket of a family whose other end does not read."""
    if family == "unix":
        one, other = socket.socketpair()
    elif family == "unix datagrams":
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    else:
        address = "127.0.0.1" if family.endswith("4") else "::1"
        kind = socket.SOCK_STREAM if family.startswith("tcp") else socket.SOCK_DGRAM
        other = socket.socket(socket.AF_INET if family.endswith("4") else socket.AF_INET6, kind)
        other.bind((address, 0))
        if kind == socket.SOCK_STREAM:
            other.listen()
        one = socket.socket(other.family, kind)
        one.connect(other.getsockname()[:2])
    stack.enter_context(one)
    stack.enter_context(other)
    one.setblocking(False)
    try:
        for _ in range(10_000):
            one.send(bytes(1024))
    except BlockingIOError:
        pass


@pytest.mark.parametrize("family", ["unix", "unix datagrams", "tcp4", "tcp6", "udp4", "udp6"])
def test_what_nobody_reads_is_counted_until_it_is_gone(family: str) -> None:
    def work() -> tuple[int, int, int]:
        before = held()
        with ExitStack() as stack:
            filled(family, stack)
            full = held()
        return before, full, held()

    seen_and_gone(work)


def test_a_socket_that_is_under_way_is_counted_though_nobody_holds_it() -> None:
    def work() -> tuple[int, int]:
        before = held()
        one, other = socket.socketpair()
        with one, other:
            with ExitStack() as stack:
                filled("unix", stack)
                ours, theirs = socket.socketpair()
                ours.setblocking(False)
                with theirs:
                    ours.send(bytes(LEAST))
                    socket.send_fds(one, [b"x"], [ours.fileno(), theirs.fileno()])
                ours.close()
            return before, held()

    before, after = apart(work)
    assert after - before > LEAST


def test_many_sockets_do_not_keep_process_1_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next look waits for as many times as long as the last one took."""
    times: Iterator[float] = iter((10.0, 11.0, 11.0 + REST - 1, 11.0 + REST, 12.0 + REST))
    asked: list[int] = []
    monkeypatch.setattr(buffers, "held", lambda: asked.append(1) or len(asked))
    looked = Buffers(lambda: next(times))
    assert [looked.look(), looked.look(), looked.look()] == [1, 1, 2]


def test_a_kernel_that_cannot_say_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_PROTOCOL", 31)
    assert held() == 0


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM])
@pytest.mark.parametrize("size", [1, 1024])
def test_what_a_sender_that_is_gone_has_left_is_counted_at_its_receiver(kind: int, size: int) -> None:
    def work() -> tuple[int, int, int]:
        before = held()
        with ExitStack() as stack:
            for _ in range(8):
                one, other = socket.socketpair(socket.AF_UNIX, kind)
                stack.enter_context(other)
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    for _ in range(10_000):
                        one.send(bytes(size))
                one.close()
            full = held()
        return before, full, held()

    seen_and_gone(work)


def test_the_control_a_listener_with_connections_that_wait_holds_next_to_nothing() -> None:
    def work() -> tuple[int, int]:
        before = held()
        with ExitStack() as stack:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind("")  # a name of the kernel's choice
            server.listen(64)
            for _ in range(64):
                stack.enter_context(socket.socket(socket.AF_UNIX)).connect(server.getsockname())
            return before, held()

    for _ in range(3):
        before, full = apart(work)
        if full - before < LEAST:
            return
    pytest.fail(f"{before}, {full}")

"""The stub that joins the agent's client to the door."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mediator.mcp import stub


@contextmanager
def started(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the stub as its wrapper does."""
    argv = [sys.executable, "-I", "-S", stub.__file__, "127.0.0.1", str(port)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def test_bytes_pass_both_ways_and_each_end_is_seen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, started(listener.getsockname()[1]) as process:
        door, _ = listener.accept()
        with door:
            process.stdin.write(b"question\n" * 100_000)
            process.stdin.close()
            got = b""
            while piece := door.recv(1 << 16):
                got += piece
            assert got == b"question\n" * 100_000
            door.sendall(b"answer\n" * 100_000)
        assert process.stdout.read() == b"answer\n" * 100_000
        assert process.wait(60) == 0


def test_it_ends_when_the_door_closes_though_its_input_goes_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, started(listener.getsockname()[1]) as process:
        listener.accept()[0].close()
        assert process.wait(60) == 0


def test_a_door_that_is_closed_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with started(port) as process:
        assert process.wait(60) == 1
        assert process.stderr.read().startswith(b"hark: ")

"""What is closed beside something else is closed."""

import os
import threading

import pytest

from launcher.beside import close_beside
from tests.support.waiting import until


def is_closed(reading: int) -> bool:
    """Whether nobody holds the other end of a pipe."""
    os.set_blocking(reading, False)
    try:
        return os.read(reading, 1) == b""
    except BlockingIOError:
        return False


def test_it_is_closed_soon() -> None:
    pipes = [os.pipe() for _ in range(2)]
    assert not any(is_closed(read) for read, _ in pipes)
    close_beside(*(write for _, write in pipes))
    until(lambda: all(is_closed(read) for read, _ in pipes))
    for read, _ in pipes:
        os.close(read)


def test_it_is_closed_at_once_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    read, write = os.pipe()
    close_beside(write)
    assert is_closed(read)
    os.close(read)

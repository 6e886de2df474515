"""What standard input becomes: a copy that is recorded first, a pipe of ours, or what it was."""

import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launcher import intake
from launcher.intake import Kind, settle
from tests.launcher.rig import apart, without


def with_input(descriptor: int, work: Callable[[], Any], change: Callable[[], None] | None = None) -> Any:
    """What `work` returns in a process whose standard input is `descriptor`."""

    def there() -> Any:
        os.dup2(descriptor, 0)
        return work()

    return apart(there, who="root" if os.geteuid() == 0 else "ordinary user", change=change)


def kind() -> Kind:
    return settle(None).kind


def test_dev_null_stays_and_pipes_sockets_and_devices_are_pumped() -> None:
    read, _write = os.pipe()
    ours, theirs = socket.socketpair()
    with open("/dev/null", "rb") as null, open("/dev/zero", "rb") as zero, ours, theirs:
        kinds = [with_input(one, kind) for one in (null.fileno(), zero.fileno(), read, theirs.fileno())]
    assert kinds == [Kind.NULL, Kind.PIPE, Kind.PIPE, Kind.PIPE]


@pytest.mark.parametrize(("mode", "expected"), [("rb", Kind.FILE), ("rb+", Kind.FILE), ("ab", Kind.PIPE)])
def test_a_file_is_copied_unless_it_can_be_written(tmp_path: Path, mode: str, expected: Kind) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"x")
    with path.open(mode) as file:
        assert with_input(file.fileno(), kind) is expected


def test_a_file_that_is_too_large_is_pumped(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"123456")
    with path.open("rb") as file:
        assert with_input(file.fileno(), kind, without(intake, "MAX_COPY", 5)) is Kind.PIPE
        assert with_input(file.fileno(), kind, without(intake, "MAX_COPY", 6)) is Kind.FILE


def copied() -> tuple[list[Any], bytes, str, int]:
    taken = settle(None)
    seen: list[Any] = []
    taken.record_copy(lambda *event: seen.append(event) or True)
    assert taken.inner is not None
    data = os.read(taken.inner, 2)
    try:
        os.write(os.open(f"/proc/self/fd/{taken.inner}", os.O_WRONLY), b"z")
        wrote = "wrote"
    except PermissionError:
        wrote = "refused"
    taken.close()
    return seen, data, wrote, os.lseek(0, 0, os.SEEK_CUR)


def test_a_copy_is_recorded_whole_begins_where_the_file_stood_and_takes_it_along() -> None:
    with tempfile.TemporaryFile() as writable:
        writable.write(b"abcdefgh")
        writable.flush()
        descriptor = os.open(f"/proc/self/fd/{writable.fileno()}", os.O_RDONLY)
        os.lseek(descriptor, 3, os.SEEK_SET)
        seen, data, wrote, position = with_input(descriptor, copied)
        os.close(descriptor)
    assert seen == [
        ("stdin-offset", b"3", False),
        ("stdin-file", b"abcdefgh", False),
        ("stdin-file", b"", True),
    ]
    assert (data, wrote, position) == (b"de", "refused", 5)


def test_a_copy_that_is_not_recorded_stops_there() -> None:
    def work() -> list[Any]:
        seen: list[Any] = []
        settle(None).record_copy(lambda *event: bool(seen.append(event)))
        return seen

    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(200_000))
        file.flush()
        with open(file.name, "rb") as reader:
            seen = with_input(reader.fileno(), work)
    assert [(source, len(data)) for source, data, _end in seen] == [("stdin-file", intake.PIECE)]


def test_the_agents_side_holds_no_way_to_feed_it() -> None:
    def work() -> list[bool]:
        taken = settle(None)
        inner, feed = taken.inner, taken.feed
        taken.enter()
        return [os.path.exists(f"/proc/self/fd/{number}") for number in (inner, feed)]

    read, write = os.pipe()
    assert with_input(read, work) == [False, False]
    os.close(read)
    os.close(write)


def test_who_stands_by_lets_go_of_it() -> None:
    def work() -> str:
        intake.let_go()
        return os.readlink("/proc/self/fd/0")

    read, write = os.pipe()
    assert with_input(read, work) == "/dev/null"
    os.close(read)
    os.close(write)

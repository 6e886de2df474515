"""Messages and packed files survive the trip."""

import os
import socket
from collections.abc import Iterator

import pytest

from launcher import wire


@pytest.fixture
def channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def test_fields_of_any_text_arrive_as_sent(channel: tuple[socket.socket, socket.socket]) -> None:
    fields = ("", "a b\nc\t", "\udcff not utf-8")
    wire.send(channel[0], "word", *fields)
    assert wire.receive(channel[1]) == wire.Message("word", fields)


def test_descriptors_arrive_and_are_not_inherited(channel: tuple[socket.socket, socket.socket]) -> None:
    read, write = os.pipe()
    wire.send(channel[0], "word", descriptors=(write,))
    message = wire.receive(channel[1])
    os.write(message.descriptors[0], b"x")
    assert os.read(read, 1) == b"x"
    assert not os.get_inheritable(message.descriptors[0])
    for descriptor in (read, write, *message.descriptors):
        os.close(descriptor)


def test_the_other_ends_death_is_an_empty_word(channel: tuple[socket.socket, socket.socket]) -> None:
    channel[0].close()
    assert wire.receive(channel[1]).word == ""


def test_the_death_of_an_end_that_has_not_read_everything_is_an_empty_word_too(
    channel: tuple[socket.socket, socket.socket],
) -> None:
    wire.send(channel[1], "never read")
    channel[0].close()
    assert wire.receive(channel[1]).word == ""


def test_messages_keep_their_bounds(channel: tuple[socket.socket, socket.socket]) -> None:
    wire.send(channel[0], "one")
    wire.send(channel[0], "two", "x" * 100_000)
    assert wire.receive(channel[1]).word == "one"
    assert wire.receive(channel[1]).fields == ("x" * 100_000,)


@pytest.mark.parametrize(
    "files", [{}, {"/a": b""}, {"/a\udcff": b"\0" * 300_000, "/b": b"x"}], ids=["no", "one", "two"]
)
def test_files_are_unpacked_as_they_were_packed(files: dict[str, bytes]) -> None:
    assert wire.unpack_files(wire.pack_files(files)) == files

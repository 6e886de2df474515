"""What is written in one go, and what stays apart."""

import contextlib

from mitmproxy.connection import Client, Server
from mitmproxy.proxy import commands
from mitmproxy.proxy.layer import CommandGenerator

from mediator.together import together

AGENT = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
SERVER = Server(address=("127.0.0.1", 3))


def test_parts_for_one_connection_are_one_piece_and_others_keep_their_order() -> None:
    close = commands.CloseConnection(AGENT)

    def parts() -> CommandGenerator[None]:
        yield commands.SendData(AGENT, b"head ")
        yield commands.SendData(AGENT, b"body")
        yield commands.SendData(SERVER, b"other")
        yield commands.SendData(AGENT, b"end")
        yield close

    done = list(together(parts()))
    assert [(one.connection, one.data) for one in done if isinstance(one, commands.SendData)] == [
        (AGENT, b"head body"),
        (SERVER, b"other"),
        (AGENT, b"end"),
    ]
    assert done[-1] is close


def test_nothing_waits_for_a_later_event() -> None:
    def parts() -> CommandGenerator[None]:
        yield commands.SendData(AGENT, b"first event of a stream")

    assert [one.data for one in together(parts()) if isinstance(one, commands.SendData)] == [
        b"first event of a stream"
    ]


def test_an_answer_to_a_command_reaches_who_asked() -> None:
    heard = []

    def parts() -> CommandGenerator[None]:
        yield commands.SendData(AGENT, b"before")
        heard.append((yield commands.OpenConnection(SERVER)))

    passed = together(parts())
    assert isinstance(next(passed), commands.SendData)
    assert isinstance(next(passed), commands.OpenConnection)
    with contextlib.suppress(StopIteration):
        passed.send("no route")
    assert heard == ["no route"]

"""What of a recording is no HTTP, read: who said what, who ended it, and what hark wrote itself."""

from typing import Any

from hark.bundle.events import REFUSED, RUN_ENDED, McpMessage, PolicyLoaded, TunnelData, Unknown
from hark.replay.conversing import lane_of, port_of
from hark.replay.pieces import Changed, Data, End, Failed, Withheld
from hark.replay.recorded import Recording, read
from hark.replay.talks import Talk
from tests.hark.replay.test_recorded import frames

HOST = "db.test:5432"


def up(data: bytes = b"", seq: int = 1, *, end: bool = False, error: str = "") -> TunnelData:
    return TunnelData(1, seq, from_agent=True, data=data, end=end, error=error)


def down(data: bytes = b"", seq: int = 0, *, end: bool = False, error: str = "") -> TunnelData:
    return TunnelData(1, seq, from_agent=False, data=data, end=end, error=error)


def opened(host: str = HOST) -> TunnelData:
    return TunnelData(1, 0, from_agent=True, host=host)


def of(*events: Any) -> Talk:
    (talk,) = read(frames(*events)).talks
    return talk


def test_a_raw_connection_has_the_agents_bytes_as_acts_and_the_servers_as_parts() -> None:
    recording = read(frames(opened(), up(b"ab"), down(b"x"), up(b"c"), up(end=True), down(end=True)))
    (talk,) = recording.talks
    assert (talk.lane, bytes(talk.said)) == (("tunnel", HOST), b"abc")
    assert [upto for upto, _ in talk.acts] == [0, 2, 3]
    assert [(part.seq, part.piece) for part in talk.parts] == [(2, Data(b"x")), (5, End())]
    assert talk.hushed is not None
    assert [action.seq for action in recording.actions if action.blocking] == [0, 1, 3, 4]
    assert (talk.event_at(0), talk.event_at(2), talk.event_at(9)) == (1, 3, 3)


def test_who_ended_a_raw_connection_decides_what_its_end_is() -> None:
    by_server = of(opened(), up(end=True, error="the server reset the connection"))
    assert [part.piece for part in by_server.parts] == [Failed("the server reset the connection")]
    assert by_server.hushed is None
    reset = "the agent reset the connection"
    by_agent = of(opened(), up(end=True, error=reset), down(end=True, error=reset))
    assert [part.piece for part in by_agent.parts] == [Withheld(reset)]
    assert by_agent.hushed is not None
    by_run = of(opened(), up(end=True, error=RUN_ENDED), down(end=True, error=RUN_ENDED))
    assert (by_run.hushed, [part.piece for part in by_run.parts]) == (None, [Withheld(RUN_ENDED)])
    refused = of(opened(), up(b"secret", end=True, error=f"{REFUSED}no"))
    assert (bytes(refused.said), refused.hushed is None, refused.parts) == (b"", False, [])


def test_a_published_connection_is_one_that_the_operators_side_makes() -> None:
    host = "published port 8080 to 127.0.0.1:999"
    recording = read(frames(opened(host), up(b"page")))
    ((part, talk),) = recording.calls
    assert (part.seq, talk.port, talk.lane) == (0, 8080, ("published", host))
    assert (lane_of(host)[0], lane_of(HOST)[0]) == ("published", "tunnel")
    assert (port_of("published port x to y"), port_of("a")) == (0, 0)


def test_a_tool_servers_messages_are_parts_but_for_what_hark_wrote() -> None:
    def mcp(data: bytes, seq: int, *, from_agent: bool = False, note: str = "") -> McpMessage:
        return McpMessage("notes", 3, seq, from_agent, data, note)

    talk = of(
        mcp(b'{"id": 1}', 0, from_agent=True),
        mcp(b"one", 1),
        mcp(b"no", 2, note="answered by hark"),
        mcp(b"", 3, note="the server ended with exit code 3"),
    )
    assert talk.lane == ("mcp", "notes")
    assert bytes(talk.said) == b' 8:{"id":1}\n'
    assert [part.piece for part in talk.parts] == [Data(b"one"), Failed("the server ended with exit code 3")]
    left = of(mcp(b"x", 0, from_agent=True), mcp(b"", 1, note="the agent went away"))
    assert left.hushed is not None
    assert [part.piece for part in of(mcp(b"", 0)).parts] == [End()]


def test_a_policy_after_the_first_is_a_change_and_an_unknown_kind_is_kept() -> None:
    recording: Recording = read(frames(PolicyLoaded("a"), PolicyLoaded("b", raw=b"x"), Unknown(99, b"?")))
    assert [part.piece for part in recording.changes] == [Changed("b", b"x")]
    assert recording.unknown == (2, 99)

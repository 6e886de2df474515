"""Calls that wait for their results."""

import pytest

from mediator.mcp import sessions
from mediator.mcp.sessions import Key, Sessions, Waiting

OWN: Key = ("h:443", "exchange", "7")
SESSION: Key = ("h:443", "session", "s")


def test_a_result_is_found_by_any_key_and_once() -> None:
    one = Sessions()
    call = Waiting(7, "t", 1, (OWN, SESSION))
    for key in (OWN, SESSION):
        one.ask(call)
        assert one.answer((key,), 1) is call
        assert one.answer((OWN, SESSION), 1) is None


def test_a_session_is_known_at_the_path_where_it_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sessions()
    begun = sessions.session_at("h:443", b"/mcp", ((b"Mcp-Session-Id", b"s"),))
    assert begun is not None
    assert not one.has_begun(begun)
    one.begin(begun)
    assert one.has_begun(begun)
    for place, path, headers in (
        ("i:443", b"/mcp", ((b"mcp-session-id", b"s"),)),
        ("h:443", b"/items/s", ((b"mcp-session-id", b"s"),)),
        ("h:443", b"/mcp", ((b"mcp-session-id", b"t"),)),
        ("h:443", b"/mcp", ((b"mcp-session-id", b"s"), (b"mcp-session-id", b"s"))),
        ("h:443", b"/mcp", ()),
    ):
        other = sessions.session_at(place, path, headers)
        assert other is None or not one.has_begun(other)
    monkeypatch.setattr(sessions, "MAX_BEGUN", 1)
    one.begin(("h", "begun", "other"))
    assert not one.has_begun(begun)


def test_neither_another_id_nor_another_key_finds_it() -> None:
    one = Sessions()
    one.ask(Waiting(7, "t", 1, (OWN,)))
    assert one.answer((OWN,), "1") is None
    assert one.answer((SESSION,), 1) is None


def test_of_too_many_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_WAITING", 2)
    one = Sessions()
    for number in range(3):
        one.ask(Waiting(number, "t", number, (SESSION,)))
    assert [one.answer((SESSION,), number) is not None for number in range(3)] == [False, True, True]

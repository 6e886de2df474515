"""What differs inside two actions."""

from hark.bundle import events as ev
from hark.diff.align import rows
from hark.diff.detail import MOVED, changes
from hark.diff.side import Side
from tests.support import recordings


def exchange(body, status=200, sent=b"{}"):
    return (
        ev.LlmRequest("api.example", "POST", "/v1", {}, sent, exchange=1),
        ev.LlmResponseChunk(0, body, exchange=1),
        ev.LlmResponseEnd(status, {}, 1, exchange=1),
    )


def told(tmp_path, one, other):
    first, second = (
        recordings.bundle(tmp_path / name, *events) for name, events in (("a.hark", one), ("b.hark", other))
    )
    with Side(first) as a, Side(second) as b:
        return [changes(row, a, b) for row in rows(a.streams, b.streams) if not row.equal]


def test_equal_bundles_have_no_row_that_differs(tmp_path):
    assert told(tmp_path, exchange(b"{}"), exchange(b"{}")) == []


def test_one_byte_of_an_answer_is_found_at_its_path(tmp_path):
    ((change,),) = told(tmp_path, exchange(b'{"a":{"b":"x"}}'), exchange(b'{"a":{"b":"y"}}'))
    assert change == ("answer $.a.b", "differs at character 0", ("-x", "+y"))


def test_a_status_and_a_request_that_differ_are_named(tmp_path):
    ((status,),) = told(tmp_path, exchange(b"{}"), exchange(b"{}", 404))
    assert status[:2] == ("status", "was 200 and is 404")
    ((body,),) = told(tmp_path, exchange(b"{}", sent=b'{"m":1}'), exchange(b"{}", sent=b'{"m":2}'))
    assert body == ("request $.m", "differs", ("-1", "+2"))


def test_a_run_that_ended_otherwise_says_how(tmp_path):
    path = recordings.bundle(tmp_path / "a.hark")
    other = recordings.bundle(tmp_path / "b.hark", end=recordings.RunEnd(exit_code=3, reason="exit"))
    with Side(path) as a, Side(other) as b:
        (row,) = [row for row in rows(a.streams, b.streams) if not row.equal]
        ((change),) = changes(row, a, b)
    assert change[:2] == ("outcome", "was exit, exit code 0 and is exit, exit code 3")


def test_an_action_that_moved_says_so(tmp_path):
    one, other = ev.Checkpoint("one", b"1"), ev.Checkpoint("two", b"2")
    ((change,),) = told(tmp_path, (one, other), (other, one))
    assert change == ("order", MOVED, ())


def test_what_was_asked_is_read_again_only_where_it_differs(tmp_path, monkeypatch):
    content, seen = Side.content, []

    def noted(side, action, *, asked=True):
        seen.append(asked)
        return content(side, action, asked=asked)

    monkeypatch.setattr(Side, "content", noted)
    told(tmp_path, exchange(b'{"a":1}'), exchange(b'{"a":2}'))
    assert seen == [False, False]
    (tmp_path / "more").mkdir()
    told(tmp_path / "more", exchange(b"{}", sent=b"1"), exchange(b"{}", sent=b"2"))
    assert seen[2:] == [True, True]

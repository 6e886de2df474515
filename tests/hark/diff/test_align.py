"""Which action of one run stands for which of the other."""

from hark.diff.align import Row, rows
from hark.replay.actions import Action, Streams


def streams(*actions):
    found: dict[str, list[Action]] = {}
    for seq, (stream, value) in enumerate(actions):
        found.setdefault(stream, []).append(Action(stream, seq, 0, (("body", value),)))
    return Streams(found, None)


def told(one, other):
    return [(row.was and row.was.seq, row.now and row.now.seq, row.equal) for row in rows(one, other)]


def test_what_raced_is_no_difference():
    one = streams(("a", b"1"), ("b", b"2"), ("a", b"3"))
    other = streams(("b", b"2"), ("a", b"1"), ("a", b"3"))
    assert told(one, other) == [(0, 1, True), (1, 0, True), (2, 2, True)]


def test_the_order_within_a_stream_is():
    one, other = streams(("a", b"1"), ("a", b"3")), streams(("a", b"3"), ("a", b"1"))
    assert [equal for _, _, equal in told(one, other)].count(True) == 1


def test_an_action_in_between_leaves_the_others_equal():
    one = streams(("a", b"1"), ("a", b"2"), ("end", b""))
    other = streams(("a", b"1"), ("a", b"new"), ("a", b"2"), ("end", b""))
    assert told(one, other) == [(0, 0, True), (None, 1, False), (1, 2, True), (2, 3, True)]
    assert told(other, one) == [(0, 0, True), (1, None, False), (2, 1, True), (3, 2, True)]


def test_a_request_that_differs_is_changed_where_one_of_its_name_is_left():
    one = streams(("request POST h/p\0k1", b"1"), ("request POST h/p\0k2", b"1"))
    other = streams(
        ("request POST h/p\0k1", b"1"), ("request POST h/p\0k3", b"1"), ("request GET h/q\0k", b"")
    )
    assert told(one, other) == [(0, 0, True), (1, 1, False), (None, 2, False)]


def test_a_row_without_sides_has_no_action():
    assert not Row(None, None).equal

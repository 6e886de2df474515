"""How bodies differ: by path, line and byte, and never with what a terminal would act on."""

import json

from hark.diff.order import Effort
from hark.diff.texts import MAX_LINES, of_bodies, of_text


def told(was, now):
    return list(of_bodies("answer", was, now))


def test_json_is_told_by_path_and_an_item_put_in_front_moves_no_other():
    was = json.dumps({"messages": [{"text": "a"}, {"text": "b"}], "n": 1}).encode()
    now = json.dumps({"messages": [{"text": "new"}, {"text": "a"}, {"text": "b"}], "n": True}).encode()
    assert told(was, now) == [
        ("answer $.messages[0]", "is new", ('+{"text":"new"}',)),
        ("answer $.n", "differs", ("-1", "+true")),
    ]
    assert told(was, was) == []


def test_members_that_came_and_went_are_told():
    assert told(b'{"a":1}', b'{"b":1}') == [
        ("answer $.a", "is missing", ("-1",)),
        ("answer $.b", "is new", ("+1",)),
    ]


def test_text_is_told_by_its_lines_and_long_lines_around_the_place():
    (change,) = told(b"one\ntwo\nthree", b"one\n2\nthree")
    assert change.lines == ("@@ line 1", " one", "-two", "+2", " three")
    (change,) = told(b"x" * 500 + b"a", b"x" * 500 + b"b")
    assert change.words == "differs at character 500"
    assert change.lines == ("-..." + "x" * 30 + "a", "+..." + "x" * 30 + "b")


def test_bytes_are_told_by_their_offset():
    (change,) = told(b"\0abc\xff", b"\0abd\xff")
    assert change.words == "differs at byte 3 (of 5, and of 5)"


def test_hostile_text_is_escaped_and_bounded():
    change = of_text("answer", "a\n" * 2000, "\x1b]0;x\x07\n" * 2000)
    assert len(change.lines) == MAX_LINES + 1
    assert all(line.isprintable() for line in change.lines)
    assert any("\\e]0;x" in line for line in change.lines) or change.lines[-1].startswith("@@ and")
    (change,) = told(b"[" * 1_000_000, b"[" * 999_999 + b"{")
    assert change.words == "differs at character 999999"
    (big,) = told(b"a" * (5 << 20), b"a" * (5 << 20) + b"\x1b")
    assert all(line.isprintable() for line in big.lines)
    (line,) = [line for line in told(b'{"a":"x"}', b'{"a":"\\u001b[2J"}')[0].lines if line[0] == "+"]
    assert line == "+\\e[2J"


def test_where_the_effort_is_spent_bodies_are_compared_by_byte():
    was, now = b'{"a": "one"}', b'{"a": "two"}'
    assert [change.where for change in of_bodies("answer", was, now, Effort())] == ["answer $.a"]
    effort = Effort(1)
    list(of_bodies("answer", was, now, effort))
    (change,) = of_bodies("answer", was, now, effort)
    assert (change.where, change.words) == ("answer", "differs at byte 7 (of 12, and of 12)")

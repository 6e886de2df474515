"""Conversations: which recorded one a replay's stands for, and where what the agent says differs."""

from hark.bundle.events import McpMessage, WebSocketMessage
from hark.replay.marks import Marks
from hark.replay.pieces import Action, Data, End, Failed, Part
from hark.replay.talks import Differs, Talk, Talks, by_value, counting, message

LANE = ("tunnel", "db.test:5432")


def talk(seq: int, said: bytes, *parts: Part) -> Talk:
    """Return a recorded one whose agent opened it, said that in one go, and half-closed."""
    opening, all_of_it = (
        Action(seq, seq, "opening", blocking=True),
        Action(seq + 1, seq, "bytes", blocking=True),
    )
    return Talk(
        LANE,
        seq,
        bytearray(said),
        [(0, opening), (len(said), all_of_it)],
        Action(seq + 5, seq, "end", blocking=True),
        list(parts),
    )


class Told:
    """Talks, and what they tell."""

    def __init__(self, *recorded: Talk) -> None:
        self.gave_up: list[Part] = []
        self.talks = Talks(recorded, self.do, self.undo, self.gave_up.append)

    def do(self, action: Action) -> None:
        action.done = True

    def undo(self, action: Action) -> None:
        action.done = False


def done(one: Talk) -> list[bool]:
    return [action.done for _, action in one.acts] + [bool(one.hushed and one.hushed.done)]


def test_pieces_add_up_whatever_their_borders() -> None:
    one = talk(1, b"hello")
    told = Told(one)
    assert told.talks.begun(7, LANE) is None
    assert done(one) == [True, False, False]
    for byte in b"hello":
        assert told.talks.said(7, bytes((byte,))) is None
    assert done(one) == [True, True, False]
    assert told.talks.hushed(7) is None
    assert done(one) == [True, True, True]
    assert list(told.talks.unconsumed()) == []


def test_the_byte_that_differs_is_named_with_its_event() -> None:
    told = Told(talk(1, b"hello"))
    told.talks.begun(7, LANE)
    found = told.talks.said(7, b"heLlo")
    assert found == Differs(
        "what the agent says in the raw TCP connection to db.test:5432 differs: byte 2 is 0x4c, "
        "and was 0x6c when recorded (event 2)",
        2,
    )


def test_too_much_and_too_little_are_differences() -> None:
    told = Told(talk(1, b"hello"))
    told.talks.begun(7, LANE)
    found = told.talks.said(7, b"hello!!")
    assert found is not None
    assert "2 bytes more than the 5 that were recorded" in found.words
    told = Told(talk(1, b"hello"))
    told.talks.begun(7, LANE)
    told.talks.said(7, b"hell")
    found = told.talks.hushed(7)
    assert found is not None
    assert "after 4 of 5 recorded bytes" in found.words
    (left,) = told.talks.unconsumed()
    assert left.startswith("the agent said 4 of 5 bytes")


def test_what_was_cut_from_outside_may_have_got_further() -> None:
    one = talk(1, b"hello", Part(9, 9, Failed("the server reset the connection")))
    told = Told(one)
    told.talks.begun(7, LANE)
    assert told.talks.said(7, b"hello and more") is None
    assert told.talks.said(7, b"!") is None
    assert Told(talk(1, b"hello")).talks.said(7, b"x") is None


def test_two_that_begin_in_another_order_change_places_when_they_say_which_they_are() -> None:
    first, second = talk(1, b"alpha", Part(20, 0, Data(b"A"))), talk(10, b"bravo", Part(21, 0, Data(b"B")))
    told = Told(first, second)
    for number in (7, 8):
        assert told.talks.begun(number, LANE) is None
    assert told.talks.said(7, b"bra") is None
    live = told.talks.of(7)
    assert live is not None
    assert live.talk is second
    assert {part.piece for part in told.gave_up} == {Data(b"A"), Data(b"B")}
    assert told.talks.said(8, b"alpha") is None
    assert told.talks.said(7, b"vo") is None
    assert done(first)[:2] == done(second)[:2] == [True, True]


def test_one_that_has_got_something_of_its_own_becomes_no_other() -> None:
    first, second = talk(1, b"alpha", Part(0, 0, Data(b"A"))), talk(10, b"bravo", Part(2, 0, Data(b"B")))
    told = Told(first, second)
    told.talks.begun(7, LANE)
    live = told.talks.of(7)
    assert live is not None
    live.at = 1
    assert isinstance(told.talks.said(7, b"bravo"), Differs)
    same = Told(talk(1, b"alpha", Part(0, 0, Data(b"A"))), talk(10, b"bravo", Part(2, 0, Data(b"A"))))
    same.talks.begun(7, LANE)
    live = same.talks.of(7)
    assert live is not None
    live.at = 1
    assert same.talks.said(7, b"bravo") is None


def test_one_more_than_were_recorded_is_a_difference_and_one_less_is_named() -> None:
    told = Told(talk(1, b""))
    assert told.talks.begun(7, LANE) is None
    again = told.talks.begun(8, LANE)
    assert again is not None
    assert "made once more than the 1 times" in again.words
    other = told.talks.begun(9, ("tunnel", "other:1"))
    assert other is not None
    assert "none was recorded" in other.words
    assert list(Told(talk(4, b"")).talks.unconsumed()) == [
        "the raw TCP connection to db.test:5432 (event 4) was not made"
    ]


def test_a_regular_end_that_came_too_late_to_matter_is_used() -> None:
    one = talk(1, b"", Part(3, 0, Data(b"x")), Part(4, 0, End()))
    told = Told(one)
    told.talks.begun(7, LANE)
    live = told.talks.of(7)
    assert live is not None
    assert told.talks.whose(one.parts[0]) is live
    assert list(told.talks.unconsumed()) != []
    live.at = 1
    told.talks.ended(7)
    assert list(told.talks.unconsumed()) == []


def test_a_message_is_compared_by_value_and_none_is_a_beginning_of_another() -> None:
    marks = Marks({})
    assert by_value(b'{"b": 1, "a": 2}', marks) == by_value(b'{"a":2,"b":1}', marks)
    assert by_value(b"{not json", marks) == b"{not json"
    one, two = WebSocketMessage(type="text", data=b"a"), McpMessage(data=b"a", note="refused: x")
    assert message(one, "text", b"a") == b"text 1:a\n"
    assert message(two, "", b"a") == b" refused 1:a\n"
    assert not message(one, "text", b"ab").startswith(message(one, "text", b"a"))


def test_what_is_ignored_in_messages_does_not_count_and_the_rest_does() -> None:
    marks = Marks({}, ignored=(("id",), ("params", "arguments", "trace")))
    one, other = (b'{"id": %d, "params": {"arguments": {"trace": %d, "a": 1}}}' % (n, n) for n in (1, 2))
    assert by_value(one, marks) == by_value(other, marks)
    assert by_value(one, Marks({})) != by_value(other, Marks({}))
    assert by_value(one, marks) != by_value(other.replace(b'"a": 1', b'"a": 2'), marks)
    assert by_value(b"no JSON", marks) == b"no JSON"


def test_arguments_that_are_ignored_whole_leave_nothing() -> None:
    marks = Marks({}, ignored=(("params", "arguments"),))
    assert marks.ignored_arguments == ((),)
    assert counting(b'{"a": 1}', marks.ignored_arguments) == b""

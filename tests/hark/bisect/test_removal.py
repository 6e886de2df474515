"""Patches that take units out: made on the message they leave what was wanted, and read like one by hand."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bisect.message import Message
from hark.bisect.removal import removal
from hark.bisect.units import Level
from hark.errors import PatchError
from hark.patch.changing import Changing
from hark.patch.model import parse_patch
from hark.patch.where import Side


def message(body: str, kind: str = "text/plain") -> Message:
    return Message(((b"content-type", kind.encode()),), body.encode(), Side.RESPONSE)


def steps(one: Message, *texts: str, level: Level = Level.SENTENCE) -> list[dict[str, Any]]:
    """The steps of the patch that takes the units with these texts out."""
    units = [piece for unit in one.units() for piece in one.cut(unit, level)]
    chosen = [unit for unit in units if one.text(unit).strip() in texts]
    return json.loads(removal(one, chosen))["steps"]  # type: ignore[no-any-return]


def test_what_stands_once_is_said() -> None:
    assert steps(message("Hi. Send it. Bye."), "Send it.") == [{"replace": "Send it. ", "with": ""}]


def test_what_stands_twice_is_taken_out_in_the_right_place() -> None:
    page = message("the cat saw the dog in the end")
    units = page.cut(page.units()[0], Level.WORD)
    (step,) = json.loads(removal(page, [units[3]]))["steps"]
    assert step == {"body": "the cat saw dog in the end"}


def test_of_json_each_value_is_set_where_words_do_not_say_which() -> None:
    found = message('{"n": 1.0, "a": "no no no", "b": ["x", "no"]}', "application/json")
    units = found.cut(found.units()[0], Level.WORD)
    assert json.loads(removal(found, units[:1]))["steps"] == [{"set": "/a", "value": "no no"}]


def test_of_a_stream_the_value_of_an_event_is_set() -> None:
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("no n", "o yes")]
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
    found = message(stream, "text/event-stream")
    units = found.cut(found.units()[0], Level.WORD)
    (step,) = json.loads(removal(found, units[:1]))["steps"]
    assert step == {"set": "/choices/0/delta/content", "value": "n", "event": 0}


def test_the_patch_says_its_side_and_why() -> None:
    page = message("Hi. Send it.")
    made = json.loads(removal(page, page.units(), "why"))
    assert (made["on"], made["note"]) == ("response", "why")


def test_a_value_that_no_patch_can_hold_is_left_in_the_body_as_it_is_written() -> None:
    found = message('{"a": "\\ud800 yes yes yes"}', "application/json")
    units = found.cut(found.units()[0], Level.WORD)
    (step,) = json.loads(removal(found, units[1:2]))["steps"]
    assert step == {"body": '{"a": "\\ud800 yes yes"}'}


def test_a_patch_that_would_leave_something_else_is_no_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    page = message("Hi. Send it.")
    monkeypatch.setattr(Message, "without", lambda *_: b"\xff")
    with pytest.raises(PatchError, match="cannot be said"):
        removal(page, page.units())


BODIES = (
    ("text/html", "<div>One. Two two two. One.</div>\n<p>Three. One.</p>"),
    (
        "application/json",
        json.dumps({"a": "One. Two.", "b": {"c": ["One.", "Two. Two."]}, "d": '{"e": "One. Two."}'}),
    ),
    ("text/event-stream", 'data: One. Two.\ndata: Two.\n\ndata: {"a": "One. One."}\n\n'),
)


@pytest.mark.parametrize(("kind", "body"), BODIES)
@pytest.mark.parametrize("level", [Level.SENTENCE, Level.WORD])
@given(data=st.data())
def test_any_units_of_any_body_are_taken_out_and_nothing_else(
    kind: str, body: str, level: Level, data: st.DataObject
) -> None:
    found = message(body, kind)
    units = [piece for unit in found.units() for piece in found.cut(unit, level)]
    chosen = data.draw(st.lists(st.sampled_from(units), min_size=1, unique=True))
    changing = Changing(found.headers, [found.body], status=200)
    changing.run(parse_patch(removal(found, chosen)))
    left = message(changing.body.decode(), kind)
    wanted = message(found.without(chosen).decode(), kind)
    assert [leaf.text for leaf in left.leaves] == [leaf.text for leaf in wanted.leaves]

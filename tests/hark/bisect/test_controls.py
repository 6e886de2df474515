"""Controls: elsewhere, as long, and the same each time."""

import pytest

from hark.bisect.controls import MOST, controls
from hark.bisect.message import Message, Unit
from hark.bisect.units import Level
from hark.patch.where import Side

PAGE = "\n\n".join(f"Sentence {n} is here. And so is this one, number {n}." for n in range(12))


def page(text: str = PAGE) -> Message:
    return Message(((b"content-type", b"text/plain"),), text.encode(), Side.RESPONSE)


def size(units: tuple[Unit, ...]) -> int:
    return sum(unit.end - unit.start for unit in units)


@pytest.mark.parametrize("finest", list(Level))
def test_a_control_is_as_long_and_elsewhere(finest: Level) -> None:
    message = page()
    found = (message.units()[4], message.units()[9])
    made = list(controls(message, found, finest, b"seed"))
    assert len(made) == MOST
    for units in made:
        assert size(found) <= size(units) <= size(found) * 2
        assert not any(unit.start < gone.end and gone.start < unit.end for unit in units for gone in found)
        assert len(message.runs(units)) == 1
    assert len({unit for units in made for unit in units}) == sum(map(len, made))


def test_controls_are_the_same_for_the_same_message() -> None:
    found = page().units()[:1]
    first, second = (list(controls(page(), found, Level.SENTENCE, b"seed")) for _ in range(2))
    assert first == second
    assert first != list(controls(page(), found, Level.SENTENCE, b"other"))


def test_where_there_is_not_so_much_else_there_is_none() -> None:
    message = page("A long sentence that was found, all of it. Short.")
    found = message.cut(message.units()[0], Level.SENTENCE)[:1]
    assert list(controls(message, found, Level.SENTENCE, b"")) == []
    assert list(controls(message, message.units(), Level.SENTENCE, b"")) == []

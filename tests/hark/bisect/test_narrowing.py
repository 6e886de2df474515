"""A span narrowed by levels, on real texts with an oracle that reads what is left."""

from collections.abc import Callable

import pytest

from hark.bisect.ddmin import Candidates, ddmin, probable
from hark.bisect.message import Message, Unit
from hark.bisect.narrowing import Narrowing
from hark.bisect.units import Level
from hark.patch.where import Side

PAGE = "\n\n".join(
    f"Paragraph {number} is dull. It has a second sentence. And a third {word}."
    for number, word in enumerate(["one", "SEND the key", "two", "three", "POST it", "four"])
)


def narrowed(finest: Level, obeys: Callable[[str], bool], search=ddmin) -> tuple[Narrowing, list[str]]:
    page = Message(((b"content-type", b"text/plain"),), PAGE.encode(), Side.RESPONSE)

    def first(candidates: Candidates[Unit]) -> int | None:
        left = (page.without(one).decode() for one in candidates)
        return next((index for index, text in enumerate(left) if not obeys(text)), None)

    narrowing = Narrowing(page, tuple(page.units()), search, finest)
    units = narrowing.run(first)
    return narrowing, [page.text(unit).strip() for unit in units]


@pytest.mark.parametrize("search", [ddmin, probable])
@pytest.mark.parametrize(
    ("finest", "found"),
    [
        (Level.PARAGRAPH, "Paragraph 1 is dull. It has a second sentence. And a third SEND the key."),
        (Level.SENTENCE, "And a third SEND the key."),
        (Level.WORD, "SEND"),
    ],
)
def test_it_stops_at_the_level_that_was_asked_for(finest: Level, found: str, search: object) -> None:
    narrowing, texts = narrowed(finest, lambda text: "SEND" in text, search)
    assert texts == [found]
    assert [one.level for one in narrowing.found] == list(Level)[: list(Level).index(finest) + 1]
    assert narrowing.found[0].among == 6


def test_two_spans_of_which_either_suffices_are_both_found() -> None:
    _, texts = narrowed(Level.SENTENCE, lambda text: "SEND" in text or "POST" in text)
    assert texts == ["And a third SEND the key.", "And a third POST it."]


def test_of_two_spans_that_are_needed_together_one_is_found() -> None:
    _, texts = narrowed(Level.WORD, lambda text: "SEND" in text and "POST" in text)
    assert texts in (["SEND"], ["POST"])


def test_what_did_last_is_known_when_the_search_is_left() -> None:
    page = Message(((b"content-type", b"text/plain"),), PAGE.encode(), Side.RESPONSE)
    asked = 0

    def first(candidates: Candidates[Unit]) -> int | None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise KeyboardInterrupt
        return next((at for at, one in enumerate(candidates) if b"SEND" not in page.without(one)), None)

    narrowing = Narrowing(page, tuple(page.units()), ddmin, Level.WORD)
    with pytest.raises(KeyboardInterrupt):
        narrowing.run(first)
    assert b"SEND" not in page.without(narrowing.best)
    assert len(narrowing.best) < 6

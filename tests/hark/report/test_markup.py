"""The one way by which recorded text gets into a page."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.report import markup
from hark.visible import visible


@given(st.text())
def test_recorded_text_holds_nothing_that_ends_text_or_an_attribute(recorded: str) -> None:
    for made, ends in ((markup.text(recorded), "<>\"'"), (markup.lines(recorded), "<>")):
        assert not set(ends) & set(made)
        assert all(part.startswith(("amp;", "lt;", "gt;", "quot;", "#x27;")) for part in made.split("&")[1:])


@pytest.mark.parametrize("mark", ["\u202e", "\x1b", "\x00", "\u2066", "\u200b"])
def test_what_cannot_be_seen_or_turns_the_text_is_made_visible(mark: str) -> None:
    assert mark not in markup.text(f"a{mark}b")


def test_a_long_text_is_folded_and_one_that_is_longer_still_is_cut_which_is_said() -> None:
    assert "<details" not in markup.block("short")
    assert "<details" in markup.block("x" * (markup.FOLDED + 1))
    cut = markup.block("x" * (markup.MAX_SHOWN + 7))
    assert "7 more characters are in the bundle" in cut
    assert cut.count("x") < 2 * markup.MAX_SHOWN


def test_counts_and_tables() -> None:
    assert (markup.plural(1, "step"), markup.plural(2000, "step")) == ("1 step", "2,000 steps")
    made = markup.table("<b>", ["a"], [["<i>1</i>"]])
    assert "&lt;b&gt;" in made
    assert "<td><i>1</i></td>" in made


@given(st.one_of(st.text(), st.text(alphabet="ab<&>\"'\n\r\t\\ ")))
def test_inside_an_element_nothing_begins_or_ends_one(recorded: str) -> None:
    made = markup.inside(visible(recorded))
    assert not set("<>") & set(made)
    assert markup.lines(recorded) == "\n".join(
        "\t".join(markup.inside(visible(part)) for part in line.split("\t")) for line in recorded.split("\n")
    )
    assert html.unescape(made) == html.unescape(markup.text(recorded)) == visible(recorded)

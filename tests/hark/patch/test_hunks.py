"""How one text becomes another, with as much around it as is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from hark.patch.hunks import Hunk, Spread, hunks


def test_what_differs_is_short_and_never_empty():
    assert hunks("say hello now", "say bye now", Spread.BARE) == [Hunk("hello", "bye")]
    assert hunks("say now", "say it now", Spread.BARE) == [Hunk(" n", " it n")]
    assert hunks("say now", "say now!", Spread.BARE) == [Hunk("w", "w!")]
    assert hunks("same", "same", Spread.BARE) == []
    assert hunks("", "new", Spread.WHOLE) == []


def test_each_place_is_one_of_its_own_by_line():
    old, new = "a1\nb\nc\nd\ne1\n", "a2\nb\nc\nd\ne2\n"
    assert hunks(old, new, Spread.BARE) == [Hunk("1", "2"), Hunk("1", "2")]
    assert hunks(old, new, Spread.WHOLE) == [Hunk(old, new)]
    assert hunks("a1\nb\nc1\n", "a2\nb\nc2\n", Spread.BARE) == [Hunk("1\nb\nc1", "2\nb\nc2")]


def test_there_is_as_much_around_it_as_is_asked_for():
    old = "x" * 100 + "hello" + "y" * 100
    (found,) = hunks(old, old.replace("hello", "bye"), Spread.WORDS)
    assert found == Hunk("x" * 24 + "hello" + "y" * 24, "x" * 24 + "bye" + "y" * 24)


def test_many_lines_are_one_stretch():
    old = "line\n" * 20_000
    assert hunks(f"{old}a", f"{old}b", Spread.BARE) == [Hunk("a", "b")]


@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=30), st.sampled_from(Spread))
def test_made_at_their_places_they_lead_from_one_to_the_other(old, new, spread):
    made, at = "", 0
    for one in hunks(old, new, Spread.WHOLE if spread is Spread.WHOLE else spread):
        assert one.old in old
        assert one.old != one.new
        made += one.new
        at += 1
    assert (at > 0) is (old != new and old != "")
    if spread is Spread.WHOLE and at:
        assert made == new

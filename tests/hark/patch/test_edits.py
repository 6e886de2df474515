"""Edits change what they name and nothing else, and stay in the chunk in which they begin."""

from hypothesis import given
from hypothesis import strategies as st

from hark.patch.edits import Edit, across, each, edited
from tests.hark.patch.rig import cut


def test_an_edit_stays_in_the_chunk_in_which_it_begins():
    chunks = [b"abc", b"def", b"ghi"]
    assert across(chunks, [Edit(1, 5, b"XY")]) == [b"aXY", b"f", b"ghi"]
    assert across(chunks, [Edit(3, 9, b"")]) == [b"abc", b"", b""]
    assert across(chunks, [Edit(9, 9, b"!")]) == [b"abc", b"def", b"ghi!"]
    assert across([b"abc", b""], [Edit(3, 3, b"!")]) == [b"abc!", b""]
    assert across(chunks, [Edit(0, 1, b"A"), Edit(3, 3, b"-")]) == [b"Abc", b"-def", b"ghi"]
    assert across([], []) == []


def test_each_goes_from_left_to_right():
    assert each(b"aaaa", b"aa", b"b") == [Edit(0, 2, b"b"), Edit(2, 4, b"b")]
    assert each(b"abc", b"x", b"") == []


def test_an_edit_is_moved():
    assert Edit(1, 2, b"x").moved(3) == Edit(4, 5, b"x")


@given(
    st.binary(max_size=60),
    st.binary(min_size=1, max_size=2),
    st.binary(max_size=5),
    st.lists(st.integers(0, 99)),
)
def test_what_is_edited_in_chunks_is_what_is_edited_whole(text, old, new, places):
    edits = each(text, old, new)
    made = across(cut(text, places), edits)
    assert b"".join(made) == edited(text, edits) == text.replace(old, new)
    assert len(made) == len(cut(text, places))


@given(st.binary(max_size=40), st.lists(st.integers(0, 99)))
def test_without_edits_every_chunk_is_as_it_was(text, places):
    assert across(cut(text, places), []) == cut(text, places)

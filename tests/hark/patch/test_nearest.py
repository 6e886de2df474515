"""What is nearest is found in bounded time, and safe to print."""

import time

from hypothesis import given
from hypothesis import strategies as st

from hark.patch import nearest


def test_the_stretch_with_most_in_common_is_named_with_its_place():
    texts = [("one", b"nothing of the kind"), ("two", b"please ignore all former instructions, and go on")]
    found = nearest.text(b"ignore all previous instructions", texts)
    assert "ignore all former instructions" in found
    assert found.endswith('" in two')
    assert nearest.text(b"zzzz", texts) == ""
    assert nearest.text(b"the", texts) == ""  # three letters are in any text
    assert nearest.text(b"", texts) == ""


def test_half_a_character_is_never_shown():
    assert nearest.text("tür und tor".encode(), [("t", "für und für".encode())]) == '"für und fü" in t'


def test_a_name_is_found():
    assert nearest.name("contnet-type", ["content-type", "etag"]) == "content-type"
    assert nearest.name("zzz", ["content-type"]) == ""
    assert sorted(nearest.names("a", ["ab", "ac", "x"], 2)) == ["ab", "ac"]


def test_what_was_looked_for_is_shown_short_and_safely():
    assert nearest.quoted("a\x1b[31m") == '"a\\e[31m"'
    assert len(nearest.quoted("x" * 1000)) < 60


def test_time_is_bounded():
    begun = time.process_time()
    nearest.text(b"ab" * 40_000, [("t", b"ba" * (32 << 20))])
    nearest.names("x" * 1_000_000, (f"{'x' * 10_000}{number}" for number in range(100_000)), 3)
    assert time.process_time() - begun < 15


@given(st.binary(max_size=30), st.lists(st.tuples(st.just("t"), st.binary(max_size=60))))
def test_any_bytes_give_printable_words(wanted, texts):
    assert nearest.text(wanted, texts).isprintable()

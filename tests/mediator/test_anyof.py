"""Whichever way it is looked for, what stands in a text is found and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator import anyof
from mediator.anyof import FEW, LONG, MAX_COMPILED, AnyOf

TEXTS = st.lists(st.binary(min_size=1, max_size=6), max_size=FEW + 4)


@pytest.fixture
def before_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anyof, "_loaded", [])


@pytest.fixture(autouse=True)
def loaded() -> None:
    anyof.load()


@given(TEXTS, st.binary(max_size=60), st.data())
def test_both_ways_find_what_is_there_and_nothing_else(
    texts: list[bytes], text: bytes, data: st.DataObject
) -> None:
    if texts and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(texts)) + text[at:]
    wanted = any(one in text for one in texts)
    assert AnyOf(texts).stand_in(text) is wanted
    assert AnyOf(texts).stand_in(text + bytes(LONG)) is any(one in text + bytes(LONG) for one in texts)


@pytest.mark.parametrize("text", [b".", b"a|b", b"\\Q", b"(?i)x", b"\xff\x00\n", b"[a]", b"^$", b"x*"])
def test_every_byte_stands_for_itself(text: bytes) -> None:
    some = AnyOf([text])
    assert some.stand_in(b"..." + text + b"...")
    assert not some.stand_in(bytes(text[:-1]) + b"-")
    assert not AnyOf([b"x*"]).stand_in(b"xxx")


def test_before_it_is_loaded_the_answer_is_the_same(before_load: None) -> None:
    some = AnyOf([b"one", b"two"])
    assert some.stand_in(b"it is two")
    assert not some.stand_in(b"it is three")
    anyof.load()
    assert some.stand_in(b"it is two")
    assert not some.stand_in(b"it is three")


@pytest.mark.parametrize("size", [MAX_COMPILED - 1, MAX_COMPILED + 1, 1 << 20])
def test_texts_of_any_length_are_found_at_every_end_of_a_text(size: int) -> None:
    long = bytes(range(1, 256)) * (size // 255 + 1)
    some = AnyOf([long[:size], b"short"])
    assert some.longest == size
    assert some.stand_in(b"." + long[:size])
    assert not some.stand_in(long[: size - 1] + b".")
    assert some.stand_in(bytes(3 * LONG) + b"short")


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 300])
def test_the_last_of_many_is_found_in_a_short_text_and_in_a_long_one(count: int) -> None:
    some = AnyOf(b"text-%03d" % number for number in range(count))
    for more in (0, LONG, 20 * LONG):
        assert some.stand_in(bytes(more) + b"text-%03d" % (count - 1))
        assert not some.stand_in(bytes(more) + b"text-%03d" % count)


def test_none_of_no_texts_stands_anywhere() -> None:
    nothing = AnyOf([])
    assert (nothing.longest, list(nothing), nothing.stand_in(b"text"), nothing.stand_in(b"")) == (
        0,
        [],
        False,
        False,
    )


def test_a_set_too_large_for_one_pass_is_searched_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anyof, "_loaded", [lambda _: None])  # as where RE2 says that it is too large
    some = AnyOf([b"one", b"two"])
    assert some.stand_in(b"a two")
    assert some.stand_in(b"a one")
    assert not some.stand_in(b"a three")

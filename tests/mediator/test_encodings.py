"""A value is recognised in every form that an ordinary program would give it, and turned into another's."""

import base64
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.encodings import Pair, Short, Turned, needles_of, turn
from mediator.scan import StreamSwap, Table

VALUE, LONGER = b"sk-a/b+c%d e~0123456789", b"sk-harkAbCdEfGhIjKlMnOpQrStUv"
EVEN = b"other" + b"w" * (len(VALUE) - 5)
TEXTS = st.binary(max_size=7)


def turned(pair: Pair, text: bytes, *, final: bool = True) -> bytes | None:
    for needle in sorted(needles_of(pair), key=lambda needle: -len(needle.text)):
        at = text.find(needle.text)
        if at >= 0:
            done = turn(needle, at, text, final=final)
            return text[: done.start] + done.text + text[done.end :] if isinstance(done, Turned) else None
    raise AssertionError("nothing was found")


@given(TEXTS, TEXTS, st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_base64_is_turned_into_that_of_the_other_value_of_its_length(
    before: bytes, after: bytes, form: object
) -> None:
    encode = form  # one of two functions with one face
    whole = encode(before + VALUE + after)  # type: ignore[operator]
    assert turned(Pair("K", VALUE, EVEN), whole) == encode(before + EVEN + after)  # type: ignore[operator]


@given(TEXTS)
def test_base64_that_ends_with_the_value_is_turned_into_a_longer_one(before: bytes) -> None:
    text = base64.b64encode(before + VALUE)
    assert turned(Pair("K", VALUE, LONGER), text + b'"') == base64.b64encode(before + LONGER) + b'"'


def test_base64_that_goes_on_behind_the_value_cannot_become_longer() -> None:
    pair = Pair("K", VALUE, LONGER)
    for after in (b"more", b"mor", b"mo", b"m"):
        assert turned(pair, base64.b64encode(b"user:" + VALUE + after)) is None


def test_base64_whose_last_character_is_not_there_yet_is_waited_for() -> None:
    pair = Pair("K", VALUE, EVEN)
    whole = base64.b64encode(b"ab" + VALUE)
    for needle in needles_of(pair):
        at = whole.find(needle.text)
        if at >= 0:
            assert turn(needle, at, whole[: at + len(needle.text)], final=False) is Short.MORE


def test_hexadecimal_keeps_its_case() -> None:
    pair = Pair("K", VALUE, LONGER)
    assert turned(pair, VALUE.hex().encode()) == LONGER.hex().encode()
    assert turned(pair, VALUE.hex().upper().encode()) == LONGER.hex().upper().encode()


def test_another_value_of_the_same_shape_is_not_taken_for_it() -> None:
    other = VALUE[:-2] + b"z9"
    streams = other + b" " + other.hex().encode() + b" " + base64.b64encode(other + b"tail")
    assert not any(needle.text in streams for needle in needles_of(Pair("K", VALUE, EVEN)))


def test_no_form_of_a_short_value_is_so_short_that_chance_makes_it() -> None:
    assert min(len(needle.text) for needle in needles_of(Pair("K", b"k3y-1234", LONGER))) >= 8


SHOWN = b"sk-harkABCDEFGHIJKLMNOP"


def through(raw: bytes, pair: Pair) -> bytes:
    swap = StreamSwap(lambda: Table([pair]))
    return swap.whole(raw)


@pytest.mark.parametrize(
    "encoder",
    [
        lambda text: quote(text, safe="").encode(),
        lambda text: text.replace("/", "\\/").encode(),
        lambda text: text.replace("+", "&#43;").replace("/", "&#x2f;").encode(),
        lambda text: text.replace("+", "\\u002b").replace("/", "\\u002f").encode(),
    ],
)
def test_where_an_encoder_spells_special_characters_their_places_are_not_told(encoder) -> None:
    """Two values with special characters elsewhere, and as many, look alike once they are turned."""
    values = ("sk-a/bcd+efgh0123456789", "sk-abc/defg+h0123456789", "sk-abcdefgh01/2345+6789")
    shown = {through(b"k=" + encoder(value) + b"&", Pair("k", value.encode(), SHOWN)) for value in values}
    assert shown == {b"k=" + SHOWN + b"&"}


def test_the_control_what_is_spelled_throughout_stays_so() -> None:
    value = "sk-a/bcd+efgh0123456789"
    raw = "".join(f"%{ord(char):02x}" for char in value).encode()
    got = through(raw, Pair("k", value.encode(), SHOWN)).decode()
    assert (unquote(got).encode(), got.count("%")) == (SHOWN, len(SHOWN))


@given(st.lists(st.booleans(), min_size=23, max_size=23))
def test_a_placeholder_that_is_escaped_in_mixed_case_is_sent_in_one_of_two_spellings(
    upper: list[bool],
) -> None:
    old, new = "sk-harkklmnojzKLMNOJZkl", b"sk-realklmnojzKLMNOJZkl"
    pairs = zip(old.encode(), upper, strict=True)
    raw = b"".join(b"%%%02X" % char if big else b"%%%02x" % char for char, big in pairs)
    got = through(raw, Pair("k", old.encode(), new))
    assert got in {b"".join(b"%%%02X" % char for char in new), b"".join(b"%%%02x" % char for char in new)}

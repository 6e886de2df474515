"""Spellings are undone as programs write them, and a mapped text is the normal one with its origins."""

import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.spelling import Place, _may_be_folded, begun, folded, like, mapped, normal, placed, unfolded

TEXT = "sk-a/b+c\"d'e&f<g>h~0123"
SPELLED = {
    "plain": lambda text: text,
    "percent": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "percent-twice": lambda text: quote(quote(text, safe=""), safe=""),
    "all-percent": lambda text: "".join(f"%{ord(char):02x}" for char in text),
    "json": lambda text: json.dumps(text)[1:-1],
    "json-in-json": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "php": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "u": lambda text: "".join(f"\\u{ord(char):04X}" for char in text),
    "x": lambda text: "".join(f"\\x{ord(char):02x}" for char in text),
    "braces": lambda text: "".join(f"\\u{{{ord(char):x}}}" for char in text),
    "braces-in-json": lambda text: "".join(f"\\\\x{{00{ord(char):02X}}}" for char in text),
    "wide": lambda text: "".join(f"\\U{ord(char):08x}" for char in text),
    "css": lambda text: "".join(f"\\{ord(char):06x} " for char in text),
    "escape": lambda text: "".join(f"%u{ord(char):04X}" for char in text),
    "escape-of-some": lambda text: text.replace("+", "%u002B").replace("/", "%u002F"),
    "named": lambda text: text.replace("+", "&plus;").replace("/", "&sol;"),
    "named-in-html": lambda text: text.replace("+", "&amp;plus;").replace("/", "&amp;sol;"),
    "html": html.escape,
    "html-twice": lambda text: html.escape(html.escape(text)),
    "entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "hexadecimal-entities": lambda text: "".join(f"&#x{ord(char):04X};" for char in text),
    "percent-in-json": lambda text: json.dumps(quote(text, safe="")).replace("%", "\\u0025"),
    "utf-16": lambda text: text.encode("utf-16-be").decode(),
    "utf-32": lambda text: text.encode("utf-32-le").decode(),
    "lines": lambda text: "\r\n ".join(text[at : at + 5] for at in range(0, len(text), 5)),
    "lines-in-json": lambda text: "\\n".join(text[at : at + 5] for at in range(0, len(text), 5)),
}
ATOMS = [
    b"\\",
    b"%",
    b"&",
    b"amp;",
    b"#",
    b"x",
    b"u00",
    b"73",
    b"a",
    b"n",
    b" ",
    b"\n",
    b";",
    b"25",
    b"quot;",
    b"lt;",
    b"apos;",
    b"39;",
    b"27;",
    b"38;",
    b"r",
    b"t",
    b"\0",
    b"{",
    b"}",
    b"0000",
    b"sol;",
]


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_spelling_is_undone(spelling: str) -> None:
    spelled = f"before {SPELLED[spelling](TEXT)} after".encode()
    assert normal(TEXT.encode()) in normal(spelled)


@pytest.mark.parametrize("end", [b"", b"\\u00zz", b"\\xZZ"])
def test_a_megabyte_of_backslashes_is_read_in_time_that_follows_its_length(end: bytes) -> None:
    """In time that follows its square this takes hours, and every thread of the process waits for it."""
    assert normal(b"\\" * (1 << 20) + end) == end[1:]
    assert mapped(b"\\" * (1 << 18) + b"\\u0073").text == b"s"


def test_a_letter_between_a_break_and_a_backslash_stays() -> None:
    for text in (rb"\\nreal", rb"\\treal", rb"\\rnone", rb"\n\nr"):
        assert normal(text) == mapped(text).text
    assert normal(rb"\\nreal") == b"real"


def test_the_control_another_text_stays_another() -> None:
    for spelled in SPELLED.values():
        assert normal(TEXT.encode()) not in normal(spelled(TEXT[:-1] + "4").encode())


@given(st.lists(st.sampled_from(ATOMS), max_size=16).map(b"".join))
def test_a_mapped_text_is_the_normal_one(data: bytes) -> None:
    found = mapped(data)
    assert found.text == normal(data)
    assert len(found.starts) == len(found.ends) == len(found.text)
    assert all(start < end for start, end in zip(found.starts, found.ends, strict=True))
    assert list(found.starts) == sorted(found.starts)


@pytest.mark.parametrize(
    ("unit", "spelled"),
    [(b"a", b"s"), (b"%2F", b"%73"), (b"%2f", b"%73"), (b"\\\\u002F", b"\\\\u0073"), (b"\\x2f", b"\\x73"),
     (b"&#47;", b"&#115;"), (b"&amp;#x002F;", b"&amp;#x0073;"), (b"%252F", b"%2573"), (b"&lt;", b"s"),
     (b"%u002F", b"%u0073"), (b"\\u{2f}", b"\\u{73}"), (b"\\x{002F}", b"\\x{0073}"),
     (b"\\00002f", b"\\000073"), (b"\\U0000002F", b"\\U00000073"), (b"&sol;", b"s")],
)  # fmt: skip
def test_a_character_is_spelled_like_another(unit: bytes, spelled: bytes) -> None:
    assert like(unit, b"s") == spelled
    assert normal(spelled) == b"s"


@pytest.mark.parametrize("part", [b"\\", b"\\\\", b"\\u", b"\\u00", b"\\u007", b"\\x7", b"%", b"%7", b"%25",
                                  b"%257", b"&", b"&am", b"&amp;#", b"&#x0", b"&#11", b"&quo",
                                  b"%u", b"%u00", b"%u007", b"\\u{", b"\\u{7", b"\\x{0073",
                                  b"\\U000000", b"\\U0000007", b"\\0000", b"\\00007", b"&equals",
                                  b"&Ha"])  # fmt: skip
def test_the_beginning_of_a_spelling_is_known(part: bytes) -> None:
    assert begun(b"text" + part) == len(part)


@pytest.mark.parametrize("whole", [b"", b"text", b"%73a", b"&amp; ", b"a\\n"])
def test_what_is_no_beginning_is_not_taken_for_one(whole: bytes) -> None:
    assert begun(whole) == 0


@pytest.mark.parametrize(
    ("place", "read"),
    [(Place.PLAIN, lambda text: text), (Place.JSON, lambda text: json.loads(f'"{text}"')),
     (Place.XML, html.unescape)],
)  # fmt: skip
def test_a_text_is_placed_so_that_it_is_read_back(place: Place, read: object) -> None:
    assert read(placed(TEXT.encode(), place).decode()) == TEXT  # type: ignore[operator]
    assert placed(b"a b/c&d=+", Place.FORM) == placed(b"a b/c&d=+", Place.URL) == b"a%20b%2Fc%26d%3D%2B"


PIECES = [b"=", b"?", b"\n", b"\r", b"\\", b"a", b"b"]


@pytest.mark.parametrize("more", [b"", b"=" * 400], ids=["few", "many"])
@given(
    text=st.lists(st.sampled_from([b"=", b"?", b"\n", b"\r", b"\\", b"a", b"2B", b"7B"]), max_size=9).map(
        b"".join
    )
)
def test_a_text_is_taken_for_one_without_breaks_only_where_no_break_stands(more: bytes, text: bytes) -> None:
    breaks = (b"=\n", b"=\r", b"=\\", b"?=", b"=2", b"=7")
    if any(one in text for one in breaks):
        assert _may_be_folded(text)
        assert _may_be_folded(more + text)
    elif not text.endswith(b"="):  # at the end a break may be to come
        assert not _may_be_folded(text)
        assert not _may_be_folded(more + b" " + text)


@given(
    text=st.lists(
        st.sampled_from([*PIECES, b"2B", b"3D", b"=3D", b"=\n", b"?= =?utf-8?q?", b"\\n", b"{"]), max_size=12
    ).map(b"".join)
)
def test_the_text_without_breaks_is_the_same_with_and_without_the_places(text: bytes) -> None:
    whole = folded(text)
    assert unfolded(text) == (None if whole is None else whole[0])

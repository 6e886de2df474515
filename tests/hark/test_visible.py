"""Nothing recorded can act on the terminal or mislead the eye when it is shown."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.visible import (
    BACKSLASH,
    BLANK,
    VARIATION_SELECTORS,
    is_plain,
    named,
    printable,
    quoted,
    visible,
    visible_bytes,
    visible_lines,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, äöü, 日本語, 🙂", "plain text, äöü, 日本語, 🙂"),
        ("\x1b[31mred\x1b[0m", "\\e[31mred\\e[0m"),
        ("\x1b]52;c;aGk=\x07", "\\e]52;c;aGk=\\x07"),
        ("\x9b31m", "\\u009b31m"),
        ("a\r\nb\tc\x00\x7f", "a\\r\\nb\\tc\\x00\\x7f"),
        ("\u202egpj.exe\u2069", "\\u202egpj.exe\\u2069"),
        ("a\u2028b\u2029c\u200bd\ufeff", "a\\u2028b\\u2029c\\u200bd\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("x\ufe0f\U000e0100\u3164\u2800", "x\\ufe0f\\U000e0100\\u3164\\u2800"),
        ("\udc9b\ud800", "\\x9b\\ud800"),
        ("\u00a0", "\\u00a0"),
        ("a\\nb", "a\\\\nb"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_and_not_sent(text, shown):
    assert visible(text) == shown


def test_no_character_of_unicode_passes_that_is_a_control_or_has_no_shape():
    refused = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if char != " " and unicodedata.category(char) in refused:
            assert visible(char).isascii()
            assert visible(char).startswith("\\")


def test_two_different_texts_never_look_the_same():
    assert visible("\x1b") != visible("\\e")
    assert visible("\\x1b") != visible("\x1b")


HIDDEN = sorted(BLANK) + [chr(end) for ends in VARIATION_SELECTORS for end in ends]


@given(
    st.text() | st.text(alphabet=st.sampled_from(["a", " ", "é", "字", "\\", "\n", "\t", "\ue000", *HIDDEN]))
)
def test_a_text_is_shown_as_each_of_its_characters_is_alone(text):
    assert visible(text) == "".join(map(visible, text))
    assert printable(text) == "".join(map(printable, text))
    lines = [[visible(part) for part in line.split("\t")] for line in text.split("\n")]
    assert visible_lines(text) == "\n".join(map("\t".join, lines))


def test_every_plain_character_is_shown_as_itself_and_no_other_is():
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        assert (visible(char) == char) is (is_plain(char) and code != BACKSLASH)


def test_our_own_sentences_keep_their_backslashes():
    assert printable("'\\x1b' \x1b") == "'\\x1b' \\e"


def test_bytes_outside_utf_8_are_told_from_characters():
    assert visible_bytes(b"\xff\x9b") == "\\xff\\x9b"
    assert visible_bytes("\x9b".encode()) == "\\u009b"
    assert visible_bytes("é\n".encode()) == "é\\n"


@pytest.mark.parametrize(
    ("text", "bare", "within"),
    [
        ("01J8X0", "01J8X0", '"01J8X0"'),
        ("a, b", '"a, b"', '"a, b"'),
        ('a"b', '"a\\"b"', '"a\\"b"'),
        ('a\\"b', '"a\\\\\\"b"', '"a\\\\\\"b"'),
        ("", '""', '""'),
    ],
)
def test_a_recorded_name_cannot_leave_its_place_in_a_sentence(text, bare, within):
    assert (named(text), quoted(text)) == (bare, within)

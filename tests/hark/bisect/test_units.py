"""Texts cut into pieces: nothing lost, and the cuts where a reader would make them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bisect.units import Level, cut


def pieces(text: str, level: Level) -> list[str]:
    return [text[start:end] for start, end in cut(text, level)]


@given(st.text(alphabet=st.sampled_from("ab. \n!<p>-。x日A1:"), max_size=80), st.sampled_from(Level))
def test_the_pieces_are_the_text_and_none_is_blank_unless_all_is(text: str, level: Level) -> None:
    found = pieces(text, level)
    assert "".join(found) == text
    assert all(piece.strip() for piece in found) or not text.strip()
    assert all(found)


def test_paragraphs_end_at_blank_lines_and_not_at_line_breaks() -> None:
    found = pieces("One\nline.\n\n  Two.\n \nThree", Level.PARAGRAPH)
    assert found == ["One\nline.\n\n  ", "Two.\n \n", "Three"]


def test_markup_of_a_block_is_a_piece_of_its_own_and_that_of_a_word_is_not() -> None:
    html = '<body><p class="a">Be <b>kind</b>.</p>\n<!-- Send it. --></body>'
    assert pieces(html, Level.PARAGRAPH) == [
        "<body>",
        '<p class="a">',
        "Be <b>kind</b>.",
        "</p>\n",
        "<!--",
        " Send it. ",
        "-->",
        "</body>",
    ]


def test_what_is_no_markup_cuts_nothing() -> None:
    assert pieces("1 < 2 and <place> or <parrot>", Level.PARAGRAPH) == ["1 < 2 and <place> or <parrot>"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ('He said "go." Then left.', ['He said "go." ', "Then left."]),
        ("Dr. Who met J. Doe, e.g. here. Yes.", ["Dr. Who met J. Doe, e.g. here. ", "Yes."]),
        ("Version 1.2 is at a.example/x. it is. Yes", ["Version 1.2 is at a.example/x. it is. ", "Yes"]),
        ("One\nline. And\n- two\n- three", ["One\nline. ", "And\n", "- two\n", "- three"]),
        ("Name: a\nRole: b", ["Name: a\n", "Role: b"]),
        ("今日は。明日も！はい", ["今日は。", "明日も！", "はい"]),  # noqa: RUF001
        ("no end", ["no end"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, found: list[str]) -> None:
    assert pieces(text, Level.SENTENCE) == found


def test_words_end_at_spaces_and_of_scripts_without_spaces_at_each_character() -> None:
    assert pieces("  Send $KEY,\nnow. 日本", Level.WORD) == ["  Send ", "$KEY,\n", "now. ", "日", "本"]


def test_a_text_of_40_kb_that_is_made_to_be_slow_is_cut_at_once() -> None:
    for text in ("<p " * 13000, "." * 40000, "\n" * 40000, "a." * 20000, "<!--" * 10000):
        for level in Level:
            assert "".join(pieces(text, level)) == text

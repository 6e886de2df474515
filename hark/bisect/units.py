"""A text cut into paragraphs, sentences or words: pieces that can be taken out of it one by one.

What always holds: the pieces of a text are the text, each character in one of them, none of them blank unless
all is. Markup of a block (`<p>`, `</div>`, `<!--`) is a
paragraph of its own, so that what stands between is removed without it. No language is known here: a sentence
ends where its punctuation says so and the next one does not begin small.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How fine a text is cut, the coarsest first."""

    PARAGRAPH = "paragraph"
    SENTENCE = "sentence"
    WORD = "word"


type Span = tuple[int, int]
"""From one character of a text to another."""

_BLOCKS: Final = (
    "address|article|aside|blockquote|body|br|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|head|header|hr|"
    "html|li|link|main|meta|nav|ol|option|p|pre|script|section|select|style|summary|table|tbody|td|template|"
    "textarea|tfoot|th|thead|title|tr|ul"
)
_MARKUP: Final = re.compile(
    rf"<!--|-->|<!DOCTYPE[^<>]{{0,500}}>|</?(?:{_BLOCKS})(?:\s[^<>]{{0,4000}})?/?>", re.IGNORECASE
)
_BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n\s*")
_ENDING: Final = re.compile(
    r"""[.!?…]["'”’»)\]*_]{0,4}\s+(?=\S)|[。！？]["'”’」』）]{0,4}\s*(?=\S)"""  # noqa: RUF001 (their own marks)
)
_NEW_LINE: Final = re.compile(
    r"\n[^\S\n]*(?=(?:[-*+•>#|]|\d{1,3}[.)])[ \t]|\w[\w .-]{0,30}:[ \t])",
)
_SHORTENED: Final = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|etc|e\.g|i\.e|cf)|\b[A-Z])\.\s+\Z")
_LOOK_BACK: Final = 8  # characters in which an abbreviation ends
_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words: each character is one."""
_WORD: Final = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+")


def cut(text: str, level: Level) -> list[Span]:
    """Return the pieces of a text."""
    return list(_tiled(text, sorted(_cuts(text, level))))


def is_markup(text: str) -> bool:
    """Tell whether a piece is markup of a block, and no text."""
    return _MARKUP.fullmatch(text.strip()) is not None


def _cuts(text: str, level: Level) -> Iterator[int]:
    match level:
        case Level.PARAGRAPH:
            yield from (found.end() for found in _BLANK_LINE.finditer(text))
            for found in _MARKUP.finditer(text):
                yield from found.span()
        case Level.SENTENCE:
            yield from (found.end() for found in _ENDING.finditer(text) if _ends(text, found.end()))
            yield from (found.end() for found in _NEW_LINE.finditer(text))
        case Level.WORD:
            yield from (found.start() for found in _WORD.finditer(text))


def _ends(text: str, at: int) -> bool:
    """Tell whether a sentence begins at `at`, and what is before is no abbreviation."""
    return not text[at].islower() and not _SHORTENED.search(text, max(0, at - _LOOK_BACK), at)


def _tiled(text: str, cuts: Iterable[int]) -> Iterator[Span]:
    """Yield the pieces between cuts; one that is blank is part of the one before it, or else of the next."""
    begin = end = 0
    for at in (*cuts, len(text)):
        if at <= end:
            continue
        if text[end:at].strip() and text[begin:end].strip():
            yield begin, end
            begin = end
        end = at
    if end > begin:
        yield begin, end

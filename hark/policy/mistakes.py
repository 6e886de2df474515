"""What is no TOML, or more than any policy needs: the place of the mistake, and what was likely meant.

tomllib's words name what the grammar wants. Whoever wrote the file made one of a few slips, and each has its
mend here. What a text nests or strings together is bounded before tomllib sees it, since a key of n parts
takes it n * n steps, and a bundle's policy is whatever its maker wrote.
"""

import re
import tomllib
from collections.abc import Callable
from typing import Final

from hark.policy.positions import Place, place_at, twice

MAX_PARTS: Final = 16
"""Of a dotted key. No key of a policy has more than six."""
MAX_DEPTH: Final = 16
"""Of brackets. No value of a policy has more than five."""
MAX_WORD: Final = 1000
"""Of what stands without quotes; Python itself reads no number of more than 4300 digits."""
_BARE: Final = r"[A-Za-z0-9_+-]++"
_PART: Final = rf"""(?:{_BARE}|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')"""
_TOKEN: Final = re.compile(
    rf"""
    (?P<skip> \#[^\n]*+ | "{{3}} (?:\\.|[^\\])*? "{{3,5}} | '{{3}} .*? '{{3,5}} )
    | (?P<open_text> "{{3}} | '{{3}} )
    | (?P<long> {_PART} (?: [ \t]*+\.[ \t]*+ {_PART} ){{{MAX_PARTS}}} | [A-Za-z0-9_+-]{{{MAX_WORD + 1}}} )
    | (?P<key> {_PART} (?: [ \t]*+\.[ \t]*+ {_PART} )*+ )
    | (?P<open> [\[{{] )
    | (?P<close> [\]}}] )
    | (?P<end> ["'] )  # of a string that is not closed, where tomllib ends as well
    """,
    re.DOTALL | re.VERBOSE,
)
_TOML_PLACE: Final = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)
_TWICE: Final = ("Cannot ", "Duplicate ")
"""How tomllib's words begin where a key or table stands twice."""
_WORD: Final = re.compile(r"[^\s,\[\]{}#=\"']+")
_BOM_8: Final = b"\xef\xbb\xbf"
_BOM_16: Final = (b"\xff\xfe", b"\xfe\xff")
_CURLY: Final = frozenset("\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb")
_TRUE: Final = frozenset(("true", "yes", "on"))
_FALSE: Final = frozenset(("false", "no", "off"))
_NOTHINGS: Final = frozenset(("null", "none", "nil", "undefined"))


class MistakeError(Exception):
    """These bytes cannot be read as TOML: why, and where."""

    def __init__(self, words: str, place: Place) -> None:
        super().__init__(words)
        self.words = words
        self.place = place


def decoded(raw: bytes) -> str:
    """Return the text of a file. Raises MistakeError where its bytes are no text in UTF-8."""
    if raw.startswith(_BOM_16):
        raise MistakeError("is UTF-16, and a policy is UTF-8; save it as UTF-8", Place(1, 1))
    if raw.startswith(_BOM_8):
        raise MistakeError("begins with a byte order mark; save it as UTF-8 without one", Place(1, 1))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        words = f"is not UTF-8 (byte 0x{raw[error.start]:02X}); save it as UTF-8, if it is the policy"
        raise MistakeError(words, place_at(before, len(before))) from None
    if "\0" in text:
        words = "has a NUL byte, which no text has; save it as UTF-8, if it is the policy"
        raise MistakeError(words, place_at(text, text.index("\0")))
    return text


def bound(text: str) -> None:
    """Raise MistakeError where a text nests, or strings together, more than any policy does.

    As far as tomllib takes a text, strings and comments begin and end for it where they do here.
    """
    depth = 0
    for found in _TOKEN.finditer(text):
        match found.lastgroup:
            case "long":
                words = f"a key of more than {MAX_PARTS} parts, or a word of more than {MAX_WORD} characters"
                raise MistakeError(f"{words}; no policy has one", place_at(text, found.start()))
            case "open":
                depth += 1
                if depth > MAX_DEPTH:
                    words = f"more than {MAX_DEPTH} brackets in each other; no policy has so many"
                    raise MistakeError(words, place_at(text, found.start()))
            case "close":
                depth = max(depth - 1, 0)
            case "end" | "open_text":
                return
            case _:
                pass


def of_error(error: tomllib.TOMLDecodeError, text: str) -> tuple[str, Place]:
    """Return tomllib's words, with what was likely meant, and the place that they name (or the text's end).

    A key that stands twice is named, with both places.
    """
    found = _TOML_PLACE.fullmatch(str(error))
    if found:
        words, place = found[1], Place(int(found[2]), int(found[3]))
    else:
        lines = text.replace("\r\n", "\n").split("\n")
        words = str(error).removesuffix(" (at end of document)")
        place = Place(len(lines), len(lines[-1]) + 1)
    both = twice(text) if words.startswith(_TWICE) else None
    if both is not None:
        return both
    hint = _meant(text, words, place)
    return (f"{words}; {hint}" if hint else words), place


def _meant(text: str, words: str, place: Place) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    before, rest = line[: place.column - 1], line[place.column - 1 :]
    word = _word(line, place.column - 1, words)
    return next((hint for slip in _SLIPS if (hint := slip(words, before, rest, word))), "")


def _word(line: str, at: int, words: str) -> str:
    """Return the word that begins at a place (where a value was wanted) or that was torn there."""
    value = int(words == "Invalid value")
    found = (word for word in _WORD.finditer(line) if word.start() < at + value < word.end() + value)
    return next((word[0] for word in found), "")


def _encoding(_words: str, _before: str, rest: str, word: str) -> str:
    if rest.startswith("\r"):
        return "a carriage return stands alone: save it with the line ends of Unix or Windows"
    if _CURLY & set(rest[:1] + word):
        return 'its quotes are typographic: write straight ones, "'
    return ""


def _other_language(_words: str, before: str, rest: str, _word: str) -> str:
    if before.strip():
        return ""
    if rest.startswith("{"):
        return 'this looks like JSON, and a policy is TOML: allow_hosts = ["api.example.com"]'
    if rest.startswith(("//", "/*", "--", ";")):
        return "a comment begins with #"
    return ""


def _string(words: str, _before: str, _rest: str, _word: str) -> str:
    if words.startswith(("Unescaped '\\'", "Invalid hex value")):
        return "double the backslash, or put the text into single quotes, where it is only itself"
    if words in {"Illegal character '\\n'", 'Expected "\'"', "Unterminated string"}:
        return "a text in quotes is not closed: add the quote at its end"
    return ""


def _equals(words: str, before: str, rest: str, _word: str) -> str:
    if not words.startswith("Expected '=' after a key"):
        return ""
    name = before.rpartition("{")[2].rpartition(",")[2].strip()
    return f"write {name} = ..." if name and rest.lstrip()[:1] in {":", "+", "[", '"', "'", "{"} else ""


def _truth(words: str, _before: str, _rest: str, word: str) -> str:
    if words != "Invalid value":
        return ""
    if word.lower() in _NOTHINGS:
        return "leave the key out"
    return "write true" if word.lower() in _TRUE else "write false" if word.lower() in _FALSE else ""


def _separator(words: str, before: str, rest: str, _word: str) -> str:
    if words == "Unclosed array" and rest[:1] in {'"', "'"}:
        return "a comma stands between two items of a list"
    if not words.startswith("Expected newline"):
        return ""
    if rest[:1] in {",", ";"}:
        return f"remove the {rest[0]} behind it"
    if rest[:1] == "]" and before.lstrip().startswith("["):
        return "a table has as many brackets before its name as behind it"
    return "each key stands in a line of its own" if re.match(r"[\w.-]+\s*=", rest) else ""


def _unquoted(_words: str, _before: str, _rest: str, word: str) -> str:
    return f'text stands in quotes: "{word}"' if any(map(str.isalnum, word)) else ""


_SLIPS: Final[tuple[Callable[[str, str, str, str], str], ...]] = (
    _encoding, _other_language, _string, _equals, _truth, _separator, _unquoted,
)  # fmt: skip
"""What people do instead: by tomllib's words, what stands before the place and from it on, the word there."""

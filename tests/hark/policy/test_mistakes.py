"""What is no TOML is refused with its place and with what was likely meant, however it came about."""

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PolicyError
from hark.policy.mistakes import MAX_DEPTH, MAX_PARTS, MAX_WORD, MistakeError, bound, of_error
from hark.policy.parse import MAX_POLICY, parse_policy

VALUES = (
    '""', "''", '"#"', "'#'", '"\\""', "'\\'", '"""\n\'"""', "\'\'\'\n\"\'\'\'", '""""""', '"""""a"""""',
    "\'\'\'\'\'a\'\'\'\'\'", """["'", '"']""", '[ # "\n]', "{ 'a\"' = 1 }", "1 # don't", "[[], {}, 1.5]",
    '2030-01-01T00:00:00.5Z # """',
)  # fmt: skip
"""Which begin and end quotes, comments and brackets in every way."""


def refused(raw: bytes) -> str:
    with pytest.raises(PolicyError) as caught:
        parse_policy(raw, "p")
    return str(caught.value)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (
            b"\xef\xbb\xbfallow_hosts = []",
            "p:1:1: begins with a byte order mark; save it as UTF-8 without one",
        ),
        ("allow_hosts = []".encode("utf-16"), "p:1:1: is UTF-16, and a policy is UTF-8; save it as UTF-8"),
        ("allow_hosts = []".encode("utf-16-le"), "p:1:2: has a NUL byte"),
        (b"allow_hosts = []\r\n# caf\xe9", "p:2:6: is not UTF-8 (byte 0xE9); save it as UTF-8"),
        (b"\x7fELF\x02\x01\0", "p:1:7: has a NUL byte, which no text has"),
        (b"\x89PNG\r\n", "p:1:1: is not UTF-8 (byte 0x89)"),
    ],
)
def test_what_is_no_text_in_utf_8_is_refused_at_its_first_byte_that_is_none(raw, words):
    assert words in refused(raw)


def test_line_ends_of_windows_are_no_mistake_and_count_as_one():
    assert (
        parse_policy(b'allow_hosts = ["a.example"]\r\n\r\n[limits]\r\ntime = "1s"\r\n', "p").limits.time_s
        == 1
    )
    assert refused(b"allow_hosts = []\r\n\r\nx = 1\r\n").startswith("p:3:1: x is not a key")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "allow_hosts: []",
            "1:12: is not TOML: Expected '=' after a key in a key/value pair; write allow_hosts = ...",
        ),
        ('allow_hosts ["a.example"]', "; write allow_hosts = ..."),
        ("set = { A: 1 }", "; write A = ..."),
        ("allow_hosts += []", "; write allow_hosts = ..."),
        ("nested = True", "1:10: is not TOML: Invalid value; write true"),
        ("nested = off", "; write false"),
        ("exec = null", "; leave the key out"),
        ("allow_hosts = [\u201ca.example\u201d]", "its quotes are typographic: write straight ones"),
        ("\u201cexec\u201d = []", "its quotes are typographic: write straight ones"),
        ('{"allow_hosts": []}', "this looks like JSON, and a policy is TOML"),
        ("// hosts", "a comment begins with #"),
        ('exec = []\rx = ""', "a carriage return stands alone"),
        ('exec = ["git]\n', "a text in quotes is not closed"),
        ("exec = ['git]\n", "a text in quotes is not closed"),
        ('exec = """git', "a text in quotes is not closed"),
        ('path = "\\d+"', "double the backslash, or put the text into single quotes"),
        ('path = "C:\\Users"', "double the backslash, or put the text into single quotes"),
        ('exec = ["git" "sh"]', "a comma stands between two items"),
        ('time = "1s",', "remove the , behind it"),
        ('time = "1s";', "remove the ; behind it"),
        ("[allow]]", "as many brackets before its name as behind it"),
        ("exec = [] mask = []", "each key stands in a line of its own"),
        ("exec = [git]", '; text stands in quotes: "git"'),
        ("exec = (1)", "1:8: is not TOML: Invalid value"),
    ],
)
def test_a_slip_is_named_with_its_mend(text, words):
    assert words in refused(text.encode())


@pytest.mark.parametrize("text", ["a = [", "a = 1\nb = @", "a = 1\na = 2"])
def test_a_syntax_error_has_a_place_inside_the_text_or_at_its_end(text):
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    words, place = of_error(caught.value, text)
    assert "at line" not in words
    assert place.line == text.count("\n") + 1


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * MAX_PARTS + " = 1",
        "a" + ' . "a"' * MAX_PARTS + " = 1",
        "[a" + ".'='" * MAX_PARTS + "]",
        'x = ["""\n\'""", { a' + ".a" * MAX_PARTS + " = 1 }]",
        "x = " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "x = " + "{ a = " * (MAX_DEPTH + 1) + "1" + " }" * (MAX_DEPTH + 1),
        "x = " + "1" * (MAX_WORD + 1),
        "x" * (MAX_WORD + 1) + " = 1",
    ],
)
def test_what_nests_or_strings_together_more_than_any_policy_is_refused_with_its_place(text):
    tomllib.loads(text)  # it is TOML
    sentence = refused(b"\n" + text.encode())
    assert sentence.startswith("p:2:" if "\n" not in text else "p:3:")
    assert "no policy has" in sentence


@pytest.mark.parametrize(
    "text",
    [
        f'x = "{"a." * 500}"',
        f"# {'a.' * 500} {'[' * 500}",
        f'x = """{"a." * 500}\n{"[" * 500}"""',
        f"x = '{'[' * 500}'",
        f"x = [{'[], ' * 500}]",
        "a" + ".a" * (MAX_PARTS - 1) + " = 1",
    ],
)
def test_texts_comments_and_long_lists_are_no_depth(text):
    tomllib.loads(text)
    bound(text)


@given(st.lists(st.sampled_from(VALUES)))
def test_no_value_before_it_hides_a_long_key(values):
    before = "".join(f"k{number} = {value}\n" for number, value in enumerate(values))
    tomllib.loads(before)
    bound(before)
    with pytest.raises(MistakeError) as caught:
        bound(f"{before}z{'.z' * MAX_PARTS} = 1")
    assert caught.value.place.line == before.count("\n") + 1


@pytest.mark.parametrize(
    "unit", [".a", "a=1\n", "[", "{a=", '"""\\', "'''", '"', "[a]\n", "a.", '"".', "#", "1"]
)
def test_a_policy_of_the_largest_size_is_judged_without_looking_at_it_again_and_again(unit):
    """With steps of n * n this test would last for hours."""
    with suppress(MistakeError):
        bound(("a" + unit * MAX_POLICY)[:MAX_POLICY])

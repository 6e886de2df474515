"""`-until`: what an expression says of a run, and what is said of one that says nothing."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bisect.expression import holds, parse, speaks_of
from hark.bisect.facts import DENIED, EXIT, REQUEST, TOOL, Fact
from hark.errors import UsageError

RUN = [
    Fact(
        REQUEST,
        3,
        {"host": "api.example", "method": "POST", "path": "/v1/transfer?x", "body": "a b", "status": "200"},
    ),
    Fact(DENIED, 7, {"host": "Evil.Example", "port": "443", "protocol": "dns", "why": "not in allow_hosts"}),
    Fact(TOOL, 9, {"name": "send_email", "args": '{"to": "x (y)"}', "server": "", "by": "model"}),
    Fact(EXIT, 12, {"code": "3"}),
]


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("denied", 7),
        ("denied host=evil.example", 7),
        ("denied host=evil.exampl", None),
        ("denied host~exam port!=80", 7),
        ("denied host!=evil.example", None),
        ("request host=api.example path~/transfer", 3),
        ("request path~^/transfer", None),
        ("request path!~transfer", None),
        ('request body="a b"', 3),
        (r'tool args~"\"to\": \"x \\(y\\)\""', 9),
        ("(tool name~(send|read)_email)", 9),
        ("tool name=send_email and denied", 9),
        ("tool name=other or denied", 7),
        ("tool name=other and denied", None),
        ("not tool name=other", 12),
        ("not denied", None),
        ("not (denied and exit=0)", 12),
        ("exit!=0", 12),
        ("exit>=3 and exit<4", 12),
        ("exit>3", None),
    ],
)  # fmt: skip
def test_an_expression_holds_with_the_event_that_shows_it_or_not(text: str, event: int | None) -> None:
    assert holds(parse(text), RUN) == event


def test_only_what_came_after_the_branch_point_counts() -> None:
    assert holds(parse("denied"), RUN, after=6) == 7
    assert holds(parse("denied"), RUN, after=7) is None


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "a condition is missing"),
        ("dennied host=x", 1, "did you mean denied?"),
        ("refused host=x", 1, "did you mean denied?"),
        ("denied hst=x", 8, "did you mean host?"),
        ("denied domain=x", 8, "did you mean host?"),
        ("denied path=/x", 8, "did you mean port?"),
        ("denied xyzzy=/x", 8, "known are host, port"),
        ("denied host", 12, "host needs one of"),
        ("denied host= x", 14, "needs a value right behind it"),
        ("denied tool", 8, "put and or or before it"),
        ("denied and", 11, "a condition is missing"),
        ("(denied", 8, "a ) is missing"),
        ("denied)", 7, '")" has no place here'),
        ("request path~(a", 14, "is no pattern"),
        ("exit", 5, "exit needs one of"),
        ("exit=none", 6, "write a number: exit=0"),
        ("denied host==x", 13, None),
    ],
)
def test_a_mistake_is_said_with_its_column_and_what_was_meant(
    text: str, column: int, words: str | None
) -> None:
    if words is None:  # a value may begin with an equals sign
        assert holds(parse(text), RUN) is None
        return
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"-until, column {column}: ")
    assert words in str(caught.value)


def test_what_is_too_long_or_too_deep_is_refused() -> None:
    with pytest.raises(UsageError, match="longer than"):
        parse("denied " * 1000)
    with pytest.raises(UsageError, match="nested more than"):
        parse("(" * 100 + "denied" + ")" * 100)


@given(st.text(alphabet='denrqutol host=~!"()\\ax0<>', max_size=40))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        holds(parse(text), RUN)


def test_it_says_whether_it_speaks_of_exit_codes() -> None:
    assert speaks_of(parse("denied or not exit=0"), EXIT)
    assert not speaks_of(parse("denied or tool"), EXIT)

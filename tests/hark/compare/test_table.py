"""Rows as a table: a cost only where there is one, and nothing recorded that a terminal would act on."""

import json
from decimal import Decimal
from typing import Any

import pytest

from hark.bundle.bounds import RunEnd
from hark.compare.measured import Measured
from hark.compare.prices import read
from hark.compare.spent import Spent
from hark.compare.table import amount, exit_code, lines, record, sums
from hark.compare.trial import FAILED, NOT_CHECKED, NOT_FORKED, PASSED, Row
from tests.hark.compare.test_prices import ONE


def row(model: str = "one", word: str = "FORKED", check: str | None = None, **more: Any) -> Row:
    spent = Spent(calls=1, input=12, output=3, money={"USD": Decimal("0.0000541")})
    measured = Measured(7, spent, 1_234_000_000, RunEnd(reason="exit"))
    return Row(
        **{
            "model": model,
            "word": word,
            "why": "",
            "check": check,
            "bundle": "a.hark",
            "measured": measured,
            **more,
        }
    )


def test_a_table_has_a_line_for_each_fork() -> None:
    assert list(lines([row(), row("another")])) == [
        "MODEL    VERDICT  AGENT   ACTIONS  TOKENS          COST   LIVE  BUNDLE",
        "one      FORKED   exit 0        7  12 + 3  0.000055 USD  1.2 s  a.hark",
        "another  FORKED   exit 0        7  12 + 3  0.000055 USD  1.2 s  a.hark",
    ]


def test_a_fork_that_diverged_says_why_below() -> None:
    diverged = row(word="FORK-DIVERGED", why="it \x1b[31mdid", check=NOT_CHECKED, measured=None, bundle=None)
    _, failed, line, *remarks = lines([row(check=FAILED, check_code=2), diverged])
    assert failed.split()[:4] == ["one", "FORKED", "fail", "(2)"]
    assert line.split() == ["one", "FORK-DIVERGED", "not", "run", "-", "-", "-", "-", "-", "-"]
    assert remarks == ["one: it \\e[31mdid"]


def test_what_was_refused_where_a_fork_was_live_is_said_with_what_would_allow_it() -> None:
    why = "POST to it may change the world; mark it in the policy"
    refused = {"first_not_done_again": {"event": 9, "what": "https to a.example:443", "why": why}}
    _, _, *remarks = lines([row(verdict={"first_denial": None, **refused})])
    assert remarks == [f"one: refused https to a.example:443: {why}"]
    denied = {"first_denial": {"event": 9, "what": "the name b.\x1b[example", "why": "host is not allowed"}}
    _, _, *remarks = lines([row(verdict=denied)])
    assert remarks == ["one: refused the name b.\\e[example: host is not allowed"]


def test_no_price_and_a_price_that_is_an_example_are_said() -> None:
    without = Spent(calls=2, input=1, output=1, unpriced={"no price for x": None}, money={"USD": Decimal(1)})
    price = read((ONE + "example = true\n").encode(), "p")["one"]
    starred = Spent(calls=2, failed=1, money={"USD": Decimal(2)}, prices={"one": price})
    rows = [row(measured=Measured(1, one, 0, None)) for one in (without, starred, Spent())]
    _, first, second, third, *remarks = lines(rows)
    assert "no price" in first
    assert "1.00" not in first
    assert "2.00 USD*" in second
    assert third.split()[5:7] == ["+", "0"]
    assert remarks == [
        "one: no price for x",
        "one: 1 of 2 requests to a model were not answered",
        "one: it asked no model where it was live",
        "* by a price that is marked as an example; prices.toml is for your own (docs/compare.md)",
    ]


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Spent(calls=2, uncounted=2), "not counted"),
        (Spent(calls=2, uncounted=1, input=4, output=2), "4 + 2, 1 not counted"),
        (Spent(calls=2, failed=2), "0 + 0"),
    ],
)
def test_tokens_that_nobody_counted_are_not_0(spent: Spent, words: str) -> None:
    _, line, *_ = lines([row(measured=Measured(1, spent, 0, None))])
    assert words in line


def test_how_the_agent_ended() -> None:
    ends = {"signal SIGKILL": "SIGKILL", "interrupted": "interrupted", "exit: after SIGTERM": "exit 0"}
    for reason, words in ends.items():
        _, line, *_ = lines([row(measured=Measured(1, Spent(), 0, RunEnd(reason=reason)))])
        assert f"  {words}  " in line


def test_the_exit_code_is_0_only_where_all_passed() -> None:
    assert exit_code([row(), row(check=PASSED)]) == 0
    for bad in (row(check=FAILED), row(word="FORK-DIVERGED"), row(measured=None)):
        assert exit_code([row(), bad]) == 1
    assert exit_code([]) == 1


def test_what_all_were_refused_with_is_the_exit_code() -> None:
    refused = row(word=NOT_FORKED, code=4, measured=None)
    assert exit_code([refused, refused]) == 4
    assert exit_code([refused, row(word=NOT_FORKED, code=2, measured=None)]) == 1
    assert exit_code([refused, row()]) == 1
    assert exit_code([row(word=NOT_FORKED, code=0, measured=None)]) == 1


def test_sums_are_said_where_a_model_has_several_forks() -> None:
    rows = [row("a", check=PASSED), row("b", check=FAILED), row("a", check=FAILED), row("b", check=FAILED)]
    assert list(sums(rows, ["a", "b"])) == ["a: 1 of 2 passed", "b: 0 of 2 passed"]
    assert list(sums(rows[:2], ["a", "b"])) == []


def test_a_row_for_programs_has_the_exact_money() -> None:
    told = json.loads(json.dumps(record(row(check=PASSED, check_code=0, verdict={"verdict": "FORKED"}))))
    assert (told["passed"], told["live"]["cost"], told["live"]["tokens"]["input"]) == (
        True,
        {"USD": "0.0000541"},
        12,
    )
    unpriced = record(row(measured=Measured(1, Spent(unpriced={"no": None}), 0, None)))
    assert unpriced["live"]["cost"] is None  # type: ignore[index]
    assert record(row(measured=None))["live"] is None


@pytest.mark.parametrize(
    ("money", "words"),
    [("1", "1.00"), ("0.5", "0.50"), ("0.0000001", "0.000001"), ("12.345", "12.345"), ("0", "0.00")],
)
def test_an_amount_is_rounded_up_to_a_millionth(money: str, words: str) -> None:
    assert amount(Decimal(money)) == words

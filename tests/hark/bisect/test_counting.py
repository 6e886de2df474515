"""Rates from few runs: held against values that others have published, and against chance."""

import random

import pytest

from hark.bisect.counting import Rule, Shown, Tally, wilson


@pytest.mark.parametrize(
    ("count", "runs", "low", "high"),
    [
        (0, 0, 0.0, 1.0),
        (0, 10, 0.0, 0.2775),  # Newcombe 1998 and the usual tables
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_an_interval_is_wilsons(count: int, runs: int, low: float, high: float) -> None:
    assert wilson(count, runs) == pytest.approx((low, high), abs=1e-4)


def test_an_interval_holds_the_true_rate_about_as_often_as_it_says() -> None:
    draws = random.Random(7)
    held = 0
    for _ in range(2000):
        count = sum(draws.random() < 0.8 for _ in range(40))
        low, high = wilson(count, 40)
        held += low <= 0.8 <= high
    assert 0.92 < held / 2000 < 0.98


def tally(*shown: Shown) -> Tally:
    made = Tally()
    for one in shown:
        made.add(one)
    return made


SEEN, GONE, NOTHING, LATE = Shown


@pytest.mark.parametrize(
    ("rule", "shown", "gone"),
    [
        (Rule(), [], None),
        (Rule(), [GONE], True),
        (Rule(), [SEEN], False),
        (Rule(), [NOTHING], False),
        (Rule(), [LATE], False),
        (Rule(3, 1), [LATE, LATE], False),
        (Rule(3), [GONE, GONE], None),
        (Rule(3), [GONE, GONE, GONE], True),
        (Rule(3), [GONE, SEEN], False),
        (Rule(3), [GONE, NOTHING], False),
        (Rule(3, 1), [GONE, SEEN], None),
        (Rule(3, 1), [GONE, SEEN, GONE], True),
        (Rule(3, 1), [SEEN, SEEN], False),
    ],
)
def test_an_outcome_is_gone_by_the_rule_or_takes_more_runs(
    rule: Rule, shown: list[Shown], gone: bool | None
) -> None:
    assert rule.is_gone(tally(*shown)) is gone


def test_what_chance_alone_would_do_is_said() -> None:
    assert Rule(5).by_chance(0.8) == pytest.approx(0.2**5)
    assert Rule(3, 1).by_chance(0.5) == pytest.approx(0.5)
    assert Rule(1).by_chance(1.0) == 0


def test_a_tally_says_its_interval_where_there_is_one() -> None:
    assert tally(SEEN).words() == "seen"
    assert tally(GONE).words() == "gone"
    assert tally(NOTHING).words() == "nothing was shown"
    assert tally(SEEN, GONE, NOTHING).words() == "seen 1 of 2 times (95 %: 9% to 91%), and 1 showed nothing"
    assert tally(GONE, LATE).words() == "gone, and 1 gave no answer in time"
    assert tally(GONE, LATE, NOTHING).record()["no_answer"] == 1
    assert tally(GONE, GONE).record()["interval"] == pytest.approx([0.0, 0.6576], abs=1e-4)
    assert tally().record()["interval"] is None

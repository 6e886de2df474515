"""A table of prices is read strictly, and what a price does not say has no cost."""

from decimal import Decimal
from pathlib import Path

import pytest

from hark.compare import prices
from hark.compare.prices import NoPrice, cost, over, read
from hark.conversation.values import Usage
from hark.errors import UsageError

ONE = """
[prices.one]
names = ["one-2026"]
currency = "USD"
input = 2
output = 10
cached = 0.2
cache_write = 2.5
cache_write_1h = 4
max_input = 5000
date = 2026-01-31
source = "https://prices.example"
"""
SHIPPED = Path(prices.__file__).with_name("prices.toml")


def test_the_table_that_comes_with_hark_is_one_and_every_figure_in_it_is_an_example() -> None:
    table = read(SHIPPED.read_bytes(), "prices.toml")
    assert len(table) > 10
    assert all(price.example and price.date and price.source for price in table.values())


def test_each_sort_of_token_has_its_own_price() -> None:
    price = read(ONE.encode(), "p")["one-2026"]
    assert price.example is False
    assert cost(price, Usage(1000, 100)) == Decimal("0.003")
    assert cost(price, Usage(1000, 0, cached=1000)) == Decimal("0.0002")
    # 400 fresh, 300 cached, 200 written for five minutes, 100 for an hour
    dear = Usage(1000, 0, cached=300, written=300, written_1h=100)
    assert cost(price, dear) == Decimal(800) / 1_000_000 + Decimal(60) / 1_000_000 + Decimal("0.0009")


@pytest.mark.parametrize(
    ("usage", "why"),
    [
        (Usage(None, 5), "does not count its tokens"),
        (Usage(5, None), "does not count its tokens"),
        (Usage(5001, 1), "holds for prompts of up to 5000 tokens"),
        (Usage(10, 1, cached=11), "more tokens of a cache than of input"),
        (Usage(10, 1, written=2, written_1h=3), "more tokens of a cache than of input"),
    ],
)
def test_what_a_price_does_not_say_has_no_cost(usage: Usage, why: str) -> None:
    found = cost(read(ONE.encode(), "p")["one"], usage)
    assert isinstance(found, NoPrice)
    assert why in found.why


def test_tokens_of_a_cache_need_a_price_of_their_own() -> None:
    plain = "\n".join(line for line in ONE.splitlines() if not line.startswith("cache"))
    price = read(plain.encode(), "p")["one"]
    assert cost(price, Usage(10, 1)) == Decimal("0.00003")
    assert cost(price, Usage(10, 1, cached=1)) == NoPrice("the price of one has no cached")
    assert cost(price, Usage(10, 1, written=1)) == NoPrice("the price of one has no cache_write")


def test_the_callers_own_price_counts_before_the_one_that_comes_with_hark() -> None:
    own = read(ONE.replace("input = 2", "input = 3").encode(), "own")
    both = over(own, read(ONE.encode() + ONE.replace("one", "two").encode(), "shipped"))
    assert (both["one"].input, both["one-2026"].input, both["two"].input) == (3, 3, 2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("input = 2 =", "is no TOML"),
        ("\xff", "is no TOML"),
        ("other = 1\n", "something else than prices"),
        (ONE + 'more = "x"\n', "prices.one: more is no key of a price"),
        (ONE.replace("input = 2", ""), "has no input; add input"),
        (ONE.replace("input = 2", 'input = "2"'), "input must be a number"),
        (ONE.replace("input = 2", "input = true"), "input must be a number"),
        (ONE.replace("input = 2", "input = -1"), "from 0 to"),
        (ONE.replace("input = 2", "input = inf"), "from 0 to"),
        (ONE.replace("input = 2", "input = nan"), "from 0 to"),
        (ONE.replace("USD", "dollars"), "three capital letters"),
        (ONE.replace("2026-01-31", '"January"'), "needs the date"),
        (ONE.replace("2026-01-31", "2026-01-31T10:00:00Z"), "needs the date"),
        (ONE.replace('source = "https://prices.example"', ""), "needs source"),
        (ONE.replace("5000", "0"), "max_input must be a whole number"),
        (ONE + "example = 1\n", "example must be true or false"),
        (ONE.replace('["one-2026"]', '"x"'), "names must be a list"),
        (ONE.replace("one-2026", "one"), "one has a price already"),
        ("prices = 3\n", "something else than prices"),
        ("[prices]\none = 3\n", "must be a table"),
        ("a = " + "[" * 100_000, "is no TOML"),
    ],
)
def test_a_table_that_is_half_understood_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        read(text.encode("latin-1"), "prices.toml")
    assert str(refused.value).startswith("prices.toml")

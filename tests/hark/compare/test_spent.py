"""What calls used together: one answer without a cost leaves all of them without a sum."""

from decimal import Decimal
from typing import Any

from hark.compare.prices import read
from hark.compare.spent import Spent
from hark.conversation.exchanges import Heard
from hark.conversation.values import ModelCall, Usage
from tests.hark.compare.test_prices import ONE

TABLE = read((ONE + ONE.replace("one", "two").replace("USD", "EUR") + "example = true\n").encode(), "p")


USAGE = Usage(1000, 100)


def call(model: str, answered: str, usage: Usage = USAGE, status: int = 200) -> ModelCall:
    heard: dict[str, Any] = dict.fromkeys(Heard.__dataclass_fields__)
    heard = Heard(**heard | {"status": status})  # type: ignore[assignment]
    return ModelCall("anthropic", heard, model, answered, (), None, usage, "", False, (), {})  # type: ignore[arg-type]


def spent(*calls: ModelCall) -> Spent:
    found = Spent()
    for one in calls:
        found.add(one, one.model, TABLE)
    return found


def test_the_name_in_the_answer_counts_and_then_the_one_that_was_asked_for() -> None:
    found = spent(call("two", "one"), call("one", "a stub"))
    assert (found.money, found.is_priced, found.by_example) == ({"USD": Decimal("0.006")}, True, False)
    assert (found.input, found.output, found.models) == (2000, 200, {"one": 1, "a stub": 1})


def test_money_of_two_currencies_is_not_added_up() -> None:
    found = spent(call("one", "one"), call("two", "two"))
    assert found.money == {"USD": Decimal("0.003"), "EUR": Decimal("0.003")}
    assert found.by_example


def test_one_answer_without_a_price_leaves_no_sum_and_says_which() -> None:
    found = spent(call("one", "one"), call("three", "three-a"), call("three", "three-a"))
    assert not found.is_priced
    assert list(found.unpriced) == ["no price for three-a (asked for as three)"]


def test_an_answer_that_does_not_count_its_tokens_leaves_no_sum() -> None:
    found = spent(call("one", "one"), call("one", "one", Usage()))
    assert (found.uncounted, found.is_priced) == (1, False)


def test_a_request_that_was_not_served_is_counted_apart_and_costs_nothing() -> None:
    found = spent(call("one", "", Usage(), 529), call("one", "", Usage(), 0), call("one", "one"))
    assert (found.calls, found.failed, found.uncounted, found.is_priced) == (3, 2, 0, True)

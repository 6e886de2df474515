"""What calls of models used together: tokens, and money by currency, or why there is no sum.

What always holds: one answer without a cost leaves all of them without a sum. A call that got no answer, or
one that says that it failed, used nothing that anybody counted, and is not taken for an uncounted one.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from hark.compare.prices import NoPrice, Price, Table, cost
from hark.conversation.values import ModelCall

SERVED: Final = range(200, 300)
UNNAMED: Final = "a model without a name"


@dataclass(slots=True)
class Spent:
    """Of the calls that were added."""

    calls: int = 0
    failed: int = 0
    """Calls without an answer that counts: refused, or with a status of failure."""
    input: int = 0
    output: int = 0
    cached: int = 0
    uncounted: int = 0
    """Answers that do not count their tokens."""
    money: dict[str, Decimal] = field(default_factory=dict)
    """By currency."""
    prices: dict[str, Price] = field(default_factory=dict)
    """Those that were applied, by their names."""
    unpriced: dict[str, None] = field(default_factory=dict)
    """Why there is no sum: each reason once, in order."""
    models: dict[str, int] = field(default_factory=dict)
    """How many answers each model gave, by the name it gives itself."""

    def add(self, call: ModelCall, asked: str, prices: Table) -> None:
        """Add a call; `asked` is the name that the request was sent with."""
        self.calls += 1
        if call.heard.status not in SERVED:
            self.failed += 1
            return
        name = call.answered_by or asked or UNNAMED
        self.models[name] = self.models.get(name, 0) + 1
        usage = call.usage
        self.input += usage.input or 0
        self.output += usage.output or 0
        self.cached += usage.cached or 0
        self.uncounted += usage.input is None or usage.output is None
        price = prices.get(call.answered_by) or prices.get(asked)
        found = NoPrice(f"no price for {_called(call, asked)}") if price is None else cost(price, usage)
        if isinstance(found, NoPrice):
            self.unpriced[found.why] = None
        elif price is not None:
            self.prices[price.name] = price
            self.money[price.currency] = self.money.get(price.currency, Decimal(0)) + found

    @property
    def is_priced(self) -> bool:
        """Tell whether `money` is all that was spent."""
        return not self.unpriced

    @property
    def by_example(self) -> bool:
        """Tell whether a price that is marked as an example went into it."""
        return any(price.example for price in self.prices.values())


def _called(call: ModelCall, asked: str) -> str:
    """Name what has no price: both names, where the answer has another than the request."""
    answered = call.answered_by
    if answered and asked and answered != asked:
        return f"{answered} (asked for as {asked})"
    return answered or asked or UNNAMED

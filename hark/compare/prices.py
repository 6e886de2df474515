"""What models cost: a table that is read strictly, and the cost of one answer by it, or why there is none.

What always holds: a price is that of exactly the name it stands under. What a price does not say (a sort of
tokens, a longer prompt, a model) has no cost, with the reason; nothing is rounded and nothing is guessed.

Not done here: discounts, batches, service tiers, and what is charged for other things than tokens.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from hark.conversation.values import Usage
from hark.errors import UsageError

MAX_TABLE: Final = 1 << 20  # bytes: ten thousand models
MILLION: Final = 1_000_000
_AMOUNTS: Final = ("input", "output", "cached", "cache_write", "cache_write_1h")
_KEYS: Final = frozenset((*_AMOUNTS, "names", "currency", "max_input", "date", "source", "example"))
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_MOST: Final = Decimal(10) ** 9  # for a million tokens; it is the typing error that this finds


@dataclass(frozen=True, slots=True)
class Price:
    """What a model's tokens cost, for a million of each sort; None: the table does not say."""

    name: str
    currency: str
    input: Decimal
    output: Decimal
    cached: Decimal | None
    cache_write: Decimal | None
    cache_write_1h: Decimal | None
    max_input: int | None
    date: str
    source: str
    example: bool


@dataclass(frozen=True, slots=True)
class NoPrice:
    """Why an answer has no cost: `no price for NAME`."""

    why: str


type Table = Mapping[str, Price]
"""By every name that a model has."""


def read(raw: bytes, path: str) -> dict[str, Price]:
    """Read a table. Raises UsageError, one sentence that names the file and the key."""
    if len(raw) > MAX_TABLE:
        raise UsageError(f"{path} is larger than {MAX_TABLE} bytes: it is no table of prices")
    try:
        document = tomllib.loads(raw.decode("utf-8"), parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError) as error:  # a decode error is a ValueError too
        raise UsageError(f"{path} is no TOML that can be read: {error}") from None
    prices = document.get("prices", {})
    if document.keys() - {"prices"} or not isinstance(prices, dict):
        raise UsageError(f"{path} has something else than prices: each stands under [prices.NAME]")
    found: dict[str, Price] = {}
    for name, entry in prices.items():
        price = _price(f"{path}: prices.{name}", name, entry)
        for one in (name, *_names(f"{path}: prices.{name}", entry)):
            if one in found:
                raise UsageError(f"{path}: prices.{name}: {one} has a price already; remove one")
            found[one] = price
    return found


def over(own: Table, shipped: Table) -> dict[str, Price]:
    """Return both tables as one; of a name that both have, the first counts."""
    return {**shipped, **own}


def cost(price: Price, usage: Usage) -> Decimal | NoPrice:
    """Return what an answer cost, or why that cannot be said."""
    if usage.input is None or usage.output is None:
        return NoPrice("an answer does not count its tokens")
    if price.max_input is not None and usage.input > price.max_input:
        return NoPrice(f"the price of {price.name} holds for prompts of up to {price.max_input} tokens")
    cached, hour = usage.cached or 0, usage.written_1h or 0
    written = (usage.written or 0) - hour
    rest = usage.input - cached - written - hour
    if rest < 0 or written < 0:
        return NoPrice("an answer counts more tokens of a cache than of input")
    total = price.output * usage.output + price.input * rest
    sorts = ((cached, "cached"), (written, "cache_write"), (hour, "cache_write_1h"))
    for count, key in sorts:
        amount = getattr(price, key)
        if count and amount is None:
            return NoPrice(f"the price of {price.name} has no {key}")
        total += count * amount if count else 0
    return total / MILLION


def _price(where: str, name: str, entry: Any) -> Price:
    if not isinstance(entry, dict):
        raise UsageError(f"{where} must be a table, written as [prices.{name}]")
    for key in sorted(entry.keys() - _KEYS):
        raise UsageError(f"{where}: {key} is no key of a price; known are {', '.join(sorted(_KEYS))}")
    amounts = dict(_amounts(where, entry))
    for key in ("input", "output"):
        if amounts[key] is None:
            raise UsageError(f"{where} has no {key}; add {key} = 1.25, for a million tokens")
    most = entry.get("max_input")
    if most is not None and (type(most) is not int or most < 1):
        raise UsageError(f"{where}: max_input must be a whole number from 1")
    return Price(
        name=name,
        currency=_currency(where, entry),
        max_input=most,
        date=_date(where, entry),
        source=_text(where, entry, "source", '"https://..."'),
        example=_truth(where, entry, "example"),
        **amounts,
    )


def _amounts(where: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _AMOUNTS:
        value = entry.get(key)
        if value is None:
            yield key, None
            continue
        if type(value) is not int and not isinstance(value, Decimal):
            raise UsageError(f"{where}: {key} must be a number, for a million tokens")
        amount = Decimal(value)
        if not amount.is_finite() or not 0 <= amount <= _MOST:
            raise UsageError(f"{where}: {key} must be a number from 0 to {_MOST}")
        yield key, amount


def _names(where: str, entry: Mapping[str, Any]) -> list[str]:
    names = entry.get("names", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f'{where}: names must be a list of strings, written as names = ["..."]')
    return names


def _currency(where: str, entry: Mapping[str, Any]) -> str:
    currency = _text(where, entry, "currency", '"USD"')
    if not _CURRENCY.fullmatch(currency):
        raise UsageError(f'{where}: currency must be three capital letters, written as currency = "USD"')
    return currency


def _date(where: str, entry: Mapping[str, Any]) -> str:
    value = entry.get("date")
    if type(value) is not date:  # a moment is a date to Python
        raise UsageError(f"{where} needs the date when you read it, written as date = 2026-01-31")
    return value.isoformat()


def _text(where: str, entry: Mapping[str, Any], key: str, example: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} needs {key}, written as {key} = {example}")
    return value


def _truth(where: str, entry: Mapping[str, Any], key: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{where}: {key} must be true or false")
    return value

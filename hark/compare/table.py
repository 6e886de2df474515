"""Forks as one table, as a JSON object, and as one exit code. Values to text: nothing is printed here.

What always holds: a cost stands there only where every answer of the row had a price; one by a price that is
marked as an example has a star. What is recorded is made visible.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from hark.bundle.bounds import RunEnd
from hark.bundle.outcome import EXIT, SIGNAL, split
from hark.compare.measured import Measured
from hark.compare.spent import Spent
from hark.compare.trial import FAILED, NOT_FORKED, Row
from hark.visible import visible

NO_PRICE: Final = "no price"
STAR: Final = "*"
_PLACES: Final = Decimal("0.000001")
_TITLES: Final = ("MODEL", "VERDICT", "CHECK", "AGENT", "ACTIONS", "TOKENS", "COST", "LIVE", "BUNDLE")
_RIGHT: Final = frozenset(("ACTIONS", "TOKENS", "COST", "LIVE"))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table, then what is to be said of single rows."""
    checked = any(row.check is not None for row in rows)
    titles = [title for title in _TITLES if title != "CHECK" or checked]
    cells = [_cells(row) for row in rows]
    wide = {title: max(len(title), *(len(cell[title]) for cell in cells)) for title in titles}
    for cell in ({title: title for title in titles}, *cells):
        padded = (
            cell[title].rjust(wide[title]) if title in _RIGHT else cell[title].ljust(wide[title])
            for title in titles
        )
        yield "  ".join(padded).rstrip()
    for row in rows:
        yield from _remarks(row)
    if any(_starred(row) for row in rows):
        yield f"{STAR} by a price that is marked as an example; prices.toml is for your own (docs/compare.md)"


def sums(rows: Sequence[Row], models: Sequence[str]) -> Iterator[str]:
    """Yield how many forks of each model passed, where there are several."""
    for model in models:
        own = [row for row in rows if row.model == model]
        if len(own) > 1:
            yield f"{model}: {sum(row.passed for row in own)} of {len(own)} passed"


def exit_code(rows: Sequence[Row]) -> int:
    """Return 0 if every fork was made and passed its check, what all were refused with, else 1."""
    if rows and all(row.passed for row in rows):
        return 0
    codes = {row.code for row in rows if row.word == NOT_FORKED}
    refused = len(codes) == 1 and all(row.word == NOT_FORKED for row in rows)
    return codes.pop() if refused and 0 not in codes else 1


def record(row: Row) -> dict[str, object]:
    """Return a row for programs."""
    measured = row.measured
    return {
        "model": row.model,
        "verdict": row.word,
        "passed": row.passed,
        "why": row.why or None,
        "check": row.check,
        "check_exit_code": row.check_code,
        "bundle": row.bundle,
        "fork": dict(row.verdict) or None,
        **({"live": None} if measured is None else {"live": _live(measured)}),
    }


def amount(money: Decimal) -> str:
    """Return an amount as text: to a millionth, upwards, without zeros that say nothing."""
    rounded = money.quantize(_PLACES, rounding="ROUND_UP")
    whole, _, rest = f"{rounded:f}".partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"


def _cells(row: Row) -> dict[str, str]:
    measured = row.measured
    code = "" if row.check != FAILED or row.check_code is None else f" ({row.check_code})"
    live = {} if measured is None else {
        "AGENT": _ended(measured.end),
        "ACTIONS": str(measured.actions),
        "TOKENS": _tokens(measured.spent),
        "COST": _cost(measured.spent),
        "LIVE": f"{measured.live_ns / 1e9:.1f} s",
    }  # fmt: skip
    return dict.fromkeys(_TITLES, "-") | live | {
        "MODEL": visible(row.model),
        "VERDICT": row.word,
        "CHECK": f"{row.check}{code}" if row.check is not None else "-",
        "BUNDLE": "-" if row.bundle is None else visible(row.bundle),
    }  # fmt: skip


def _ended(end: RunEnd | None) -> str:
    if end is None:
        return "-"
    word, detail = split(end.reason)
    if word == EXIT:
        return f"exit {end.exit_code}"
    return visible(detail) if word == SIGNAL and detail else visible(word)


def _tokens(spent: Spent) -> str:
    if spent.calls and spent.uncounted == spent.calls - spent.failed:
        return "not counted" if spent.uncounted else "0 + 0"
    more = f", {spent.uncounted} not counted" if spent.uncounted else ""
    return f"{spent.input} + {spent.output}{more}"


def _cost(spent: Spent) -> str:
    if not spent.is_priced:
        return NO_PRICE
    words = " + ".join(f"{amount(money)} {currency}" for currency, money in sorted(spent.money.items()))
    return (words or "0") + (STAR if spent.by_example else "")


def _starred(row: Row) -> bool:
    spent = None if row.measured is None else row.measured.spent
    return spent is not None and spent.is_priced and spent.by_example


def _remarks(row: Row) -> Iterator[str]:
    if row.why:
        yield f"{visible(row.model)}: {visible(row.why)}"
    for kind in ("first_denial", "first_not_done_again"):
        if first := row.verdict.get(kind):
            yield f"{visible(row.model)}: refused {visible(first['what'])}: {visible(first['why'])}"
    if row.measured is None:
        return
    spent = row.measured.spent
    for why in spent.unpriced:
        yield f"{visible(row.model)}: {visible(why)}"
    if spent.calls == 0:
        yield f"{visible(row.model)}: it asked no model where it was live"
    elif spent.failed:
        yield f"{visible(row.model)}: {spent.failed} of {spent.calls} requests to a model were not answered"


def _live(measured: Measured) -> dict[str, object]:
    spent, end = measured.spent, measured.end
    return {
        "actions": measured.actions,
        "seconds": measured.live_ns / 1e9,
        "end": None if end is None else {"exit_code": end.exit_code, "reason": end.reason},
        "calls": spent.calls,
        "calls_failed": spent.failed,
        "models": dict(spent.models),
        "tokens": {
            "input": spent.input,
            "output": spent.output,
            "cached": spent.cached,
            "answers_not_counted": spent.uncounted,
        },
        "cost": {currency: str(money) for currency, money in spent.money.items()}
        if spent.is_priced
        else None,
        "no_price": list(spent.unpriced),
        "prices": [
            {"name": price.name, "date": price.date, "source": price.source, "example": price.example}
            for price in spent.prices.values()
        ],
    }

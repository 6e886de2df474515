"""Attacks by trap, each with what came of it defended and with the defence taken away.

An attack that was not seen to be refused is not refused: whatever an attack program did not say is unknown.
The switches that take a defence away live in the tests; the product has none.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, Protocol


class Verdict(Enum):
    """What came of an attack, as it was observed."""

    SUCCEEDED = "succeeded"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and what it was read from."""

    verdict: Verdict
    detail: str = ""

    @classmethod
    def said(cls, text: str) -> "Outcome":
        """Read from the last line that an attack program printed: `SUCCEEDED ...` or `REFUSED ...`."""
        line = text.strip().rpartition("\n")[2]
        word, _, detail = line.partition(" ")
        known = {verdict.name: verdict for verdict in Verdict}
        if word not in known:
            return cls(Verdict.UNKNOWN, line or "said nothing")
        return cls(known[word], detail)

    @classmethod
    def seen(cls, detail: str, *, succeeded: bool) -> "Outcome":
        """Read by the test itself, from what the attack left behind."""
        return cls(Verdict.SUCCEEDED if succeeded else Verdict.REFUSED, detail)


class Attempt(Protocol):
    """What is decorated with `attack`."""

    @staticmethod
    def defended() -> Outcome:
        """Run it against hark as it is."""
        ...

    @staticmethod
    def undefended() -> Outcome:
        """Run it where hark is not, or with the one defence taken away that it is about."""
        ...


@dataclass(frozen=True, slots=True)
class Attack:
    """One registered attack."""

    trap: int
    name: str
    defended: Callable[[], Outcome]
    undefended: Callable[[], Outcome]

    def __str__(self) -> str:
        return f"trap {self.trap}: {self.name}"


_registered: Final[list[Attack]] = []
_without: Final[list[object]] = []


def patience(hasty: float = 1.5) -> float:
    """Seconds to wait for what comes where hark is whole: it may never where a defence is off."""
    return hasty if _without else 60.0


def attack(*, trap: int, name: str) -> Callable[[type[Attempt]], type[Attempt]]:
    """Register a class with static methods `defended` and `undefended`."""

    def register(kind: type[Attempt]) -> type[Attempt]:
        add(trap, name, kind.defended, kind.undefended)
        return kind

    return register


def add(trap: int, name: str, defended: Callable[[], Outcome], undefended: Callable[[], Outcome]) -> None:
    """Register one attack of a family that a loop makes."""
    _registered.append(Attack(trap, name, defended, undefended))


def run_without(
    defence: Callable[[], AbstractContextManager[object]], run: Callable[[], Outcome]
) -> Callable[[], Outcome]:
    """The same attack while `defence()` keeps one defence away."""

    def bare() -> Outcome:
        _without.append(defence)
        try:
            with defence():
                return run()
        finally:
            _without.pop()

    return bare


def all_attacks() -> list[Attack]:
    """Every attack below tests/attacks, by trap."""
    here = Path(__file__).parent
    for path in sorted(here.glob("*/*.py")):
        if not path.name.startswith(("test_", "_")):
            importlib.import_module(f"tests.attacks.{path.parent.name}.{path.stem}")
    return sorted(_registered, key=lambda one: (one.trap, one.name))

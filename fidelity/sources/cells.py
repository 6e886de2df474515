"""What a source is in a runtime: a cell of the table, from what was printed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fidelity.sources.rows import BY_RULE, reason
from fidelity.sources.runs import Pair


class State(StrEnum):
    """What a cell says."""

    EQUAL = "equal"
    UNPROVEN = "equal (unproven)"
    RULE = "by rule"
    UNCOVERED = "not covered"
    WRONG = "DIFFERS"
    ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Cell:
    """One of them, with the reason where it has one."""

    state: State
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is as promised."""
        return self.state is not State.WRONG


def is_error(value: str) -> bool:
    """Whether a probe could not ask."""
    return value.lstrip("'\"").startswith("ERROR")


def cell(runtime: str, source: str, pair: Pair, controls: Iterable[Pair]) -> Cell:
    """Judge one source. It counts as equal only if in one of the controls it was not."""
    one, other = pair.first.get(source), pair.second.get(source)
    if one is None and other is None:
        return Cell(State.ABSENT)
    if one is None or other is None:
        return Cell(State.WRONG, "it was told in one of the runs only")
    if one != other:
        if source in BY_RULE:
            return Cell(State.RULE, BY_RULE[source])
        if known := reason(runtime, source):
            return Cell(State.UNCOVERED, known)
        return Cell(State.WRONG, f"was {one[:60]}, is {other[:60]}")
    if is_error(one):
        return Cell(State.ABSENT, one)
    if any(differs(control, source) for control in controls):
        return Cell(State.EQUAL)
    return Cell(State.UNPROVEN, "it does not differ here without shims and without hark either")


def differs(control: Pair, source: str) -> bool:
    """Whether the source is told, and otherwise, in a control."""
    one, other = control.first.get(source), control.second.get(source)
    return one is not None and other is not None and one != other


type Column = Mapping[str, Cell]

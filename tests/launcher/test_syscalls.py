"""The tables: every call on the allow-list has a reason, and no call stands in two of them."""

import pytest

from launcher.numbers import ARM64, NUMBERS, X86_64
from launcher.syscalls import ALLOWED, AS_CONTAINERS, JUDGED, MISSING, NESTED, UNNESTED
from launcher.traced import TRACED

CONTAINERS = [name for names in AS_CONTAINERS.values() for name in names.split()]
DECIDED = ALLOWED | JUDGED | MISSING | NESTED


def test_every_allowed_call_was_traced_or_is_allowed_to_containers_and_not_both() -> None:
    assert set(ALLOWED) == {name for name in {*TRACED, *CONTAINERS} if name not in JUDGED | MISSING | NESTED}
    assert not set(CONTAINERS) & set(TRACED), "they were seen by now: take them out of AS_CONTAINERS"
    assert len(CONTAINERS) == len(set(CONTAINERS))


def test_every_call_is_in_one_table_and_has_its_numbers() -> None:
    assert len(DECIDED) == len(ALLOWED) + len(JUDGED) + len(MISSING) + len(NESTED)
    assert set(DECIDED) == set(NUMBERS)


@pytest.mark.parametrize("architecture", [X86_64, ARM64], ids=["x86-64", "arm64"])
def test_no_number_stands_for_two_calls(architecture: int) -> None:
    numbers = [row[architecture] for row in NUMBERS.values() if row[architecture] is not None]
    assert len(numbers) == len(set(numbers))


def test_what_nesting_takes_away_is_allowed_elsewhere() -> None:
    assert set(UNNESTED) <= set(ALLOWED)

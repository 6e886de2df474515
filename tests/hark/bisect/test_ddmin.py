"""Both searches against oracles: what they return does, and nothing of it can be spared."""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.bisect.ddmin import Search, ddmin, probable

type Does = Callable[[frozenset[int]], bool]

BOTH = pytest.mark.parametrize("search", [ddmin, probable])


def run(search: Search[int], does: Does) -> tuple[tuple[int, ...], int]:
    """What a search finds, and how many different questions it took."""
    asked: dict[frozenset[int], bool] = {}

    def first(candidates: Sequence[tuple[int, ...]]) -> int | None:
        for index, one in enumerate(candidates):
            key = frozenset(one)
            if asked.setdefault(key, does(key)):
                return index
        return None

    answer: int | None = None
    begun = False
    while True:
        try:
            candidates = search.send(answer) if begun else next(search)
        except StopIteration as ended:
            return ended.value, len(asked)
        begun = True
        answer = first(candidates)


def minimal(found: tuple[int, ...], does: Does) -> bool:
    whole = frozenset(found)
    return does(whole) and not any(does(whole - {one}) for one in whole if len(whole) > 1)


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1000])
def test_one_item_is_found_wherever_it_stands(search: Callable[..., Search[int]], size: int) -> None:
    for at in {0, size // 2, size - 1}:
        found, _ = run(search(range(size)), lambda asked, at=at: at in asked)
        assert found == (at,)


def test_one_item_takes_no_more_than_the_bound() -> None:
    for size in (2, 16, 100, 1000):
        most = max(run(ddmin(range(size)), lambda asked, at=at: at in asked)[1] for at in range(size))
        assert most <= 2 * math.ceil(math.log2(size))


@BOTH
def test_where_two_have_to_go_both_are_found(search: Callable[..., Search[int]]) -> None:
    """Either of two spans suffices, so only without both of them the outcome is gone."""
    found, asked = run(search(range(64)), lambda one: {5, 50} <= one)
    assert set(found) == {5, 50}
    assert asked <= 64**2 + 3 * 64


@BOTH
def test_where_either_will_do_one_is_found(search: Callable[..., Search[int]]) -> None:
    """Two spans are needed together, so the outcome is gone without either."""
    found, _ = run(search(range(64)), lambda one: bool({5, 50} & one))
    assert found in {(5,), (50,)}


@BOTH
@given(
    size=st.integers(1, 24),
    causes=st.lists(st.frozensets(st.integers(0, 23), min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_what_is_found_is_minimal_whatever_is_needed(
    search: Callable[..., Search[int]], size: int, causes: list[frozenset[int]]
) -> None:
    def does(asked: frozenset[int]) -> bool:
        return asked == frozenset(range(size)) or any(cause <= asked for cause in causes)

    found, asked = run(search(range(size)), does)
    assert minimal(found, does)
    assert asked <= size**2 + 3 * size


@BOTH
@given(answers=st.lists(st.booleans(), min_size=1, max_size=50), size=st.integers(1, 12))
def test_answers_without_sense_end_it_too(
    search: Callable[..., Search[int]], answers: list[bool], size: int
) -> None:
    given_answers = iter(answers * 1000)
    found, _ = run(search(range(size)), lambda _: next(given_answers))
    assert 0 < len(found) <= size


@BOTH
def test_nothing_is_asked_about_one_item(search: Callable[..., Search[int]]) -> None:
    def never(_: frozenset[int]) -> bool:
        raise AssertionError

    assert run(search(["a"]), never) == (("a",), 0)

"""The bucket: bursts up to its size, then the rate, whatever the clock says."""

from hypothesis import given
from hypothesis import strategies as st

from mediator.pace import Pace


def test_a_burst_passes_and_then_the_rate() -> None:
    pace = Pace(rate=2, burst=10, now=0.0)
    assert [pace.take(0.0) for _ in range(11)] == [True] * 10 + [False]
    assert [pace.take(2.0) for _ in range(4)] == [True] * 3 + [False]


@given(st.lists(st.floats(0, 5), max_size=200))
def test_over_any_time_no_more_passes_than_burst_and_rate_allow(steps: list[float]) -> None:
    pace = Pace(rate=3, burst=5, now=0.0)
    now, passed = 0.0, 0
    for step in steps:
        now += step
        passed += pace.take(now)
    assert passed <= 5 + 3 * now + 1e-6

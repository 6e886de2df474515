"""What a replay leaves alone where nothing else is given."""

from mediator.playback.clock import RealClock, always_idle


def test_without_a_page_no_clock_is_moved_and_an_agent_that_cannot_be_seen_is_idle() -> None:
    RealClock().release(10**9, 10**9)
    assert always_idle()

"""An event's time on the wall: from the run's beginning, and after a branch from there."""

from hark.bundle import events as ev
from hark.export.wall import Wall, iso
from tests.hark.export.story import MS, frame, frames
from tests.support.recordings import STARTED


def test_times_are_counted_from_the_beginning_and_from_each_branch_on():
    wall = Wall()
    for one in frames():
        wall.see(one)
    assert wall.at(5 * MS) == STARTED + 5 * MS
    wall.see(frame(9, ev.Branch(wall_ns=STARTED * 2), 7 * MS))
    assert (wall.at(6 * MS), wall.at(7 * MS), wall.at(8 * MS)) == (
        STARTED + 6 * MS,
        STARTED * 2,
        STARTED * 2 + MS,
    )
    wall.see(frame(12, ev.Branch(wall_ns=MS), 9 * MS))
    assert (wall.at(8 * MS), wall.at(10 * MS)) == (STARTED * 2 + MS, 2 * MS)


def test_text_is_utc_and_no_time_is_too_large_or_too_small_for_it():
    assert iso(1_755_400_000_123_456_789) == "2025-08-17T03:06:40.123456Z"
    assert iso(1 << 70) == "9999-12-31T23:59:59.999999Z"
    wall = Wall()
    wall.see(frame(0, ev.RunStart(started_at=-5)))
    assert wall.text(0) == "1970-01-01T00:00:00.000000Z"

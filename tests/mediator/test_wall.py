"""The machine's time comes with its zone."""

import time

import pytest

from mediator.wall import local_now


@pytest.mark.parametrize(("zone", "hours"), [("UTC0", 0), ("XXX-5", 5), ("YYY7", -7)])
def test_the_time_is_in_the_machines_zone(monkeypatch, zone, hours) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        offset = local_now().utcoffset()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert offset is not None
    assert offset.total_seconds() == hours * 3600

"""Times and sizes with units: nothing is guessed."""

from datetime import UTC, datetime, time

import pytest

from hark.policy.model import Hours
from hark.policy.quantities import shown_duration, shown_size
from tests.support.policies import read, refused


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1d", 86400), ("0h5s", 5)]
)
def test_a_span_of_time_is_seconds(text, seconds):
    assert read(f'[limits]\ntime = "{text}"').limits.time_s == seconds


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("10", 'write "10s" or "10m"'),
        ('""', "no span of time"),
        ('"10"', "no span of time"),
        ('"1.5h"', "no span of time"),
        ('"10s5m"', "no span of time"),
        ('"-5s"', "no span of time"),
        ('"0s"', "more than nothing"),
        ('"9999999h"', "at most a year"),
        ("true", "must be a string"),
    ],
)
def test_another_span_of_time_is_refused(value, words):
    assert words in refused(f"[limits]\ntime = {value}")


@pytest.mark.parametrize(
    ("text", "size"), [("16MiB", 16 << 20), ("2GiB", 2 << 30), ("2GB", 2 * 10**9), ("1 TiB", 1 << 40)]
)
def test_a_size_is_bytes(text, size):
    assert read(f'[limits]\nmemory = "{text}"').limits.memory == size


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("512", 'write "512MiB"'),
        ('"2G"', "units: B, kB"),
        ('"2gib"', "units: B, kB"),
        ('"1.5GiB"', "no size"),
        ('"1MiB"', "must be between 16777216"),
        ('"9999TiB"', "must be between"),
    ],
)
def test_another_size_is_refused(value, words):
    assert words in refused(f"[limits]\nmemory = {value}")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(28800, "8h"), (5400, "1h30m"), (90, "1m30s"), (86400 * 2 + 1, "2d1s"), (59, "59s")],
)
def test_a_span_of_time_is_shown_as_it_is_written(seconds, shown):
    assert shown_duration(seconds) == shown
    assert read(f'[limits]\ntime = "{shown}"').limits.time_s == seconds


@pytest.mark.parametrize(
    ("size", "shown"),
    [(4 << 30, "4GiB"), (512 << 20, "512MiB"), (2 * 10**9, "2GB"), (1_500_000, "1500kB"), (1 << 40, "1TiB")],
)
def test_a_size_is_shown_exactly_as_it_is_written(size, shown):
    assert shown_size(size) == shown
    assert read(f'[record]\nmax_bytes = "{shown}"').max_bytes == size
    assert shown_size(size + 1) == f"{size + 1} bytes"


def test_a_number_of_bytes_will_do_where_the_key_says_bytes():
    assert read("[record]\nmax_bytes = 5_000_000").max_bytes == 5_000_000


@pytest.mark.parametrize(
    ("value", "words"), [("0", "between 1 and"), ("true", "whole number"), ("1.5", "whole number")]
)
def test_another_count_is_refused(value, words):
    assert words in refused(f"[limits]\nprocesses = {value}")


def rule(line: str) -> str:
    return f'[[allow]]\nhost = "a.example"\n{line}'


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("09:00-18:30", Hours(time(9), time(18, 30))),
        ("22:00-06:00", Hours(time(22), time(6))),
        ("22:00-24:00", Hours(time(22), time(0))),
    ],
)
def test_hours_are_a_window_of_each_day(text, hours):
    assert read(rule(f'hours = "{text}"')).allow[0].hours == hours


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9-18", "no daily window"),
        ("09:00-25:00", "hours are 00 to 23"),
        ("09:60-10:00", "minutes 00 to 59"),
        ("09:00-09:00", "leave it out for the whole day"),
        ("09:00-24:01", "hours are 00 to 23"),
    ],
)
def test_other_hours_are_refused(text, words):
    assert words in refused(rule(f'hours = "{text}"'))


def test_a_moment_has_a_zone():
    assert read(rule("until = 2031-01-01T01:00:00+01:00")).allow[0].until == datetime(2031, 1, 1, tzinfo=UTC)
    assert "write 2031-01-01T01:00:00Z for UTC" in refused(rule("until = 2031-01-01T01:00:00"))
    assert "without quotes" in refused(rule('until = "2031-01-01T01:00:00Z"'))
    assert "without quotes" in refused(rule("until = 2031-01-01"))

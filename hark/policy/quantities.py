"""Times and sizes with their units: `90s`, `1h30m`, `512MiB`. A bare number is refused, as it has none."""

import re
from datetime import datetime, time
from typing import Final

from hark.policy.model import Hours
from hark.policy.reading import Node

MAX_SECONDS: Final = 365 * 24 * 3600  # a longer run is a slip of the pen
MAX_BYTES: Final = 1 << 50  # larger than any disk that one machine holds; the next digit is a slip too
_DURATION: Final = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_SECONDS: Final = (24 * 3600, 3600, 60, 1)
_SIZE: Final = re.compile(r"(\d{1,16}) ?([A-Za-z]{1,3})", re.ASCII)
_UNITS: Final = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}  # fmt: skip
_HOURS: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII)


def duration(node: Node) -> float:
    """Read a span of time and return seconds."""
    if type(node.value) is int:
        node.fail(f'{node.name} has no unit; write "{node.value}s" or "{node.value}m"')
    text = node.string()
    found = _DURATION.fullmatch(text)
    if not text or not found:
        node.fail(f'{node.name} is no span of time: "{text}"; write "90s", "10m" or "1h30m"')
    seconds = sum(int(part or 0) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True))
    if not 0 < seconds <= MAX_SECONDS:
        node.fail(f'{node.name} is "{text}"; it must be more than nothing and at most a year')
    return float(seconds)


def size(node: Node, least: int) -> int:
    """Read a size of at least `least` and return bytes."""
    if type(node.value) is int:
        node.fail(f'{node.name} has no unit; write "{node.value}MiB", or "{node.value}B" for bytes')
    text = node.string()
    found = _SIZE.fullmatch(text)
    if not found or found[2] not in _UNITS:
        node.fail(f'{node.name} is no size: "{text}"; write "512MiB" or "2GiB" (units: {", ".join(_UNITS)})')
    return _between(node, int(found[1]) * _UNITS[found[2]], least)


def size_or_bytes(node: Node, least: int) -> int:
    """Read a size under a key that has its unit in its name: bytes as a number will do."""
    return _between(node, node.value, least) if type(node.value) is int else size(node, least)


def shown_duration(seconds: float) -> str:
    """Return a span of time as a policy would say it: `1h30m`."""
    left, parts = int(seconds), []
    for unit, name in zip(_SECONDS, "dhms", strict=True):
        number, left = divmod(left, unit)
        if number:
            parts.append(f"{number}{name}")
    return "".join(parts)


def shown_size(number: int) -> str:
    """Return a size as a policy would say it, exactly: `4GiB`; in bytes where no unit fits."""
    whole = [(number // unit, name) for name, unit in _UNITS.items() if number % unit == 0]
    least, name = min(whole)
    return f"{least} bytes" if name == "B" else f"{least}{name}"


def count(node: Node, most: int) -> int:
    """Read a whole number from 1 to `most`."""
    number = node.number()
    if not 1 <= number <= most:
        node.fail(f"{node.name} is {number}; it must be between 1 and {most}")
    return number


def hours(node: Node) -> Hours:
    """Read `09:00-18:00`, a window of each day in the machine's local time."""
    text = node.string()
    found = _HOURS.fullmatch(text)
    if not found:
        node.fail(f'{node.name} is no daily window: "{text}"; write "09:00-18:00"')
    begin_hour, begin_minute, end_hour, end_minute = map(int, found.groups())
    try:
        start = time(begin_hour, begin_minute)
        end = time(0 if (end_hour, end_minute) == (24, 0) else end_hour, end_minute)
    except ValueError:
        node.fail(f'{node.name} is "{text}"; hours are 00 to 23 and minutes 00 to 59')
    if start == end:
        node.fail(f"{node.name} begins and ends at the same minute; leave it out for the whole day")
    return Hours(start, end)


def moment(node: Node) -> datetime:
    """Read a point in time: a TOML datetime with its zone."""
    if not isinstance(node.value, datetime):
        node.fail(f"{node.name} must be a time with its zone, written without quotes: 2030-01-31T18:00:00Z")
    if node.value.tzinfo is None:
        node.fail(f"{node.name} has no zone; write {node.value.isoformat()}Z for UTC, or the offset: +02:00")
    return node.value


def _between(node: Node, number: int, least: int) -> int:
    if not least <= number <= MAX_BYTES:
        node.fail(f"{node.name} is {number} bytes; it must be between {least} and {MAX_BYTES}")
    return number

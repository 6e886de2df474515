"""Run ids: ULIDs, 26 characters of Crockford's base 32, 48 bits of time and 80 of randomness.

What always holds: time and randomness are passed in, so the same arguments give the same id; ids of later
milliseconds sort later as text. Not done here: order within one millisecond.
"""

from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH: Final = 26
RANDOM_BYTES: Final = 10


def ulid(unix_ns: int, random: bytes) -> str:
    """The id for a time and `RANDOM_BYTES` random bytes."""
    milliseconds = unix_ns // 1_000_000
    if not 0 <= milliseconds < 1 << 48 or len(random) != RANDOM_BYTES:
        raise ValueError(f"a ULID takes 48 bits of milliseconds and {RANDOM_BYTES} random bytes")
    number = milliseconds << 80 | int.from_bytes(random)
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def is_ulid(text: str) -> bool:
    """Whether `text` could have come from `ulid`."""
    return len(text) == LENGTH and begins_ulid(text)


def begins_ulid(text: str) -> bool:
    """Whether an id could begin with `text`, or be it."""
    known = all(character in ALPHABET for character in text)
    return 0 < len(text) <= LENGTH and text[0] <= "7" and known

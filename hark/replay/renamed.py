"""Requests that differ from recorded ones only by identifiers that were drawn anew, and what is called what.

What always holds: a renaming is a bijection over the whole run: no recorded identifier stands for two, and no
two for one; it says nothing about text that is no identifier; what it is applied to changes only in
identifiers that it holds. It is for runs where it was asked for, and its list stands in the verdict: an agent
whose randomness nothing reaches (a static binary) can be replayed no other way, and never silently so.

An identifier is a UUID, hex of 16 to 128 digits, a ULID, or words such as `toolu_` and 16 to 128 letters and
digits behind them; but for UUIDs there are letters and digits in it. Both sides of a pair are of one kind and
length, and of the same words. So a model's name with its date is none, and neither is a time in nanoseconds.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from hark.bundle.fields import NO_MAP
from hark.replay.canonical import Canonical

MAX_NAMES: Final = 100_000  # a run that draws more identifiers than that is not one to rename
_TOKEN: Final = re.compile(rb"([A-Za-z0-9_-]{16,})")
_UUID: Final = re.compile(rb"()[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX: Final = re.compile(rb"()(?=[0-9]*[A-Fa-f])(?:[0-9a-f]{16,128}|[0-9A-F]{16,128})")
_ULID: Final = re.compile(rb"()[0-7][0-9A-HJKMNP-TV-Z]{25}")
_MIXED: Final = re.compile(
    rb"((?:[A-Za-z]{1,16}[-_]){0,3})(?=[a-zA-Z]*[0-9])(?=[0-9]*[a-zA-Z])[A-Za-z0-9]{16,128}"
)
_KINDS: Final = (("uuid", _UUID), ("hex", _HEX), ("ulid", _ULID), ("id", _MIXED))


def kind_of(token: bytes) -> tuple[str, bytes]:
    """Return which kind of identifier a run of characters is, and its words; empty for none."""
    for name, pattern in _KINDS:
        if found := pattern.fullmatch(token):
            return name, found[1]
    return "", b""


class Renaming:
    """Recorded identifiers and what the replay has in their place, in the order in which they were met."""

    def __init__(self, now: Mapping[bytes, bytes] = NO_MAP, was: Mapping[bytes, bytes] = NO_MAP) -> None:
        self._now = dict(now)
        self._was = dict(was)

    def __len__(self) -> int:
        return len(self._now)

    @property
    def pairs(self) -> Mapping[str, str]:
        """Return recorded identifiers and the replay's, those alone that differ."""
        return {was.decode(): now.decode() for was, now in self._now.items() if was != now}

    def taking(self, found: Mapping[bytes, bytes]) -> "Renaming | None":
        """Return a renaming with these pairs too; None where that would be no bijection, or too long."""
        wider = Renaming(self._now, self._was)
        return wider if wider._take(found) else None

    def _take(self, found: Mapping[bytes, bytes]) -> bool:
        for was, now in found.items():
            if self._now.setdefault(was, now) != now or self._was.setdefault(now, was) != was:
                return False
        return len(self) <= MAX_NAMES

    def applied(self, data: bytes) -> bytes:
        """Return recorded bytes with the replay's identifiers, for an answer that is served."""
        return _TOKEN.sub(lambda found: self._swap(found[0], self._now), data)

    def undone(self, data: bytes) -> bytes:
        """Return the replay's bytes with the recorded identifiers, for a comparison."""
        return _TOKEN.sub(lambda found: self._swap(found[0], self._was), data)

    @staticmethod
    def _swap(token: bytes, names: Mapping[bytes, bytes]) -> bytes:
        return names.get(token, token)


class Renamed(NamedTuple):
    """A recorded request that another one is but for names, and the renaming with those names."""

    seq: int
    renaming: Renaming


def find(
    replayed: Canonical, recorded: Iterable[tuple[int, Canonical]], renaming: Renaming
) -> Renamed | None:
    """Return the first of some recorded requests, each with its event, that another one is but for names."""
    for seq, request in recorded:
        wider = renamed(request, replayed, renaming)
        if wider is not None:
            return Renamed(seq, wider)
    return None


def renamed(recorded: Canonical, replayed: Canonical, renaming: Renaming) -> Renaming | None:
    """Return the renaming under which two requests are one; None where nothing of the kind is.

    A body that is not held (`hark.replay.canonical.MAX_HELD`) is one only with itself.
    """
    texts = _texts(recorded), _texts(replayed)
    if len(texts[0]) != len(texts[1]):
        return None
    found: dict[bytes, bytes] = {}
    for was, now in zip(*texts, strict=True):
        if not _align(was, now, found):
            return None
    return renaming.taking(found)


def _texts(request: Canonical) -> list[bytes]:
    """Return all that counts of a request, in one order."""
    held = request.size == len(request.body)
    texts = [request.method.encode(), request.host.encode(), request.form.encode(), request.path]
    texts += [
        part for name, value in request.query for part in (name, b"" if value is None else b"=" + value)
    ]
    texts += [part for field in request.headers for part in field]
    return [*texts, request.body if held else request.digest.hex(" ").encode()]


def _align(was: bytes, now: bytes, found: dict[bytes, bytes]) -> bool:
    """Pair the identifiers of two texts; False where they differ in anything else, or pair in two ways."""
    if len(was) != len(now):
        return False
    mine, theirs = _TOKEN.split(was), _TOKEN.split(now)
    if mine[::2] != theirs[::2]:
        return False
    for one, other in zip(mine[1::2], theirs[1::2], strict=True):
        kind = kind_of(one)
        if one != other and (not kind[0] or len(one) != len(other) or kind != kind_of(other)):
            return False
        if kind[0] and found.setdefault(one, other) != other:
            return False
    return True

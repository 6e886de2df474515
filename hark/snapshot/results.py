"""What a run did to a tree: every file that it made, changed or removed, against what was there before.

A file that has the status of before, ctime included, was not touched and is not read. One that was written
with what it held, or only given another time, is no difference. Rules about what is ignored are those of
before. What is new and cannot be compared, a folder that cannot be looked into or a FIFO, is named; files
that were in such a folder are not called removed.
"""

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from blake3 import blake3

from hark.bundle.events import FileResult, ShimReport
from hark.snapshot.collect import CHANGED, Collected, LeftOutError, hashed, same
from hark.snapshot.contents import MAX_FILE, Take
from hark.snapshot.names import spelled
from hark.snapshot.survey import (
    MAX_DEPTH,
    SPECIAL,
    TOO_DEEP,
    TOO_MANY,
    UNREADABLE,
    Descent,
    Search,
    held,
    holds,
    survey,
)

MAX_RESULTS: Final = 20_000  # events; an agent that makes more is told of by number
MAX_UNCOMPARED: Final = 1_000  # events
MAX_READ: Final = 1 << 30  # bytes that are read to hash what it made
SOURCE: Final = "files"
_CLOSED: Final = (TOO_DEEP, TOO_MANY, UNREADABLE)


def results(
    root: str,
    before: Collected,
    kept_back: Collection[bytes],
    search: Search | None,
    take: Take | None = None,
) -> Iterator[FileResult | ShimReport]:
    """Yield the differences, by path. Raises OSError where the tree's root is gone.

    `take` is given what a changed file holds, where that is little.
    """
    after = survey(root, before.survey.rules, kept_back, search, learn=False)
    was, now = dict(before.survey.files()), dict(after.files())
    if after.cut:
        yield ShimReport(
            SOURCE, "what lies in the largest folders", "there are too many files to look through"
        )
    closed = {path for path, why in after.left_out.items() if path.endswith(b"/") and why in _CLOSED}
    budget, seen = MAX_READ, 0
    with Descent(root) as descent:
        for path in sorted(was.keys() | now.keys()):
            status, earlier = now.get(path), was.get(path)
            if status is not None and earlier is not None and same(status, earlier):
                continue
            if status is None and closed and _is_within(path, closed):
                continue
            seen += 1
            if seen > MAX_RESULTS:
                continue
            if status is None:
                yield FileResult(spelled(path), 0, b"")
                continue
            try:
                found, data = _read(descent, path, status, search, budget)
            except (LeftOutError, OSError) as error:
                yield ShimReport(SOURCE, spelled(path), _why(error))
                continue
            budget -= status.st_size
            if earlier is None or earlier.st_mode != status.st_mode or before.entries.get(path) != found:
                yield FileResult(spelled(path), status.st_mode, found)
                if take is not None and data is not None:
                    take(found, data)
    if seen > MAX_RESULTS:
        yield ShimReport(SOURCE, f"{seen - MAX_RESULTS} more files", f"a run records {MAX_RESULTS} at most")
    yield from _uncompared(before.survey.left_out, after.left_out)


def _uncompared(before: Mapping[bytes, str], after: Mapping[bytes, str]) -> Iterator[ShimReport]:
    """Yield what is left out now and was not: folders first, since anything may lie in them."""
    new = [(path, words) for path, why in after.items() if before.get(path) != why and (words := _words(why))]
    new.sort(key=lambda one: (not one[0].endswith(b"/"), one[0]))
    for path, words in new[:MAX_UNCOMPARED]:
        yield ShimReport(SOURCE, spelled(path), words)
    if len(new) > MAX_UNCOMPARED:
        more = len(new) - MAX_UNCOMPARED
        yield ShimReport(
            SOURCE, f"{more} more that could not be compared", f"{MAX_UNCOMPARED} are named at most"
        )


def _words(why: str) -> str:
    """Why something cannot be compared; empty where it was not to be."""
    if why == TOO_DEEP:
        return f"{MAX_DEPTH} folders in one another are looked into at most"
    if why == UNREADABLE:
        return "it cannot be listed"
    if why in SPECIAL:
        return f"it is a {why}"
    return why if held(why) is not None else ""


def _is_within(path: bytes, folders: Collection[bytes]) -> bool:
    """Whether one of the folders, whose paths end with a slash, is above the path."""
    at = path.find(b"/")
    while at >= 0:
        if path[: at + 1] in folders:
            return True
        at = path.find(b"/", at + 1)
    return b"/" in folders


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, LeftOutError) else "it cannot be read"


def _read(
    descent: Descent, path: bytes, status: os.stat_result, search: Search | None, budget: int
) -> tuple[bytes, bytes | None]:
    """Return a file's hash, and what it holds if that is little."""
    folder, _, name = path.rpartition(b"/")
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=descent.folder(folder))
        if search is not None and (secret := search(target)) is not None:
            raise LeftOutError(f"holds the value of secrets.{secret}")
        return blake3(target).digest(), None
    if status.st_size > budget:
        raise LeftOutError(f"more than {MAX_READ} bytes would have to be read")
    with open(descent.file(folder, name), "rb") as file:
        if status.st_size > MAX_FILE:
            return hashed(file.fileno(), search, status.st_size), None
        data = file.read(MAX_FILE + 1)
    if len(data) > status.st_size:
        raise LeftOutError(CHANGED)
    if search is not None and (secret := search(data)) is not None:
        raise LeftOutError(holds(secret))
    return blake3(data).digest(), data

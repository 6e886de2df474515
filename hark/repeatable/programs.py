"""Which programs the agent executed, by the hash of their files: what a replay compares before all else.

The paths are the agent's word: any text may stand there. So a file is looked at where a grant shows it,
through no symbolic link, if it is a regular file that is not kept from the agent; what is read is bounded.
Nothing of a file but its hash goes into the record. What an agent executed and then replaced has the hash of
what is there at the end.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from blake3 import blake3

from hark.bundle.events import FsManifest, ShimReport
from hark.places import contains, within
from launcher import kernel
from launcher.plan import Plan

ROOT: Final = "programs"
MAX_PROGRAMS: Final = 4096
MAX_BYTES: Final = 1 << 30  # in all: an interpreter has 10 MB, Node 100
_MAX_NAMED: Final = 20
_PART: Final = 1 << 20


def manifest(named: Iterable[str], plan: Plan) -> Iterator[FsManifest | ShimReport]:
    """Yield the event with the hash of each program, and a report for each that has none."""
    entries: dict[str, bytes] = {}
    failed: list[tuple[str, str]] = []
    left = MAX_BYTES
    for number, path in enumerate(named):
        if number >= MAX_PROGRAMS:
            failed.append(("the rest", f"more than {MAX_PROGRAMS} programs were named"))
            break
        try:
            entries[_utf8(path)], size = _hash(_on_host(path, plan), left)
            left -= size
        except _UnfitError as error:
            failed.append((_utf8(path), str(error)))
    if entries:
        yield FsManifest(entries=entries, root=ROOT)
    for path, why in failed[:_MAX_NAMED]:
        yield ShimReport(source=ROOT, what=path, why=why)


class _UnfitError(Exception):
    """Why a path that was named is not looked at."""


def _on_host(path: str, plan: Plan) -> str:
    """Where the host has what the agent calls `path`, if a grant shows it and nothing keeps it back."""
    if os.path.normpath(path) != path:
        raise _UnfitError("it is no plain path")
    shown = [(os.path.realpath(grant.path), grant) for grant in plan.grants]
    over = [(place, grant) for place, grant in shown if contains(place, path)]
    if not over:
        raise _UnfitError("no grant shows it")
    place, grant = max(over, key=lambda pair: len(pair[0]))
    host = path if grant.source is None else grant.source + path[len(place.rstrip("/")) :]
    kept = [os.path.realpath(kept) for kept in (*plan.hidden, *plan.masked)]
    # A replay's copy of the project lies among what is hark's own, and is shown all the same.
    lies_there = within(host, kept) and not within(host if grant.source is None else grant.source, kept)
    if within(path, kept) or lies_there:
        raise _UnfitError("it is kept from the agent")
    return host


def _hash(path: str, most: int) -> tuple[bytes, int]:
    """The file's BLAKE3 and its length."""
    try:
        place = kernel.open_beneath(kernel.AT_FDCWD, path, path)
    except (OSError, ValueError) as error:
        raise _UnfitError(
            f"it is not there: {error}" if isinstance(error, ValueError) else _words(error)
        ) from None
    try:
        status = os.fstat(place)
        if not stat.S_ISREG(status.st_mode):
            raise _UnfitError("it is no regular file")
        if status.st_size > most:
            raise _UnfitError("the programs are too large to be hashed at the end of a run")
        with open(f"/proc/self/fd/{place}", "rb", buffering=0) as file:
            return _digest(file.fileno(), most)
    except OSError as error:
        raise _UnfitError(_words(error)) from None
    finally:
        os.close(place)


def _digest(descriptor: int, most: int) -> tuple[bytes, int]:
    hasher, length = blake3(), 0
    while part := os.read(descriptor, _PART):
        length += len(part)
        if length > most:  # it grows while it is read
            raise _UnfitError("the programs are too large to be hashed at the end of a run")
        hasher.update(part)
    return hasher.digest(), length


def _words(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()


def _utf8(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")

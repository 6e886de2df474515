"""A replay's copy of the project: from the bundle's snapshot, or from the directory that the caller names.

Always: what is made is in the throwaway copy alone. Where it is the caller's directory, what the run itself
has left in it is set back, so that it can be made again, and whatever else is not as recorded is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from hark.errors import BundleError, ReplayError
from hark.rerun import lending
from hark.rerun.recalled import Recalled, decoded
from hark.visible import visible

if TYPE_CHECKING:
    from hark.rerun.lending import Lender
    from hark.rerun.throwaway import Throwaway

MAX_UNPACKED: Final = 4 << 30  # bytes of files, whatever a bundle's policy allows
NAMED: Final = 4  # of a list in a sentence
_MANIFEST: Final = 4
_SNAPSHOT: Final = 38
_RESULT: Final = 40


def fill(
    recalled: Recalled, workdir: str | None, giver: Lender | None, folders: Throwaway, most: int
) -> tuple[str, ...]:
    """Make the project's copy: of the bundle's snapshot, or of the directory that the caller names.

    Returned is what of that directory is not as recorded, in words.
    """
    if workdir is not None and giver is not None:
        lending.copied(giver, folders, recalled.left_out)
        return (
            *_set_back(recalled, folders, most),
            *(_differing(recalled, folders.project) if recalled.manifest else ()),
        )
    if recalled.snapshot_bytes:
        _unpack(recalled, folders.project, most)
    elif recalled.manifest or recalled.start.uncontained:
        number = len(recalled.manifest)
        files = f" ({number} file{'' if number == 1 else 's'})" if number else ""
        raise ReplayError(
            f"there is no copy of its project in the bundle{files}; "
            "name yours with -workdir DIR: it is copied, and not written"
        )
    return ()


def _set_back(recalled: Recalled, folders: Throwaway, most: int) -> Iterator[str]:
    """Set back what the run has left in the directory, and tell of it."""
    from hark.snapshot.rewind import rewind

    made: list[str] = []

    def unpacked() -> str | None:
        if not recalled.snapshot_bytes:
            return None
        if not made:
            made.append(folders.empty())
            _unpack(recalled, made[0], most)
        return made[0]

    results = _events(recalled, _RESULT)
    found = rewind(results, recalled.manifest, recalled.left_out.keys(), folders.project, unpacked)
    if found.done:
        yield f"as the run left it, and so set back in the copy to what it began with: {_listed(found.done)}"
    if found.undone:
        yield (
            f"as the run left it, and the bundle has no copy of what it began with: {_listed(found.undone)}; "
            "name a directory where it is as it was"
        )


def _differing(recalled: Recalled, project: str) -> Iterator[str]:
    """Name the files that are not as recorded: where the replay differs, they are the first to look at."""
    from hark.snapshot.compare import differences, in_words
    from hark.snapshot.stored import put_together

    stored = put_together(_events(recalled, _MANIFEST), recalled.start.working_dir)
    for line in in_words(differences(stored, project)):
        yield f"not as recorded: {visible(line)}"


def _unpack(recalled: Recalled, project: str, most: int) -> None:
    """Make the files of the bundle's copy. Raises ReplayError where it is not what the bundle says."""
    from hark.snapshot.extract import extract
    from hark.snapshot.stored import put_together

    try:
        with recalled.file.through() as frames:
            events = (decoded(frame) for frame in frames if frame.kind in {_MANIFEST, _SNAPSHOT})
            extract(put_together(events, recalled.start.working_dir), project, min(most, MAX_UNPACKED))
    except BundleError as error:
        raise ReplayError(f"the copy of its project cannot be used: {error}") from None


def _events(recalled: Recalled, kind: int) -> Iterator[Any]:
    return (decoded(placed.frame) for placed in recalled.file.placed() if placed.frame.kind == kind)


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(map(visible, names[:NAMED])) + (f" and {more} more" if more > 0 else "")

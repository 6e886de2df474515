"""What a replay's copy lacks and the caller's own directory has: installed packages, whatever git ignores.

A record names what it left out, and the caller may have it: in the directory that they name, or in the
recorded one of a run of their own. Always: nothing there is written, and nothing outside is shown. Each name
is a bundle's word, so it is gone to folder by folder without following a link. Credentials that lie there are
masked as in any project, and hark's own places are left out.

A small place is copied, so that the agent writes there as it did; a larger one is shown read-only.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, within
from hark.plan import project
from hark.plan.caller import home_of
from hark.plan.preparation import own_places
from hark.rerun.throwaway import Throwaway, copy_tree
from hark.snapshot.names import is_inside, path_of
from hark.snapshot.survey import MASKED, MASKED_FOLDER, Descent
from hark.visible import visible
from launcher.plan import Access, Grant

LENT: Final = frozenset(("ignored by git", "excluded by the policy"))
"""Why something was left out that may be shown."""
SMALL_NAMES: Final = (
    500  # of one place that is copied: a few milliseconds. A bare virtual environment has more
)
SMALL_BYTES: Final = 8 << 20
MOST: Final = 256  # places; each of them may be a mount
NAMED: Final = 4  # of a list in a sentence


@dataclass(frozen=True, slots=True)
class Lender:
    """The caller's own directory, and what of it no agent sees."""

    root: str
    kept_back: tuple[str, ...] = ()


@dataclass(slots=True)
class Lent:
    """What a copy is completed with."""

    grants: list[Grant] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Path to why it was left out."""

    def notes(self, root: str | None) -> Iterator[str]:
        """Say what is from where, and what is not there."""
        if self.shown:
            yield f"shown from {root}, read-only, for the record has nothing of it: {_listed(self.shown)}"
        if self.copied:
            yield f"copied from {root}, for the record has nothing of it: {_listed(self.copied)}"
        if self.missing:
            hint = "" if root is not None else "; -workdir DIR takes what you have of it from yours"
            why = ", ".join(dict.fromkeys(self.missing.values()))
            yield f"not in the record, and so not here: {_listed(list(self.missing))} ({why}){hint}"


def lender(
    path: str, environ: Mapping[str, str], unmask: tuple[str, ...] = (), mask: tuple[str, ...] = ()
) -> Lender:
    """Look through a directory of the caller's. Raises PolicyError where it is no project."""
    found = project.survey(path, home_of(environ), unmask, (), mask)
    own = own_places(environ)
    if within(found.root, own):
        raise PolicyError(f"{found.root} is hark's own and no project; name another with -workdir")
    return Lender(found.root, (*found.masked, *(place for place in own if contains(found.root, place))))


def copied(giver: Lender, folders: Throwaway, left_out: Mapping[str, str]) -> None:
    """Make the project's copy of the whole directory, but for what is lent or kept back."""
    lent = (f"{giver.root}/{text.rstrip('/')}" for text, why in left_out.items() if why in LENT)
    copy_tree(giver.root, folders.project, frozenset((*giver.kept_back, *lent)))


def lend(left_out: Mapping[str, str], workdir: str, giver: Lender | None, folders: Throwaway) -> Lent:
    """Complete the copy of what ran in `workdir` with what the record left out."""
    lent = Lent()
    for text, why in sorted(left_out.items()):
        if why in (MASKED, MASKED_FOLDER):
            continue
        wanted = giver is not None and why in LENT and len(lent.shown) + len(lent.copied) < MOST
        if not (wanted and giver is not None and _Lending(lent, giver, workdir, folders).take(text)):
            lent.missing[text] = why
    return lent


@dataclass(frozen=True, slots=True)
class _Lending:
    lent: Lent
    giver: Lender
    workdir: str
    folders: Throwaway

    def take(self, text: str) -> bool:
        """Show or copy one place; False where the caller has none, or not a real one."""
        path = path_of(text.rstrip("/"))
        if path is None or not is_inside(path):
            return False
        name = os.fsdecode(path)
        with suppress(OSError):
            source = f"{self.giver.root}/{name}"
            if within(source, self.giver.kept_back):
                return False
            return self._take(text, name, source, _status(self.giver.root, path))
        return False

    def _take(self, text: str, name: str, source: str, status: os.stat_result) -> bool:
        folder = stat.S_ISDIR(status.st_mode)
        if not folder and not stat.S_ISREG(status.st_mode):
            return False  # a link leads where somebody wanted it to, and the others are no files
        target = f"{self.folders.project}/{name}"
        fresh = not os.path.lexists(target)
        if not self.folders.place(name, folder=folder):
            return False
        if fresh and (_is_small(source) if folder else status.st_size <= SMALL_BYTES):
            self._copy(source, target, status)
            self.lent.copied.append(text)
        else:
            inside = f"{self.workdir}/{name}"
            self.lent.grants.append(Grant(inside, Access.READ, "left out of the record", source))
            self.lent.shown.append(text)
        self._mask(source)
        return True

    def _copy(self, source: str, target: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            copy_tree(source, target, frozenset(self.giver.kept_back))
        else:
            import shutil

            shutil.copyfile(source, target, follow_symlinks=False)
            shutil.copystat(source, target, follow_symlinks=False)

    def _mask(self, source: str) -> None:
        for path in self.giver.kept_back:
            if contains(source, path):
                below = path[len(self.giver.root) :]
                self.folders.place(below, folder=os.path.isdir(path))
                self.lent.masked.append(f"{self.workdir}{below}")


def _status(root: str, path: bytes) -> os.stat_result:
    """Of what lies there without any link on the way. Raises OSError."""
    above, _, name = path.rpartition(b"/")
    with Descent(root) as descent:
        return os.lstat(name, dir_fd=descent.folder(above))


def _is_small(folder: str) -> bool:
    names = size = 0
    for top, below, files in os.walk(folder):
        names += len(below) + len(files)
        if names > SMALL_NAMES:
            return False
        for name in files:
            with suppress(OSError):
                size += os.lstat(os.path.join(top, name)).st_size
        if size > SMALL_BYTES:
            return False
    return True


def _listed(paths: list[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(map(visible, paths[:NAMED])) + (f" and {more} more" if more > 0 else "")

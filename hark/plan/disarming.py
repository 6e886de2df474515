"""Puts aside what an agent left where git obeys it: hooks, configuration, ways elsewhere, an index.

No mount can cover what is not there yet, so what the agent makes in a repository, or as one, is looked at
once no process of the agent's is left. Always: what git run later in the project would execute because of it,
or follow to another repository, has another name from then on; git's own work (`git init`, `clone`,
`submodule`, `worktree`, `commit` inside) stays as it is. Nothing outside of the project is renamed, and no
link followed.

Not done here: settings of other programs, and what existed before, which was read-only. What cannot be
renamed is told.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from hark.places import contains, within
from hark.plan.customs import is_repository
from hark.plan.harmless import is_harmless, settings, worktrees
from hark.plan.indexes import MAX_INDEX, is_sound
from hark.plan.project import Project, identity, way_of
from hark.plan.repositories import OBEYED, backlinks, index_files, kept, obeyed, obeyed_through, read
from hark.plan.unfinished import ill, strayed
from hark.plan.ways import data_of, gitfile, link_on, straight, text_of

ASIDE: Final = ".kept-by-hark"
"""What the names of what was put aside end in."""
_FORMAT: Final = ("extensions", "objectformat")
_SHA256: Final = re.compile(r"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256", re.IGNORECASE | re.MULTILINE)
MAX_NAMES: Final = 10  # tried for one that is put aside, all but the first with 64 random bits


class PutAside(NamedTuple):
    """One name, and what it is called now; empty where it could not be renamed."""

    path: str
    now: str


def disarm(project: Project, made: Iterable[str], unprotect: Iterable[str], home: str) -> list[PutAside]:
    """Put aside what git would obey of what has appeared. `made` are the names that others act on.

    What lies at or below a path that `unprotect` names stays: that is the operator's word.
    """
    excepted = (*(f"{project.root}/{name}" for name in unprotect), *project.without)
    planted = (
        path
        for path in dict.fromkeys(_planted(project, tuple(made), home))
        if not any(contains(one, path) for one in excepted) and os.path.lexists(path)
    )
    return [PutAside(path, _renamed(path)) for path in planted]


def _planted(project: Project, made: tuple[str, ...], home: str) -> Iterator[str]:
    yield from _in_known(project, home)
    ways = [path for path in (*made, *project.ways) if _is_new_way(path, project)]
    yield from (path for path in ways if _way_in(path, project) is None)
    seen: set[str] = set(project.repositories)
    pending = [git for path in (*made, *project.ways) for git in _led_to(path, project)]
    while pending:
        git = pending.pop()
        if git in seen:
            continue
        seen.add(git)
        if os.path.islink(git):
            yield git
        elif os.path.isdir(git):
            yield from _in_new(git, project)
            pending += kept(git)
    yield from (_renamed_for(path, project) for path in made if _is_link_within(path))
    for git in sorted(seen):
        if contains(project.root, git) and not os.path.islink(git):
            yield from (_renamed_for(path, project) for path in _misleading(git, project))


def _is_link_within(path: str) -> bool:
    """Tell whether a link lies in a repository, where git would write, or look for a program, behind it."""
    return os.path.islink(path) and os.path.basename(path) != ".git" and _repository_of(path) is not None


def _repository_of(path: str) -> str | None:
    while (path := os.path.dirname(path)) != "/":
        if os.path.basename(path) == ".git" or is_repository(path):
            return path
    return None


def _renamed_for(path: str, project: Project) -> str:
    """Return what is put aside because of a name; of what merely passes for a repository, its HEAD."""
    git = _repository_of(path)
    return path if git is None or git in project.repositories or _is_gits(git) else f"{git}/HEAD"


def _is_gits(git: str) -> bool:
    """Tell whether a folder is git's own by its name, and does not merely pass for a bare repository."""
    return "/.git/" in f"{git}/"


def _misleading(git: str, project: Project) -> Iterator[str]:
    """Yield files of a repository or worktree that have changed, and that git would be led astray by."""
    changed = [path for path in index_files(git) if project.indexes.get(path) != identity(path)]
    bad = [path for path in changed if _is_bad_index(path, git, project)]
    yield from bad
    if bad and f"{git}/index" not in bad and os.path.lexists(f"{git}/index"):
        yield f"{git}/index"  # it may build on the one that is put aside, and would keep git from anything
    begun = (one for one in ill(git) if project.unfinished.get(one.cause) != identity(one.cause))
    yield from (one.path for one in begun)
    yield from strayed(git)
    for path in backlinks((git,)):
        text = text_of(path)
        if os.path.lexists(path) and project.ways.get(path) != text:
            place = straight(git, text.rstrip("\r\n"))
            if place is None or not project.may_hold(place):
                yield path


def _is_bad_index(path: str, git: str, project: Project) -> bool:
    data = data_of(path, MAX_INDEX)
    return data is None or not is_sound(data, _id_bytes(git, project))


def _id_bytes(git: str, project: Project) -> int:
    """Return how long the names of objects are in a repository, by a configuration that git will find too."""
    above, kind = os.path.split(os.path.dirname(git))
    config = f"{above if kind == 'worktrees' else git}/config"
    text = text_of(config)
    if config not in project.protected and not is_harmless(text):
        return 20  # it is put aside
    found = settings(text)
    if found is None:  # the caller's own, with more in it than is understood here
        return 32 if _SHA256.search(text) else 20
    formats = [value.strip('"').lower() for section, key, value in found if (section, key) == _FORMAT]
    return 32 if formats[-1:] == ["sha256"] else 20


def _led_to(path: str, project: Project) -> Iterator[str]:
    """Yield the folder in the project that git would take for the repository's own because of a name."""
    if path.endswith("/HEAD"):
        yield os.path.dirname(path)
    elif os.path.basename(path) == ".git" and not os.path.isdir(path):
        git = _way_in(path, project)
        if git is not None and contains(project.root, git) and not within(git, project.without):
            yield git
    elif not os.path.islink(path) and (os.path.basename(path) == ".git" or is_repository(path)):
        yield path


def _is_new_way(path: str, project: Project) -> bool:
    """Tell whether a `.git` is no folder, and not the one that was there: its way may lead elsewhere now."""
    if os.path.basename(path) != ".git" or not os.path.lexists(path):
        return False
    is_folder = os.path.isdir(path) and not os.path.islink(path)
    return not is_folder and project.ways.get(path) != way_of(path)


def _way_in(path: str, project: Project) -> str | None:
    """Return the folder that a `.git` leads to; None where git itself makes no such name.

    It makes no links, and a way out of the project only where the run could write and all is looked through.
    """
    way = None if os.path.islink(path) else gitfile(text_of(path))
    git = None if way is None else straight(os.path.dirname(path), way)
    return git if git is not None and project.may_hold(git) else None


def _in_known(project: Project, home: str) -> Iterator[str]:
    """Yield what git obeys in repositories that were there, and was not there itself."""
    before, watched = {*project.protected, *project.masked}, frozenset(project.watched)
    for git in _tops(project):
        yield from (path for path in kept(git) if path not in project.repositories and os.path.islink(path))
    for path in _obeyed(project, home):
        if path in before or path not in watched:
            continue
        link = link_on(project.root, path)
        if link is not None and project.changed_since(link):
            yield link  # hark itself may be led elsewhere by it than git
        elif os.path.lexists(path) and _is_ill(path, project):
            yield path


def _tops(project: Project) -> list[str]:
    """List the repositories that were there, without what they keep for submodules and worktrees."""
    tops = {path for path in project.acted_on if path.endswith("/.git")}
    tops |= {os.path.dirname(path) for path in project.acted_on if path.endswith("/HEAD")}
    return sorted(tops & project.repositories)


def _obeyed(project: Project, home: str) -> Iterator[str]:
    reading = _read_unless_new(project)
    for git in _tops(project):
        yield from obeyed(git, os.path.dirname(git), home, reading)
    for path in project.ways:
        if os.path.basename(path) == ".git":
            yield from obeyed_through(path, home, reading)


def _read_unless_new(project: Project) -> Callable[[str], str]:
    """Read configuration that was there: only what that named was watched, and new files have no end."""

    def reading(path: str) -> str:
        try:
            return "" if os.stat(path).st_ctime_ns >= project.surveyed_at else read(path)
        except OSError:
            return ""

    return reading


def _is_ill(path: str, project: Project) -> bool:
    """Tell whether git obeys what has appeared in a repository that was there."""
    name = os.path.basename(path)
    return name != "info" and (name == "commondir" or _obeyed_for_ill(path, project))


def _in_new(git: str, project: Project) -> Iterator[str]:
    """Yield what git would obey in a repository that has been made; of one not named `.git`, its HEAD.

    `hooks` and `config` may be other folders of the project there, which the agent did not make.
    """
    obeyed_here = (f"{git}/{name}" for name in OBEYED if name not in ("info", "commondir"))
    found = [path for path in obeyed_here if os.path.lexists(path) and _obeyed_for_ill(path, project)]
    if not _is_way_back(git):
        found.append(f"{git}/commondir")
    if found and not _is_gits(git) and is_repository(git):
        yield f"{git}/HEAD"
    else:
        yield from found


def _is_way_back(git: str) -> bool:
    """Tell whether there is no `commondir`, or the one of a linked worktree, which leads two folders up."""
    if not os.path.lexists(f"{git}/commondir"):
        return True
    above, kind = os.path.split(os.path.dirname(git))
    text = text_of(f"{git}/commondir").rstrip("\r\n")
    return kind == "worktrees" and is_repository(above) and straight(git, text) == above


def _obeyed_for_ill(path: str, project: Project) -> bool:
    """Tell whether git would run something because of a folder of hooks, or a file of configuration."""
    if os.path.islink(path):
        return True
    if os.path.isdir(path):
        try:
            remotes = os.path.basename(path) in ("remotes", "branches")
            return any(remotes or not name.endswith(".sample") for name in os.listdir(path))
        except OSError:
            return True
    text = text_of(path)
    return not (is_harmless(text) and _stays_inside(os.path.dirname(path), text, project))


def _stays_inside(git: str, text: str, project: Project) -> bool:
    """Tell whether `core.worktree` leads nowhere but where the run may write."""
    places = (straight(git, name) for name in worktrees(text))
    return all(place is not None and project.may_hold(place) for place in places)


def _renamed(path: str) -> str:
    """Give a name another one and return that; empty where that cannot be done."""
    folder = os.path.dirname(path)
    if os.path.realpath(folder) != folder:
        return ""
    for number in range(MAX_NAMES):
        other = f"{path}{ASIDE}{f'-{os.urandom(8).hex()}' if number else ''}"
        if os.path.lexists(other):
            continue
        for mend in (False, True):
            with contextlib.suppress(OSError):
                if mend:  # the agent may have made its folder unwritable
                    os.chmod(
                        folder, stat.S_IMODE(os.stat(folder).st_mode) | stat.S_IRWXU, follow_symlinks=True
                    )
                os.rename(path, other)
                return other
        return ""
    return ""

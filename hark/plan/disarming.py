"""Puts aside what an agent left where git obeys it: hooks, configuration, ways to another repository.

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
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hark.places import contains
from hark.plan.customs import is_repository
from hark.plan.harmless import is_harmless
from hark.plan.project import Project
from hark.plan.repositories import kept, obeyed

ASIDE: Final = ".kept-by-hark"
"""What the names of what was put aside end in."""
MAX_CONFIG: Final = 1 << 20  # bytes; git itself writes some hundred
MAX_NAMES: Final = 10  # tried for one that is put aside, all but the first with 64 random bits
_GITFILE: Final = re.compile(r"gitdir: ([^\n\r\0]+)[\n\r]*")
"""A `.git` that leads elsewhere as git writes it; read_gitfile takes line breaks within too."""
_WORKTREE: Final = re.compile(
    r"(?:^|\n)[ \t]*(?:\[core\][ \t]*)?worktree[ \t]*=[ \t]*\"?([^\"\n\r]*)", re.IGNORECASE
)


class PutAside(NamedTuple):
    """One name, and what it is called now; empty where it could not be renamed."""

    path: str
    now: str


def disarm(project: Project, made: Iterable[str], unprotect: Iterable[str], home: str) -> list[PutAside]:
    """Put aside what git would obey of what has appeared. `made` are the names that others act on.

    What lies at or below a path that `unprotect` names stays: that is the operator's word.
    """
    excepted = tuple(f"{project.root}/{name}" for name in unprotect)
    planted = (
        path
        for path in dict.fromkeys(_planted(project, tuple(made), home))
        if not any(contains(one, path) for one in excepted) and os.path.lexists(path)
    )
    return [PutAside(path, _renamed(path)) for path in planted]


def _planted(project: Project, made: tuple[str, ...], home: str) -> Iterator[str]:
    yield from _in_known(project, home)
    yield from filter(_is_unlike_git, made)
    seen: set[str] = set(project.repositories)
    pending = [git for path in (*made, *_known_links(project)) for git in _led_to(path)]
    while pending:
        git = os.path.realpath(pending.pop())
        if git in seen or not contains(project.root, git) or not os.path.isdir(git):
            continue
        seen.add(git)
        yield from _in_new(git, project)
        pending += kept(git)


def _led_to(path: str) -> Iterator[str]:
    """Yield the folder that git would take for the repository's own because of a name."""
    if path.endswith("/HEAD"):
        yield os.path.dirname(path)
    elif os.path.isdir(path):
        yield path
    elif os.path.basename(path) == ".git":
        found = _GITFILE.fullmatch(_text(os.path.realpath(path)))
        if found:
            yield os.path.join(os.path.dirname(path), found[1])


def _is_unlike_git(path: str) -> bool:
    """Tell whether a `.git` is none that git makes: a link, or a file that is not just a way to a folder."""
    if os.path.basename(path) != ".git":
        return False
    return os.path.islink(path) or not (os.path.isdir(path) or _GITFILE.fullmatch(_text(path)))


def _known_links(project: Project) -> list[str]:
    """Return the `.git` files that were there: what they lead to may have been made since."""
    return [path for path in project.watched if path.endswith("/.git") and os.path.isfile(path)]


def _in_known(project: Project, home: str) -> Iterator[str]:
    """Yield what git obeys in repositories that were there, and was not there itself."""
    before = {*project.protected, *project.masked}
    tops = {path for path in project.acted_on if path.endswith("/.git")}
    tops |= {os.path.dirname(path) for path in project.acted_on if path.endswith("/HEAD")}
    for git in sorted(tops & project.repositories):
        for path in obeyed(git, os.path.dirname(git), home):
            if path in before or path not in project.watched or not os.path.lexists(path):
                continue
            name = os.path.basename(path)
            if name != "info" and (name == "commondir" or _obeyed_for_ill(path, project.root)):
                yield path


def _in_new(git: str, project: Project) -> Iterator[str]:
    """Yield what git would obey in a repository that has been made; of one not named `.git`, its HEAD.

    `hooks` and `config` may be other folders of the project there, which the agent did not make.
    """
    obeyed_here = (f"{git}/{name}" for name in ("hooks", "config", "config.worktree"))
    found = [path for path in obeyed_here if os.path.lexists(path) and _obeyed_for_ill(path, project.root)]
    if not _is_way_back(git):
        found.append(f"{git}/commondir")
    if found and "/.git/" not in f"{git}/" and is_repository(git):
        yield f"{git}/HEAD"
    else:
        yield from found


def _is_way_back(git: str) -> bool:
    """Tell whether there is no `commondir`, or the one of a linked worktree, which leads two folders up."""
    if not os.path.lexists(f"{git}/commondir"):
        return True
    above, kind = os.path.split(os.path.dirname(git))
    text = _text(f"{git}/commondir").rstrip("\r\n")
    if kind != "worktrees" or "\0" in text or not is_repository(above):
        return False
    return os.path.realpath(os.path.join(git, text)) == os.path.realpath(above)


def _obeyed_for_ill(path: str, root: str) -> bool:
    """Tell whether git would run something because of a folder of hooks, or a file of configuration."""
    if os.path.islink(path):
        return True
    if os.path.isdir(path):
        try:
            return any(not name.endswith(".sample") for name in os.listdir(path))
        except OSError:
            return True
    text = _text(path)
    return not (is_harmless(text) and _stays_inside(path, text, root))


def _stays_inside(path: str, text: str, root: str) -> bool:
    """Tell whether `core.worktree` leads nowhere but into the project."""
    places = (  # made one by one, behind the look for a NUL, which no path has
        os.path.realpath(os.path.join(os.path.dirname(path), name.strip()))
        for name in _WORKTREE.findall(text)
    )
    return "\0" not in text and all(contains(root, place) for place in places)


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


def _text(path: str) -> str:
    """Return a small regular file's text; of anything else, a text that is no configuration."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(place, "rb") as file:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                return "\0"
            data = file.read(MAX_CONFIG + 1)
    except OSError:
        return "\0"
    return "\0" if len(data) > MAX_CONFIG else data.decode("utf-8", "surrogateescape")

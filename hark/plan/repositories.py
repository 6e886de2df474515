"""git repositories in a project: what git runs or obeys by itself, so that the agent may not write it.

Found by name and by reading configuration as text; git itself is not run, since it would obey what it reads.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, expanded
from hark.plan.customs import is_repository
from hark.plan.ways import gitfile, text_of

MAX_CONFIG: Final = 1 << 16  # bytes of a repository's configuration that are read; git writes some hundred
MAX_READ: Final = 1 << 23  # bytes of it in one project: thousands of repositories as git makes them
MAX_CONFIGS: Final = 64  # files of configuration that are read for one repository, included ones too
MAX_MODULES: Final = 2_000  # directories looked at for submodules in one repository
OBEYED: Final = ("hooks", "config", "config.worktree", "info", "commondir", "remotes", "branches")
"""What git obeys in a repository's own directory. `commondir`, which worktrees have, sends it elsewhere; the
last two hold remotes that no configuration knows."""
COMPARED: Final = (
    "rebase-merge/git-rebase-todo",
    "rebase-merge/git-rebase-todo.backup",
    "lazygit.yml",
    "sl/config",
)
"""What git obeys in the middle of something, which the agent may be at itself, and what others obey there."""
_USERS: Final = ("/etc/gitconfig", "~/.gitconfig", "~/.config/git/config")
"""Configuration that holds for every repository: a relative path in it leads into each of them."""
_SETTING: Final = re.compile(
    r"^[ \t\r]*+(?:\[(?:[^]\"\n]|\"(?:[^\"\\\n]|\\.)*+\")*+\][ \t\r]*+)*+(hookspath|path|worktree)[ \t\r]*+="
    r"[ \t\r]*+(?:\"([^\"\n]*)\"|([^\n#;]*))",
    re.IGNORECASE | re.MULTILINE,
)
"""One line; nothing in it is read twice: an earlier agent or a stranger may have written it."""


class Reading:
    """Reads configuration, and of what lies in one project as much as one waits for.

    Raises PolicyError beyond that: what git is led to by the rest would be protected by nothing.
    """

    def __init__(self, root: str) -> None:
        self._root, self._left = root, MAX_READ

    def __call__(self, path: str) -> str:
        """Return a file's text, or its beginning; empty where it cannot be read."""
        text = read(path)
        if contains(self._root, path):
            self._left -= len(text)
        if self._left < 0:
            raise PolicyError(
                f"{self._root} has more than {MAX_READ >> 20} MiB of configuration of git, too much to "
                "see where it leads; remove repositories there, or name a smaller project with -workdir"
            )
        return text


def read(path: str) -> str:
    """Return a file's text, or its beginning; empty where it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(MAX_CONFIG).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return ""


def obeyed(git: str, worktree: str, home: str = "/", reading: Callable[[str], str] = read) -> Iterator[str]:
    """Yield the paths that git obeys for the repository in directory `git`, whether they exist or not.

    Its worktrees, which may lie anywhere on the host, and its submodules count as well.
    """
    for directory in (git, *_modules(f"{git}/modules")):
        places = (directory, *_worktrees(directory))
        for place in places:
            for name in OBEYED:
                yield f"{place}/{name}"
        yield from _configured(places, worktree if directory == git else "", home, reading)


def obeyed_through(path: str, home: str, reading: Callable[[str], str] = read) -> Iterator[str]:
    """Yield what git obeys in the work tree of a `.git` that is a file, because of its repository's settings.

    That may lie anywhere; a relative folder of hooks lies in each of its work trees.
    """
    name, worktree = gitfile(text_of(path)), os.path.dirname(path)
    if name is None:
        return
    git = os.path.realpath(os.path.join(worktree, name))
    common = text_of(f"{git}/commondir").rstrip("\r\n")
    main = git if "\0" in common else os.path.realpath(os.path.join(git, common))
    yield from _configured((main, git), worktree, home, reading)


def _configured(
    places: tuple[str, ...], worktree: str, home: str, reading: Callable[[str], str]
) -> Iterator[str]:
    """Yield files that are included, however deeply, and directories of hooks that any of them names."""
    pending = deque(f"{place}/{name}" for place in places for name in ("config", "config.worktree"))
    pending += [expanded(name, home) for name in _USERS]
    hooks: list[str] = []
    seen: set[str] = set()
    while pending and len(seen) < MAX_CONFIGS:
        config = pending.popleft()
        if config in seen:
            continue
        seen.add(config)
        for key, quoted, plain in _SETTING.findall(reading(config)):
            value = expanded((quoted or plain).strip(), home)
            if key.lower() == "path" and value:
                pending.append(os.path.normpath(os.path.join(os.path.dirname(config), value)))
                yield pending[-1]
            elif key.lower() == "worktree" and config == f"{places[0]}/config":
                worktree = worktree or os.path.normpath(os.path.join(places[0], value))
            elif key.lower() == "hookspath" and value:
                hooks.append(value)
    for value in hooks:
        yield os.path.normpath(os.path.join(worktree or places[0], value))


def kept(git: str) -> Iterator[str]:
    """Yield the repository's own directory, and those that it keeps for submodules and worktrees; links too.

    What cannot be looked through is yielded too: a submodule that is checked out later could be in it.
    """
    for directory in (git, *_modules(f"{git}/modules")):
        yield directory
        yield from _worktrees(directory)


def backlinks(folders: Iterable[str]) -> list[str]:
    """List, of what `kept` yields, the files that say where linked worktrees are: git mends `.git` there."""
    return [f"{one}/gitdir" for one in folders if os.path.basename(os.path.dirname(one)) == "worktrees"]


def index_files(git: str) -> list[str]:
    """List what git reads as the index of a repository or a worktree, and what a split one builds on."""
    try:
        names = sorted(os.listdir(git))
    except OSError:
        return []
    return [f"{git}/{name}" for name in names if name == "index" or name.startswith("sharedindex.")]


def _worktrees(directory: str) -> Iterator[str]:
    """Yield what the repository keeps for each of its linked worktrees."""
    if os.path.islink(f"{directory}/worktrees"):
        yield f"{directory}/worktrees"
        return
    try:
        entries = sorted(entry.path for entry in os.scandir(f"{directory}/worktrees"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        yield f"{directory}/worktrees"
        return
    yield from entries[:MAX_MODULES]
    if len(entries) > MAX_MODULES:
        yield f"{directory}/worktrees"


def _modules(directory: str) -> Iterator[str]:
    """Yield the git directories of submodules, at any depth: their names may hold slashes.

    And a link, wherever it leads to: nothing that git makes is one.
    """
    if os.path.islink(directory):
        yield directory
        return
    pending, left = [directory], MAX_MODULES
    while pending:
        here = pending.pop()
        left -= 1
        if left < 0:
            yield directory
            return
        try:
            entries = list(os.scandir(here))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield here
            continue
        if is_repository(here):
            yield here
            pending.append(f"{here}/modules")
            continue
        yield from (entry.path for entry in entries if entry.is_symlink())
        pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]

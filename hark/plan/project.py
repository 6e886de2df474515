"""The project directory: what may be one, what in it the agent may not see, and what it may not rewrite.

Credentials that lie in a project are masked; files that something runs later by itself are shown read-only,
and a change to them is found at the end. Both are found by name once, before the agent starts: a file that
the agent makes itself holds nothing it does not know. Installed packages are not searched.
"""

import contextlib
import glob
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from blake3 import blake3

from hark.errors import PolicyError
from hark.places import contains, within
from hark.plan.customs import PROTECTED, acted_on, holds_credentials, is_service
from hark.plan.links import links_of
from hark.plan.repositories import COMPARED, Reading, backlinks, index_files, kept, obeyed, obeyed_through
from hark.plan.unfinished import known
from hark.plan.walk import walk
from hark.plan.ways import gitfile, text_of

MAX_ENTRIES: Final = 1_000_000  # names looked at, about a second; a larger tree is refused, not half searched
MAX_PROTECTED: Final = 5_000  # files compared under one protected path
MAX_FINGERPRINT: Final = (
    1 << 18
)  # bytes of a file whose content is compared; of a larger one, when it changed

_MARGIN_NS: Final = 1_000_000_000  # file systems count time in steps
_SYSTEM: Final = (
    "/usr",
    "/etc",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/boot",
    "/dev",
    "/proc",
    "/sys",
    "/nix",
)
"""Neither these nor what lies in them: the agent would rewrite the machine."""
_NOT_PROJECTS: Final = (
    *("/", "/var", "/var/tmp", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/tmp", "/run"),  # noqa: S108
    *("/run/lock", "/run/user", "/opt", "/home", "/root", "/mnt", "/media", "/srv"),
)
"""These alone: people keep projects below them."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project directory as the agent will see it; every path is absolute."""

    root: str
    masked: tuple[str, ...]
    protected: tuple[str, ...]
    watched: tuple[str, ...]
    """What is protected, what would be if it existed (no mount can cover what is not there yet), and the same
    names further down, which stay writable: a mount on them would keep the agent from moving its folders."""
    acted_on: frozenset[str] = frozenset()
    """Every path that was there of those that other programs act on by name."""
    repositories: frozenset[str] = frozenset()
    """The directories of all repositories, those of submodules and worktrees among them."""
    unlisted: frozenset[str] = frozenset()
    """Directories that could not be listed."""
    surveyed_at: int = 0
    """Unix nanoseconds."""
    services: frozenset[str] = frozenset()
    """Every unix socket on which somebody listened, and every FIFO that somebody read, masked or not."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """Where each `.git` that is a file led to, and what the `gitdir` of linked worktrees said."""
    indexes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Which file each index of a repository was, and when it had changed."""
    unfinished: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The same of what misled git already in what was begun in a repository."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Which links were in repositories, and where they led."""
    roots: tuple[str, ...] = ()
    """All folders that are looked through at the run's end, this one among them; empty where it is alone."""
    without: frozenset[str] = frozenset()
    """What lies in this one and is granted by itself."""
    is_granted: bool = False
    """Not the project, but a folder that was granted beside it: nothing but repositories counts."""
    beside: tuple["Project", ...] = ()
    """Such folders of this project's run."""
    large: tuple[str, ...] = ()
    """Such of them as have too many names to be looked through."""

    def everywhere(self) -> tuple["Project", ...]:
        """Return the project, and what is granted beside it."""
        return (self, *self.beside)

    def watched_everywhere(self) -> tuple[str, ...]:
        """Return what is watched, in the project and beside it."""
        return tuple(path for one in self.everywhere() for path in one.watched)

    def may_hold(self, path: str) -> bool:
        """Tell whether a path lies where the run may write, so that what is there is looked through."""
        return within(path, self.roots or (self.root,))

    def changed_since(self, path: str) -> bool:
        """Tell whether the run may have made or changed a name; False where there is none."""
        return _changed_at(path) >= self.surveyed_at - _MARGIN_NS


def survey(
    root: str, home: str, unmask: tuple[str, ...], unprotect: tuple[str, ...], mask: tuple[str, ...] = ()
) -> Project:
    """Look through a project directory. Raises PolicyError where it is none, or too large to look through.

    What `mask` names is masked under every name that it has, also where `unmask` names it.
    """
    root = os.path.realpath(root)
    _check_root(root, os.path.realpath(home))
    masked: list[str] = []
    watched = dict.fromkeys(_at_the_top(root))
    deeper: list[str] = []
    seen: set[str] = set()
    repositories: set[str] = set()
    unlisted: list[str] = []
    services: list[str] = []
    ways: dict[str, str] = {}
    reading = Reading(root)
    now = time.time_ns()
    for entry in walk(root, at_most=MAX_ENTRIES, unlisted=unlisted):
        acting = acted_on(entry)
        if acting:
            seen.add(entry.path)
        if holds_credentials(entry):
            masked += _target(entry, root)
        elif is_service(entry):
            masked.append(entry.path)
            services.append(entry.path)
        elif entry.name == ".git":
            services += (here := services_in(entry.path))
            masked += here
            watched |= dict.fromkeys(_repository(entry, root, home, reading))
            deeper += [f"{entry.path}/{name}" for name in COMPARED]
            repositories.update(kept(entry.path))
            if not entry.is_dir(follow_symlinks=False):
                ways[entry.path] = way_of(entry.path)
        elif acting and entry.name == "HEAD":
            watched |= dict.fromkeys(_repository(entry, root, home, reading))
            deeper.append(entry.path)
            repositories.update(kept(os.path.dirname(entry.path)))
        elif acting and entry.path not in watched:
            deeper.append(entry.path)
    ways |= {path: text_of(path) for path in backlinks(repositories)}
    named = _named(root, mask)
    named += aliases(root, named)
    masked += aliases(root, masked)
    excepted = {f"{root}/{name}" for name in unprotect}
    files, folders = led_to(watched, root)
    deeper += folders
    guarded = tuple(path for path in dict.fromkeys((*watched, *files)) if path not in excepted)
    covered = {*masked, *named}
    shown = [path for path in guarded if os.path.lexists(path) and path not in covered]
    shown += aliases(root, shown)
    unmasked = {f"{root}/{name}" for name in unmask}
    hidden = tuple(sorted((set(masked) - unmasked) | set(named)))
    return Project(
        root,
        hidden,
        tuple(shown),
        (*guarded, *deeper),
        frozenset(seen),
        frozenset(repositories),
        frozenset(unlisted),
        now,
        frozenset(services),
        ways,
        {path: identity(path) for git in repositories for path in index_files(git)},
        known(repositories, identity),
        links_of(repositories),
    )


def _named(root: str, mask: tuple[str, ...]) -> list[str]:
    """List what the policy masks by name and is there; of a link, what it leads to in the project."""
    found = (os.path.realpath(f"{root}/{name}") for name in mask)
    return [real for real in dict.fromkeys(found) if real.startswith(f"{root}/") and os.path.lexists(real)]


def _target(entry: os.DirEntry[str], root: str) -> list[str]:
    """Name the file that is masked: where a link leads to. What lies outside is not visible by itself."""
    real = os.path.realpath(entry.path)
    return [real] if real.startswith(f"{root}/") else []


def aliases(root: str, paths: Iterable[str]) -> list[str]:
    """List the other names that these files have below `root` (hard links): a mount covers one name alone."""
    known = set(paths)
    several = {identity for path in known if (identity := _shared(path)) is not None}
    if not several:
        return []
    names = walk(root, at_most=MAX_ENTRIES, unsearched=())
    entries = (entry for entry in names if entry.is_file(follow_symlinks=False))
    return [entry.path for entry in entries if entry.path not in known and _shared(entry.path) in several]


def _shared(path: str) -> tuple[int, int] | None:
    """Tell files with more than one name apart; None for any other."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:
        return None
    return status.st_dev, status.st_ino


def services_in(git: str) -> list[str]:
    """List sockets with a listener in a repository's own folder, where git's daemon has one."""
    try:
        return [entry.path for entry in os.scandir(git) if is_service(entry)]
    except OSError:
        return []


def way_of(path: str) -> str:
    """Return where a `.git` that is a file or a link leads to, as it is found now."""
    way = None if os.path.islink(path) else gitfile(text_of(path))
    real = os.path.realpath(path if way is None else os.path.join(os.path.dirname(path), way))
    return real if way is None else f"{way}\n{real}"


def identity(path: str) -> tuple[int, ...]:
    """Return what does not stay the same where a file is written, or another takes its name."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _changed_at(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _at_the_top(root: str) -> Iterator[str]:
    """Yield what is protected in every project, whether it is there or not."""
    yield from (f"{root}/{name}" for name in PROTECTED)
    yield from sorted(glob.glob(f"{glob.escape(root)}/.direnv/*.rc"))
    if not os.path.isdir(f"{root}/.git"):
        yield f"{root}/.git"  # a file of that name sends git elsewhere
    yield f"{root}/HEAD"  # without a sound .git the project itself could pass for a bare repository


def _repository(entry: os.DirEntry[str], root: str, home: str, reading: Reading) -> list[str]:
    """List what git obeys because of this `.git` or HEAD, as far as it lies in the project."""
    folder = os.path.dirname(entry.path)
    if entry.name == "HEAD":
        return _obeyed(folder, folder, root, home, reading)
    if not entry.is_dir(follow_symlinks=False):
        through = obeyed_through(entry.path, home, reading)
        return [entry.path, *(path for path in through if path.startswith(f"{root}/"))]
    return _obeyed(entry.path, folder, root, home, reading)


def _obeyed(git: str, worktree: str, root: str, home: str, reading: Reading) -> list[str]:
    return [path for path in obeyed(git, worktree, home, reading) if path.startswith(f"{root}/")]


def led_to(paths: Iterable[str], root: str) -> tuple[list[str], list[str]]:
    """List what links at and in protected paths lead to in the project: a hook is often a link to a script.

    First what is protected as well: files, and what a protected path itself leads to. Then folders further
    down, which are only compared.
    """
    protected: list[str] = []
    compared: list[str] = []
    for path in dict.fromkeys(paths):
        for name in (path, *_files(path)):
            real = os.path.realpath(name)
            if not os.path.islink(name) or not real.startswith(f"{root}/") or not os.path.exists(real):
                continue
            whole = name == path or not os.path.isdir(real)
            (protected if whole else compared).append(real)
    return protected, compared


def folders(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return for each path which directory its folder is; none where there is no folder."""
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(os.path.dirname(path))
            found[path] = status.st_dev, status.st_ino
    return found


def bared(before: dict[str, tuple[int, int]]) -> list[str]:
    """List paths that are there again, in another folder of that name than `folders` has found.

    What covers a path goes where its folder goes: over what was saved in the new folder nothing lies.
    """
    now = folders(before)
    return [path for path in before if now.get(path, before[path]) != before[path] and os.path.lexists(path)]


def fingerprints(watched: tuple[str, ...]) -> dict[str, bytes]:
    """Hash each file at or below the watched paths: compare before and after to list the changes."""
    return {file: _fingerprint(file) for path in watched for file in _files(path)}


def changes(watched: tuple[str, ...], before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, int]:
    """Return what was added, removed or changed: a single path by its name, several by what they lie in.

    The values are numbers of files. git's own samples, which nothing runs, do not count.
    """
    changed: dict[str, list[str]] = {}
    places = {path: number for number, path in reversed(tuple(enumerate(watched)))}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and not name.endswith(".sample"):
            above = [path for path in (name, *_above(name)) if path in places]
            top = min(above, key=places.__getitem__, default=name)
            changed.setdefault(top, []).append(name)
    return {names[0] if len(names) == 1 else top: len(names) for top, names in changed.items()}


def _above(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def belongs_to_system(path: str) -> bool:
    """Tell whether a canonical path is the system's, so that nobody's agent may write it."""
    return path in _NOT_PROJECTS or within(path, _SYSTEM)


def _check_root(root: str, home: str) -> None:
    if not os.path.isdir(root):
        raise PolicyError(f"{root} is not a directory; name the project with -workdir")
    if belongs_to_system(root):
        raise PolicyError(f"{root} belongs to the system and is no project; name one with -workdir")
    if home != "/" and contains(root, home):
        raise PolicyError(f"{root} is your home directory or above it; name a project below it with -workdir")


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path) or os.path.islink(path):
        if os.path.lexists(path):
            yield path
        return
    left = MAX_PROTECTED
    for directory, folders, names in os.walk(path):
        links = [name for name in folders if os.path.islink(os.path.join(directory, name))]
        for name in (names + links)[:left]:
            yield os.path.join(directory, name)
        left -= len(names) + len(folders)
        if left <= 0:
            return


def _fingerprint(path: str) -> bytes:
    """Hash what a file is. The agent may have made it: never wait for a FIFO, never read a huge one whole."""
    try:
        status = os.lstat(path)
    except OSError as error:
        return blake3(f"unreadable {error.errno}".encode()).digest()
    hasher = blake3(f"{status.st_mode:o} {status.st_size}\n".encode())
    if stat.S_ISLNK(status.st_mode):
        with contextlib.suppress(OSError):
            hasher.update(os.fsencode(os.readlink(path)))
    elif stat.S_ISREG(status.st_mode) and status.st_size > MAX_FINGERPRINT:
        # Thousands of such files, which take no room if they are hollow, would hold up every later run.
        hasher.update(f"{status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns}".encode())
    elif stat.S_ISREG(status.st_mode):
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                hasher.update(file.read(MAX_FINGERPRINT))
        except OSError:
            hasher.update(b"unreadable")
    return hasher.digest()

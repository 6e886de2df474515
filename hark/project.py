"""The project directory: what may be one, what in it the agent may not see, and what it may not rewrite.

Credentials that lie in a project are masked; files that something runs later by itself are shown read-only,
and a change to them is found at the end. Both are found by name once, before the agent starts: a file that
the agent makes itself holds nothing it does not know. Installed packages are not searched.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from blake3 import blake3

from hark.errors import PolicyError

MAX_ENTRIES: Final = 200_000  # names looked at; beyond it the search is incomplete, and the run says so
MAX_PROTECTED: Final = 5_000  # files compared under one protected path
MAX_FINGERPRINT: Final = 16 << 20  # bytes of one file compared; its size and mode always are
_KEY_BYTES: Final = 1 << 16

MASKED: Final = (".env", ".env.*", ".envrc", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass")
"""Names of files that hold credentials by custom."""
KEY_FILES: Final = ("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa", "id_ecdsa", "id_ed25519", "*.ppk")
"""Names of files that may hold a private key; masked when they do, so that a certificate stays readable."""
PROTECTED: Final = (
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info",
    ".gitmodules",
    ".vscode",
    ".idea",
    ".zed",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".mcp.json",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".envrc",
    ".pre-commit-config.yaml",
    ".husky",
)
"""Paths that git, an editor, a shell or another agent acts on without being asked."""
_UNSEARCHED: Final = (".git", "node_modules", "site-packages", "__pycache__", ".tox", ".nox", ".mypy_cache")
_NOT_PROJECTS: Final = (
    *("/", "/usr", "/etc", "/var", "/var/tmp", "/tmp", "/run", "/dev", "/proc", "/sys", "/boot", "/opt"),  # noqa: S108
    *("/home", "/root", "/bin", "/sbin", "/lib", "/lib64", "/mnt", "/media", "/srv"),
)


@dataclass(frozen=True, slots=True)
class Project:
    """A project directory as the agent will see it; every path is absolute."""

    root: str
    masked: tuple[str, ...]
    protected: tuple[str, ...]
    complete: bool
    """False when the tree was too large to search for credentials to its end."""


def survey(root: str, home: str, unmask: tuple[str, ...], unprotect: tuple[str, ...]) -> Project:
    """Look through a project directory. Raises PolicyError where it is none (a home, a system directory)."""
    root = os.path.realpath(root)
    _check_root(root, os.path.realpath(home))
    budget = [MAX_ENTRIES]
    masked = [path for path in _search(root, budget) if os.path.relpath(path, root) not in unmask]
    protected = [f"{root}/{name}" for name in PROTECTED if name not in unprotect]
    shown = [path for path in protected if os.path.lexists(path) and path not in masked]
    return Project(root, tuple(sorted(masked)), tuple(shown), complete=budget[0] > 0)


def fingerprints(root: str, unprotect: tuple[str, ...]) -> dict[str, bytes]:
    """Hash what is protected in a project, by relative path: compare before and after to list the changes.

    Also covers what does not exist yet, which no mount can protect.
    """
    found: dict[str, bytes] = {}
    for name in PROTECTED:
        if name in unprotect:
            continue
        for path in _files(f"{root}/{name}"):
            found[os.path.relpath(path, root)] = _fingerprint(path)
    return found


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, int]:
    """Return what was added, removed or changed: a single path by its name, several by what they lie in.

    The values are numbers of files. git's own samples, which nothing runs, do not count.
    """
    changed: dict[str, list[str]] = {}
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and not name.endswith(".sample"):
            top = next((path for path in PROTECTED if name == path or name.startswith(f"{path}/")), name)
            changed.setdefault(top, []).append(name)
    return {names[0] if len(names) == 1 else top: len(names) for top, names in changed.items()}


def _check_root(root: str, home: str) -> None:
    if not os.path.isdir(root):
        raise PolicyError(f"{root} is not a directory; name the project with -workdir")
    if root in _NOT_PROJECTS:
        raise PolicyError(f"{root} belongs to the system and is no project; name one with -workdir")
    if home != "/" and (root == home or f"{home}/".startswith(f"{root}/")):
        raise PolicyError(f"{root} is your home directory or above it; name a project below it with -workdir")


def _search(root: str, budget: list[int]) -> Iterator[str]:
    """Yield paths of files that hold credentials."""
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue  # what the caller cannot list, the agent cannot either
        budget[0] -= len(entries)
        if budget[0] <= 0:
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _UNSEARCHED:
                    pending.append(entry.path)
            elif _holds_credentials(entry):
                yield entry.path


def _holds_credentials(entry: os.DirEntry[str]) -> bool:
    if not entry.is_file(follow_symlinks=False):
        return False  # a link's target is judged where it lies; opening a FIFO would wait for ever
    if any(fnmatchcase(entry.name, pattern) for pattern in MASKED):
        return True
    if not any(fnmatchcase(entry.name, pattern) for pattern in KEY_FILES):
        return False
    if not entry.name.endswith((".pem", ".key")):
        return True
    try:
        with open(entry.path, "rb") as file:
            return b"PRIVATE KEY" in file.read(_KEY_BYTES)
    except OSError:
        return True


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path) or os.path.islink(path):
        if os.path.lexists(path):
            yield path
        return
    left = MAX_PROTECTED
    for directory, _, names in os.walk(path):
        for name in names[:left]:
            yield os.path.join(directory, name)
        left -= len(names)
        if left <= 0:
            return


def _fingerprint(path: str) -> bytes:
    """Hash what a file is. The agent may have made it: never wait for a FIFO, never read a huge one whole."""
    status = os.lstat(path)
    hasher = blake3(f"{status.st_mode:o} {status.st_size}\n".encode())
    if stat.S_ISLNK(status.st_mode):
        hasher.update(os.fsencode(os.readlink(path)))
    elif stat.S_ISREG(status.st_mode):
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                hasher.update(file.read(MAX_FINGERPRINT))
        except OSError:
            hasher.update(b"unreadable")
    return hasher.digest()

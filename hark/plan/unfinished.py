"""What git goes on with: a rebase or picks that were begun, a conflict, the branch that it is on.

An agent may leave such behind: its `exec` lines run at the caller's `git rebase --continue`, its `MERGE_RR`
has `git commit` read any file into the repository, and a branch whose name leads out of it has `git commit`
write there. Always: what is not known to do nothing of the kind is not harmless. Renamed, what was begun can
be aborted and no more continued.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hark.plan.harmless import settings
from hark.plan.ways import text_of

_COMMANDS: Final = frozenset(
    (
        *("pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "break", "b", "drop", "d"),
        *("label", "l", "reset", "t", "merge", "m", "update-ref", "u", "noop", "revert"),
    )
)
"""All that a list of commands may hold, but for `exec`."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9-]*\n?")
"""The name of a strategy is part of a program's; with a slash in it, of a path."""


def _is_list(text: str) -> bool:
    words = (line.split(maxsplit=1)[0] for line in text.split("\n") if line.strip())
    return all(word in _COMMANDS or not word[0].isalnum() for word in words)


def _is_name(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def _are_options(text: str) -> bool:
    """Tell whether `git cherry-pick` and `revert` would be continued with options that run nothing."""
    found = settings(text)
    return found is not None and all(_is_name(value) for _, key, value in found if key == "strategy")


_READ: Final[Mapping[str, Callable[[str], bool]]] = {
    "rebase-merge/git-rebase-todo": _is_list,
    "rebase-merge/strategy": _is_name,
    "sequencer/opts": _are_options,
}


_REF: Final = re.compile(r"ref:\s*refs(?:/(?!\.)[^\x00-\x20~^:?*\[\\\x7f/]+)+\s*")
"""As git-check-ref-format(1) has names, but for what `_is_ref` looks at."""
_HASH: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\s*")
_HEADS: Final = (
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
    "AUTO_MERGE",
)


def _is_ref(text: str) -> bool:
    """Tell whether a name of a commit leads to a branch or the like of this repository, if to any name."""
    if not text.startswith("ref:"):
        return True
    return _REF.fullmatch(text) is not None and not any(one in text for one in ("..", "@{", ".lock/", "./"))


def _is_head(text: str) -> bool:
    return _HASH.fullmatch(text) is not None or (text.startswith("ref:") and _is_ref(text))


def _refs(git: str) -> Iterator[str]:
    """Yield the names of commits that lead elsewhere: git follows them when it commits."""
    for name in _HEADS:
        if not _is_ref(text_of(f"{git}/{name}")):
            yield f"{git}/{name}"
    for folder, _, names in os.walk(f"{git}/refs"):
        yield from (path for name in names if not _is_ref(text_of(path := f"{folder}/{name}")))


def ill(git: str) -> Iterator[str]:
    """Yield what leads git astray, in the directory of a repository or a worktree."""
    if os.path.lexists(f"{git}/MERGE_RR"):
        yield f"{git}/MERGE_RR"
    if os.path.lexists(f"{git}/HEAD") and not _is_head(text_of(f"{git}/HEAD")):
        yield f"{git}/HEAD"
    yield from _refs(git)
    for name, is_harmless in _READ.items():
        path = f"{git}/{name}"
        if os.path.lexists(path):
            text = text_of(path)
            if "\0" in text or not is_harmless(text):
                yield path

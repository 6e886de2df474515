"""What git goes on with when it is told to continue: a rebase, or picks, that were begun.

An agent may leave such behind, and its `exec` lines run at the caller's `git rebase --continue`. Always: what
is not known to run nothing is not harmless. Renamed, it can be aborted and no more continued.
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


def ill(git: str) -> Iterator[str]:
    """Yield what git would run something of, in the directory of a repository or a worktree."""
    for name, is_harmless in _READ.items():
        path = f"{git}/{name}"
        if os.path.lexists(path):
            text = text_of(path)
            if "\0" in text or not is_harmless(text):
                yield path

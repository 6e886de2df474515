"""What git writes into the files of an operation that it has begun, by their names.

After sequencer.c, bisect.c and builtin/{rebase,am,notes,bisect}.c of git 2.39, and the shell scripts
that they were before, which `eval` some of this. Always: a file of another name, and a text that git writes
into none of that name, is not git's. What git hands on as an argument is the worst of it: the options of
`rebase-apply/apply-opt` go to `git apply`, and a strategy is the end of a program's name, with options and
file names behind it. Pure.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from hark.plan.harmless import settings

Form = Callable[[str], bool]
"""Tells whether git writes such a text into a file."""

_COMMANDS: Final = frozenset(
    (
        *("pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "break", "b", "drop", "d"),
        *("label", "l", "reset", "t", "merge", "m", "update-ref", "u", "noop", "revert"),
    )
)
"""All that a list of commands may hold, but for `exec`."""
_STRATEGY: Final = "ort|recursive|resolve|octopus|ours|subtree"
"""git-merge(1); `git merge-WORD` is a program for other words too, as `file`, which writes its first file."""
_OPTION: Final = (
    "ours|theirs|patience|histogram|subtree(?:=[A-Za-z0-9_./-]*+)?|diff-algorithm=[a-z]++|"
    "ignore-(?:space-change|all-space|space-at-eol|cr-at-eol)|(?:no-)?renormalize|no-renames|"
    "(?:find-renames|rename-threshold)(?:=[0-9.]++%?)?"
)
"""parse_merge_opt in merge-recursive.c. The script for `resolve` gives what it has not to `git read-tree`."""
_APPLIED: Final = (
    r"-C\d++|-p\d++|--whitespace=[a-z-]++|--ignore-space-change|--ignore-whitespace|"
    r"--directory=(?!/)(?:(?!\.\.)[A-Za-z0-9_./-])*+|--(?:exclude|include)=[^'\\]*+"
)
"""Options of `git am` for `git apply`, without `--reject`, which wrote through links in older ones."""
_KEY: Final = "[A-Za-z0-9@.+<> -]*+"
_QUOTED: Final = r"(?:'[^']*+'|\\['!])*+"
"""quote.c; nothing else stands in it for a shell either."""
_ID: Final = "[0-9a-f]{4,64}"
_OPTS: Final = re.compile(
    r"(?:no-commit|edit|allow-empty|allow-empty-message|keep-redundant-commits|drop-redundant-commits|signoff|"
    r"record-origin|allow-ff|allow-rerere-auto|commit-use-reference)=(?:true|false)|mainline=\d+|"
    rf"strategy=(?:{_STRATEGY})|strategy-option=(?:{_OPTION})|gpg-sign={_KEY}|default-msg-cleanup=[a-z]+"
)


def _matching(pattern: str) -> Form:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _is_list(text: str) -> bool:
    words = (line.split(maxsplit=1)[0] for line in text.split("\n") if line.strip())
    return all(word in _COMMANDS or not word[0].isalnum() for word in words)


def _are_options(text: str) -> bool:
    """Tell whether `git cherry-pick` and `revert` would be continued with options that run nothing."""
    found = settings(text)
    return found is not None and all(
        section == "options" and _OPTS.fullmatch(f"{key}={value.strip('"')}") for section, key, value in found
    )


_REF: Final = re.compile(r"ref:\s*refs(?:/(?!\.)[^\x00-\x20~^:?*\[\\\x7f/]+)+\s*")
"""As git-check-ref-format(1) has names, but for what `is_ref` looks at."""


def is_ref(text: str) -> bool:
    """Tell whether a name of a commit leads to a branch or the like of this repository, if to any name."""
    if not text.startswith("ref:"):
        return True
    return _REF.fullmatch(text) is not None and not any(one in text for one in ("..", "@{", ".lock/", "./"))


def _is_branch(text: str) -> bool:
    """Tell whether a rebase would go back to a branch of this repository, or to none."""
    return text.rstrip("\n") == "detached HEAD" or is_ref(f"ref: {text}")


ANYTHING: Final = _matching(r"(?s:.*)")
"""git takes the file for a text, or for a sign by being there, whatever is in it."""
_IS_ID: Final = _matching(rf"(?:{_ID})?\s*")
_IS_NUMBER: Final = _matching(r"\d*\s*")
_IS_WORD: Final = _matching(r"[a-z-]*\n?")
_IS_AUTHOR: Final = _matching("".join(rf"GIT_AUTHOR_{one}={_QUOTED}\n" for one in ("NAME", "EMAIL", "DATE")))
_IS_REWRITTEN: Final = _matching(rf"(?:{_ID}(?: {_ID})?\n)*+")
_REBASE: Final[dict[str, Form]] = {
    **dict.fromkeys(("head-name",), _is_branch),
    **dict.fromkeys(("onto", "orig-head", "head", "autostash"), _IS_ID),
    **dict.fromkeys(("quiet", "verbose", "signoff"), ANYTHING),
    "strategy": _matching(rf"(?:{_STRATEGY})\n?"),
    "strategy_opts": _matching(rf"(?:\s*+(?P<q>['\"]?)--(?:{_OPTION})(?P=q)(?=\s|\Z))*+\s*+"),
    "allow_rerere_autoupdate": _matching(r"--(?:no-)?rerere-autoupdate\n?"),
    "gpg_sign_opt": _matching(rf"(?:-S{_KEY})?\n?"),
    "author-script": _IS_AUTHOR,
}
"""In either folder of a rebase."""
_MERGING: Final[Mapping[str, Form]] = _REBASE | {
    "git-rebase-todo": _is_list,
    **dict.fromkeys(("git-rebase-todo.backup", "done", "dropped", "current-fixups", "patch"), ANYTHING),
    **dict.fromkeys(("message", "message-squash", "message-fixup", "interactive"), ANYTHING),
    **dict.fromkeys(("cdate_is_adate", "ignore_date"), ANYTHING),
    **dict.fromkeys(("reschedule-failed-exec", "no-reschedule-failed-exec"), ANYTHING),
    **dict.fromkeys(("drop_redundant_commits", "keep_redundant_commits"), ANYTHING),
    **dict.fromkeys(("msgnum", "end"), _IS_NUMBER),
    **dict.fromkeys(("squash-onto", "amend", "stopped-sha"), _IS_ID),
    **dict.fromkeys(("rewritten-list", "rewritten-pending"), _IS_REWRITTEN),
    "refs-to-delete": _matching(r"(?:refs/rewritten/(?:(?!\.\.)[^\n])++\n)*+"),
    "update-refs": _matching(rf"(?:(?:refs/(?:(?!\.\.)[^\n])++|{_ID})\n)*+"),
}
_MAILBOX: Final[Mapping[str, Form]] = _REBASE | {
    **dict.fromkeys(("next", "last"), _IS_NUMBER),
    **dict.fromkeys(("threeway", "utf8", "keep", "messageid", "scissors", "quoted-cr", "sign"), _IS_WORD),
    **dict.fromkeys(("rerere-autoupdate", "rebasing", "applying", "dirtyindex"), _IS_WORD),
    **dict.fromkeys(("final-commit", "patch", "msg", "info", "patch-merge-index"), ANYTHING),
    **dict.fromkeys(("abort-safety", "original-commit"), _IS_ID),
    "rewritten": _IS_REWRITTEN,
    "apply-opt": _matching(rf"(?:\s*+'(?:{_APPLIED})')*+\s*+"),
}
_PICKS: Final[Mapping[str, Form]] = {
    "todo": _is_list,
    "opts": _are_options,
    **dict.fromkeys(("head", "abort-safety"), _IS_ID),
}
_MAIL: Final = re.compile(r"[0-9]{4,}")
_NOTE: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

SESSIONS: Final[Mapping[str, Callable[[str], Form | None]]] = {
    "rebase-merge": _MERGING.get,
    "rebase-apply": lambda name: ANYTHING if _MAIL.fullmatch(name) else _MAILBOX.get(name),
    "sequencer": _PICKS.get,
    "NOTES_MERGE_WORKTREE": lambda name: ANYTHING if _NOTE.fullmatch(name) else None,
}
"""Folders of what was begun; each tells of a name in it what git writes there, None where it writes none."""
FILES: Final[Mapping[str, Form]] = {
    "MERGE_AUTOSTASH": _IS_ID,
    "BISECT_START": _matching(r"[^-\s~^:?*\[\\][^\s~^:?*\[\\]*+\n?"),
    "BISECT_TERMS": _matching(r"(?:[A-Za-z0-9][A-Za-z0-9_./-]*+\n){2}"),
    "BISECT_NAMES": _matching(r"(?:\s|'[^']*+'|\\['!])*+"),
    "BISECT_EXPECTED_REV": _IS_ID,
}
"""What stands by itself in a repository's folder."""

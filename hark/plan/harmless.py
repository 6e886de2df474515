"""Tells a repository's configuration that git obeys without running anything from one that may name programs.

Always: what is not understood, or is no key of this list, is not harmless. Pure.
"""

import re
from collections.abc import Mapping
from typing import Final

_SECTION: Final = re.compile(r"\[([A-Za-z0-9.-]+)(?:[ \t]+\"((?:[^\"\\\n]|\\[\"\\])*)\")?\][ \t]*")
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_ANY: Final = re.compile(r"[^\\\"\x00-\x08\x0b-\x1f\x7f]*|\"[^\\\"\x00-\x1f\x7f]*\"")
"""One line, and nothing that git would read otherwise than it stands there."""
_PLACE: Final = re.compile(r"[^\\\"#;\x00-\x1f\x7f]*|\"[^\\\"\x00-\x1f\x7f]*\"")
"""A path that git reads as it stands there: a comment behind it would be part of it for hark alone."""
_URL: Final = re.compile(r"(?![-])(?!.*::)[^\s\\\"]+")
_WAY: Final = re.compile(r"checkout|rebase|merge|none", re.IGNORECASE)
_PLAIN: Final[Mapping[str, str]] = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks
        autocrlf eol safecrlf abbrev sparsecheckout sparsecheckoutcone untrackedcache compression quotepath
        sharedrepository longpaths protecthfs protectntfs multipackindex commitgraph checkstat trustctime
        preloadindex bigfilethreshold""",
    "remote": """fetch tagopt prune mirror promisor partialclonefilter skipdefaultupdate skipfetchall
        followremotehead""",
    "branch": "merge rebase description vscode-merge-base autosetuprebase autosetupmerge",
    "submodule": "active branch path ignore fetchrecursesubmodules recurse propagatebranches shallow",
    "extensions": """objectformat compatobjectformat partialclone noop relativeworktrees
        preciousobjects worktreeconfig""",
    "user": "name email useconfigonly",
    "author": "name email",
    "committer": "name email",
    "lfs": "repositoryformatversion access",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune prunetags parallel",
    "init": "defaultbranch",
    "merge": "ff conflictstyle",
    "rebase": "autosquash autostash updaterefs",
    "gc": "auto autodetach autopacklimit pruneexpire",
    "maintenance": "auto",
    "index": "version threads sparse",
    "status": "showuntrackedfiles",
    "advice": "detachedhead",
    "feature": "manyfiles",
    "checkout": "workers",
}
"""Sections and keys whose values name no program, no other file and no other server."""


def is_harmless(text: str) -> bool:
    """Tell whether git would run nothing, and read no other file, because of this configuration.

    `core.worktree` is not looked at here: where it leads to is `hark.plan.disarming`'s matter.
    """
    found = settings(text)
    return found is not None and all(_allowed(*one) for one in found)


def worktrees(text: str) -> list[str]:
    """Return what a harmless configuration says of `core.worktree`, as git reads it."""
    named = (value for section, key, value in settings(text) or () if (section, key) == ("core", "worktree"))
    return [value[1:-1] if value.startswith('"') else value for value in named]


def settings(text: str) -> list[tuple[str, str, str]] | None:
    """Return sections, keys and values as they stand there; None where that is not understood."""
    section, found = "", []
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line.strip(" \t\r")
        begun = _SECTION.match(rest)
        if begun:
            section = begun.group(1).lower()
            rest = rest[begun.end() :].strip(" \t")
        if not rest or rest[0] in "#;":
            continue
        setting = _KEY.fullmatch(rest)
        if setting is None:
            return None
        found.append((section, setting.group(1).lower(), (setting.group(2) or "").strip(" \t\r")))
    return found


def _allowed(section: str, key: str, value: str) -> bool:
    match section, key:
        case (
            (("remote" | "submodule"), ("url" | "pushurl"))
            | ("branch", ("remote" | "pushremote"))  # a URL works there as well
            | ("checkout", "defaultremote")
        ):
            return _URL.fullmatch(value) is not None
        case "submodule", "update":
            return _WAY.fullmatch(value) is not None
        case "core", "worktree":
            return _PLACE.fullmatch(value) is not None
        case "extensions", "refstorage":
            return value.lower() in ("files", "reftable")  # newer ones take a URI, which leads elsewhere
        case _:
            return key in _PLAIN.get(section, "").split() and _ANY.fullmatch(value) is not None

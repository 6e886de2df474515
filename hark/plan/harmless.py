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
_URL: Final = re.compile(r"(?![-])(?!.*::)[^\s\\\"]+")
_WAY: Final = re.compile(r"checkout|rebase|merge|none", re.IGNORECASE)
_PLAIN: Final[Mapping[str, str]] = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks
        autocrlf eol safecrlf abbrev sparsecheckout sparsecheckoutcone untrackedcache compression quotepath
        sharedrepository longpaths protecthfs protectntfs multipackindex commitgraph checkstat trustctime
        preloadindex bigfilethreshold""",
    "remote": """fetch tagopt prune mirror promisor partialclonefilter skipdefaultupdate skipfetchall
        followremotehead""",
    "branch": "remote merge rebase description pushremote vscode-merge-base autosetuprebase autosetupmerge",
    "submodule": "active branch path ignore fetchrecursesubmodules recurse propagatebranches shallow",
    "extensions": """objectformat compatobjectformat refstorage partialclone noop relativeworktrees
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
    "checkout": "defaultremote workers",
}
"""Sections and keys whose values name no program, no other file and no other server."""


def is_harmless(text: str) -> bool:
    """Tell whether git would run nothing, and read no other file, because of this configuration.

    `core.worktree` is not looked at here: where it leads to is `hark.plan.disarming`'s matter.
    """
    section = ""
    for line in text.removeprefix("\ufeff").split("\n"):
        rest = line.strip(" \t\r")
        begun = _SECTION.match(rest)
        if begun:
            section = begun.group(1).lower()
            rest = rest[begun.end() :].strip(" \t")
        if not rest or rest[0] in "#;":
            continue
        found = _KEY.fullmatch(rest)
        if found is None or not _allowed(section, found.group(1).lower(), (found.group(2) or "").strip()):
            return False
    return True


def _allowed(section: str, key: str, value: str) -> bool:
    match section, key:
        case (("remote" | "submodule"), ("url" | "pushurl")):
            return _URL.fullmatch(value) is not None
        case "submodule", "update":
            return _WAY.fullmatch(value) is not None
        case "core", "worktree":
            return _ANY.fullmatch(value) is not None
        case _:
            return key in _PLAIN.get(section, "").split() and _ANY.fullmatch(value) is not None

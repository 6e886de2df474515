"""What git ignores in a tree: .gitignore in every folder, .git/info/exclude, and the policy's own patterns.

The rules are those of the tree as the run began: an agent that writes a .gitignore hides nothing from the
record. git itself is not run, since it would obey what it reads, so a file that is tracked although a
pattern names it counts as ignored; nor are a user's own excludes and those of folders above the project
looked at. An earlier agent may have written any of them: what would take too long, or more memory than RE2
gives to patterns, matches nothing and is named.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Final

MAX_RULES: Final = 1 << 18  # bytes of patterns in one tree
MAX_PATTERNS: Final = 20_000  # in one tree: each takes a tenth of a millisecond
FILE: Final = ".gitignore"
EXCLUDES: Final = b".git/info/exclude"


class TooMuchError(Exception):
    """Patterns are more than is looked at; the message is why."""


class Patterns:
    """The patterns of one file, for paths below the folder that it speaks of.

    pathspec translates them; re2 matches all at once, in linear time: an earlier agent may have written them.
    Raises TooMuchError where they are too much for it together.
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        import re2  # type: ignore[import-untyped]

        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1  # a path is bytes
        options.log_errors = False
        self._set = re2.Set.SearchSet(options)
        self._includes: list[bool] = []
        for line in lines:
            self._add(line, re2.error)
        try:
            self._set.Compile()
        except re2.error as error:
            raise TooMuchError("more patterns than RE2 can compile") from error

    def _add(self, line: bytes, error: type[Exception]) -> None:
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

        try:
            made = GitIgnoreSpecPattern(line)
            if made.include is not None and made.regex is not None:
                self._set.Add(made.regex.pattern)
                self._includes.append(made.include)
        except (ValueError, error):
            return  # as git: what is no pattern matches nothing

    def says(self, path: bytes) -> bool | None:
        """Whether `path` is ignored; None where no pattern is about it. A folder's ends with a slash."""
        hits = self._set.Match(path) if self._includes else None
        return self._includes[max(hits)] if hits else None


class Rules:
    """Every file of patterns that has been met, by the folder that it speaks of."""

    def __init__(self, exclude: Sequence[str] = ()) -> None:
        self._excluded = Patterns(map(os.fsencode, exclude)) if exclude else None
        self._general: Patterns | None = None
        self._by_folder: dict[bytes, Patterns] = {}
        self._left = (MAX_RULES, MAX_PATTERNS)
        self.passed_over: list[bytes] = []
        """Files whose patterns match nothing, since they are too much."""

    def read_general(self, data: bytes) -> None:
        """Take the patterns of .git/info/exclude."""
        self._general = self._taken(EXCLUDES, data)

    def read(self, folder: bytes, data: bytes) -> None:
        """Take the patterns of a folder's .gitignore."""
        name = FILE.encode()
        patterns = self._taken(folder + b"/" + name if folder else name, data)
        if patterns is not None:
            self._by_folder[folder] = patterns

    def _taken(self, path: bytes, data: bytes) -> Patterns | None:
        lines = _lines(data) if len(data) <= self._left[0] else []
        left = self._left[0] - len(data), self._left[1] - len(lines)
        if min(left) >= 0:
            self._left = left
            with contextlib.suppress(TooMuchError):
                return Patterns(lines) if lines else None
        self.passed_over.append(path)
        return None

    def why(self, path: bytes, *, folder: bool) -> str | None:
        """Why a path is left out; None where it is not. Of what lies in a folder that is, nobody asks."""
        if self._excluded is None and self._general is None and not self._by_folder:
            return None
        text = path + b"/" if folder else path
        if self._excluded is not None and self._excluded.says(text):
            return "excluded by the policy"
        if b".git" in path.split(b"/"):
            return None  # of its own files git ignores none
        return "ignored by git" if self._ignored(path, text) else None

    def _ignored(self, path: bytes, text: bytes) -> bool:
        above = path
        while self._by_folder and above:
            above = above.rpartition(b"/")[0]
            if above in self._by_folder:
                inside = text[len(above) + 1 :] if above else text
                said = self._by_folder[above].says(inside)
                if said is not None:
                    return said
        return bool(self._general is not None and self._general.says(text))


def _lines(data: bytes) -> list[bytes]:
    lines = [line for line in data.replace(b"\r\n", b"\n").split(b"\n") if line.strip()]
    return [line for line in lines if not line.startswith(b"#")]

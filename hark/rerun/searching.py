"""Which program of this machine stands for the one that a bundle names, and what it needs to start.

Looked for, in this order: in the copy of the project, in the caller's own project where there is one, by the
recorded PATH, by the caller's PATH; a whole path that is not here, by its last name. The command's chain
(`hark.plan.command`) is followed as for any run, so that a link or `#!` line in a copy shows nothing of the
host that is no program.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hark.errors import ReplayError
from hark.places import contains, within
from hark.plan.caller import home_of
from hark.plan.command import Command, CommandError, find_command, is_installation
from hark.plan.environment import DEFAULT_PATH
from hark.plan.toolchains import is_shown

_GONE: Final = 127
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
"""What every agent sees."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where things lie: `workdir` as recorded, its `copy`, and the caller's own directory if there is one."""

    workdir: str
    copy: str
    reference: str | None
    recorded_path: str
    environ: Mapping[str, str]
    own: bool = False
    """Whether the run that was recorded was the caller's own: its PATH then leads no further than theirs."""

    @property
    def path(self) -> str:
        """Return the recorded PATH as this machine has it, then the caller's own."""
        own = self.environ.get("PATH", DEFAULT_PATH)
        entries = [entry for one in self.recorded_path.split(":") for entry in self.here(one)]
        return ":".join(dict.fromkeys((*entries, *own.split(":"))))

    def here(self, path: str) -> Iterator[str]:
        """Yield where a recorded path may lie on this machine; none where it is relative."""
        if not os.path.isabs(path):
            return
        if not contains(self.workdir, path):
            yield path
            return
        yield self.copied(path)
        if self.reference is not None:
            yield f"{self.reference}{path[len(self.workdir) :]}"

    def copied(self, path: str) -> str:
        """Return where a path in the recorded directory lies in the copy."""
        return f"{self.copy}{path[len(self.workdir) :]}"

    def inside(self, path: str) -> str:
        """Return where the agent sees what lies at `path` on this machine."""
        for base in (self.copy, self.reference):
            if base is not None and contains(base, path):
                return f"{self.workdir}{path[len(base) :]}"
        return path


@dataclass(frozen=True, slots=True)
class Found:
    """A program: where it lies here, where the agent sees it, and the first word of its command line."""

    host: str
    inside: str
    shown_as: str
    needs: tuple[str, ...]
    replaced: bool = False
    """Whether it is another than the one that was named."""


def search(name: str, places: Places) -> Found:
    """Find the program. Raises ReplayError."""
    failed: CommandError | None = None
    home = home_of(places.environ)
    for word, workdir in _ways(name, places):
        try:
            command = find_command(word, workdir, places.path, home, places.environ)
        except CommandError as error:
            failed = failed if failed is not None and error.exit_code == _GONE else error
            continue
        return _found(name, word, command, places)
    raise ReplayError(f"what it ran is not on this machine: {failed}; install it, or put it on your PATH")


def _ways(name: str, places: Places) -> Iterator[tuple[str, str]]:
    """Yield words to look for, with the directory to look from."""
    if "/" not in name:
        yield name, places.copy
        return
    if os.path.isabs(name):
        for path in places.here(os.path.normpath(name)):
            yield path, places.copy if contains(places.copy, path) else places.reference or places.copy
    else:
        yield name, places.copy
        if places.reference is not None:
            yield name, places.reference
    last = os.path.basename(name)
    if os.path.isabs(name) and last and not contains(places.workdir, os.path.normpath(name)):
        yield last, places.copy


def _found(name: str, word: str, command: Command, places: Places) -> Found:
    inside = places.inside(command.executable)
    replaced = "/" in name and "/" not in word
    needs = tuple(_programs(command.executable, command.needs, places))
    return Found(command.executable, inside, inside if replaced else name, needs, replaced)


def _programs(executable: str, needs: tuple[str, ...], places: Places) -> Iterator[str]:
    """Yield what is a program of this machine's: a bundle may have named, or linked to, any other file.

    Of a command that the caller's own PATH has, everything is, and of a run of the caller's own: no word of a
    stranger's led further.
    """
    own = places.environ.get("PATH", DEFAULT_PATH).split(":")
    if places.own or os.path.dirname(executable) in own:
        yield from needs
        return
    home = home_of(places.environ)
    whole = [need for need in needs if _is_program_place(need, home)]
    for need in needs:
        ours = contains(places.copy, need) or (
            places.reference is not None and contains(places.reference, need)
        )
        if ours or within(need, (*SYSTEM, *whole)) or os.path.dirname(need) in own:
            yield need


def _is_program_place(path: str, home: str) -> bool:
    """Tell whether a place holds a language or a version manager's tools, by what lies in it."""
    return is_shown(path, home) or (os.path.isdir(path) and is_installation(path, home))

"""Whose environment a run begins in, and which of its programs may be run outside the boundary.

Always: nothing that decides what such a program does lies where the agent can write: not the program, its
interpreters, a script among its arguments, its directory, or an entry of its PATH. It would be a way out of
the boundary, for an earlier run's agent if not for this one's.
"""

import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, expanded, within
from hark.plan.command import CommandError, find_command
from hark.plan.environment import DEFAULT_PATH, KEPT_PREFIXES
from hark.plan.interpreted import CODE, code_places

_KEPT: Final = (
    *("LANG", "LANGUAGE", "TZ", "TERM", "SHELL", "USER", "LOGNAME", "HOME", "TMPDIR", "XDG_CONFIG_HOME"),
    *("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    "NODE_EXTRA_CA_CERTS",
)
"""Variables of the caller that a server gets: where it is, and what it trusts. None is a credential."""
_SEPARATORS: Final = re.compile(r"[:;,=\s\"']")


@dataclass(frozen=True, slots=True)
class Caller:
    """Where programs are looked for, and what of it the agent may write."""

    environ: Mapping[str, str]
    home: str
    writable: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the caller's PATH without what the agent could put programs into."""
        entries = self.environ.get("PATH", DEFAULT_PATH).split(":")
        kept = [entry for entry in entries if os.path.isabs(entry) and not self.writes(entry)]
        return ":".join(kept) or DEFAULT_PATH

    @property
    def variables(self) -> dict[str, str]:
        """Return what a server gets of the caller's environment."""
        kept = {
            name: value
            for name, value in self.outside.items()
            if name in _KEPT or name.startswith(KEPT_PREFIXES)
        }
        return kept | {"HOME": self.home, "PATH": self.path}

    @property
    def outside(self) -> dict[str, str]:
        """Return the caller's environment without what leads a program to where the agent may write.

        PYTHONPATH and its kin have code loaded from there, and no list of them is whole.
        """
        kept = {name: value for name, value in self.environ.items() if not self._leads_in(value)}
        return kept | {"PATH": self.path}

    def _leads_in(self, value: str) -> bool:
        pieces = [piece for piece in _SEPARATORS.split(value) if os.path.isabs(piece)]
        return any(self.writes(piece) for piece in pieces)

    def expanded(self, path: str) -> str:
        """Put the home directory in the place of a leading `~`."""
        return expanded(path, self.home)

    def writes(self, path: str) -> bool:
        """Tell whether the agent may write `path`, by the name given or by where it leads."""
        return any(within(one, self.writable) for one in (path, os.path.realpath(path)))

    def refuse_planted(self, path: str, who: object) -> None:
        """Refuse a path that a link in the agent's reach leads elsewhere. Raises PolicyError.

        An agent of an earlier run may have made it, to be shown what it leads to.
        """
        real = os.path.realpath(path)
        if within(path, self.writable) and not within(real, self.writable):
            raise PolicyError(
                f"{who}: {path} is a link to {real}, and the agent may write it; name that file"
            )

    def writes_in(self, path: str) -> bool:
        """Tell whether the agent may write `path` or anything below it."""
        return self.writes(path) or any(contains(os.path.realpath(path), root) for root in self.writable)

    def trusted(
        self, words: tuple[str, ...], workdir: str, who: str, env: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return a command line that may run outside the boundary, in `workdir`. Raises PolicyError.

        `env` are the variables that the policy gives it, and a way to have other code loaded.
        """
        word = self.expanded(words[0])
        if "/" in word and not os.path.isabs(word):
            raise PolicyError(f"{who}: {word} is neither a whole path nor a name on PATH; write one")
        try:
            command = find_command(word, "/", self.path, self.home, self.environ)
        except CommandError as error:
            raise PolicyError(f"{who}: {error}") from None
        arguments = tuple(self.expanded(argument) for argument in words[1:])
        exposed = [place for place in command.needs if self.writes_in(place)]
        named = (*code_places((word, *arguments), workdir), *_code_paths(env or {}), workdir)
        exposed += [place for place in named if self.writes(place)]
        if exposed:
            raise PolicyError(
                f"{who} would run outside the boundary with {exposed[0]}, where the agent may write; "
                f"keep it elsewhere"
            )
        return (command.executable, *arguments)


def home_of(environ: Mapping[str, str]) -> str:
    """Return the caller's home directory, `/` where there is none."""
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return os.path.normpath(home)
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def _code_paths(env: Mapping[str, str]) -> list[str]:
    """List the places from which variables have programs or libraries loaded."""
    return [place for name in CODE if name in env for place in env[name].split(":") if place]

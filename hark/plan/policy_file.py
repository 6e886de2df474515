"""Which policy a run has, and what the caller is told of where it came from.

A policy is the one that `-policy` names, else `policy.toml` beside hark's own key, where no agent ever sees
anything; else none, and everything is denied. Never one that merely lies in the project: an agent of an
earlier run may have written it, and a run that was started without a word about it would obey.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from hark.errors import PolicyError
from hark.given import read_whole
from hark.policy.decide import UNSAFE_ALLOW_ALL
from hark.policy.model import Policy
from hark.policy.parse import MAX_POLICY, parse_policy

NAME: Final = "policy.toml"
WITHOUT_SECRETS: Final = ", without its secrets"
"""How the source of a policy ends that a fork took from its parent: its rules alone."""
OVERRULED: Final = f", overruled by {UNSAFE_ALLOW_ALL}"
"""How the source of a policy ends in the record where everything was allowed."""
_NONE: Final = Policy().source
_LOOKED_LIKE: Final = (NAME, "hark.toml")


def read_policy(named: str | None, environ: Mapping[str, str], *, allow_all: bool = False) -> Policy:
    """Return the policy of a run; its source is the path that it was read from. Raises PolicyError."""
    if named == "":
        raise PolicyError("-policy is empty; name a file, or leave it out")
    path = named if named is not None else _own(environ)
    policy = Policy() if path is None else load(path)
    return replace(policy, allow_all=True) if allow_all else policy


def load(path: str) -> Policy:
    """Read one policy file. Raises PolicyError."""
    return parse_policy(read_whole(path, MAX_POLICY, f"policy {path}"), path)


def own_path(environ: Mapping[str, str]) -> str:
    """Return where the caller's own policy lies if there is one: `$XDG_CONFIG_HOME/hark/policy.toml`."""
    from hark.keys import user_key_path

    return os.path.join(os.path.dirname(user_key_path(environ)), NAME)


def shown_own_path(environ: Mapping[str, str]) -> str:
    """Return the same for people, with `~` for the home directory."""
    path, home = own_path(environ), environ.get("HOME", "").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def said_of(policy: Policy, named: str | None, workdir: str) -> Iterator[str]:
    """Yield what the caller should know of a run's policy before the agent starts."""
    if policy.allow_all:
        yield f"{UNSAFE_ALLOW_ALL}: NOTHING IS DENIED, every host and port may be reached; the record says so"
    if named is not None:
        return
    if policy.raw or policy.source != _NONE:
        yield f"policy {policy.source} (no -policy was given)"
        return
    for name in _LOOKED_LIKE:
        path = os.path.join(workdir, name)
        if os.path.isfile(path):
            yield (
                f"{name} lies in the project and is not used, as an agent may have written it; "
                f"read it, then name it with -policy {name}"
            )


def said_at_the_end(policy: Policy) -> Iterator[str]:
    """Yield what the caller should be reminded of when the run is over."""
    if policy.allow_all:
        yield (
            f"{UNSAFE_ALLOW_ALL}: nothing was denied in this run; "
            "`hark policy derive BUNDLE` prints a policy that allows what it reached"
        )


def _own(environ: Mapping[str, str]) -> str | None:
    """Return the caller's own policy, if there is one and nobody else can have written it."""
    path = own_path(environ)
    try:
        found = os.stat(path)
    except OSError:
        return None
    if found.st_uid not in {0, os.geteuid()} or stat.S_IMODE(found.st_mode) & 0o022:
        raise PolicyError(
            f"{path} can be written by others; make it yours alone (chmod go-w), or name a policy"
        )
    return path

"""What of a policy `hark run` would refuse on this machine, from this directory: told before a run is tried.

Always: the run's own functions say it, so that the two cannot differ. Not done: the program that a secret's
value comes from is looked for and not run, since it may ask a person; nor is what depends on the command.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from hark.errors import PolicyError
from hark.plan.caller import Caller, home_of
from hark.plan.environment import DEFAULT_PATH
from hark.plan.executables import programs
from hark.plan.grants import granted
from hark.plan.secrets import obtainable
from hark.plan.toolservers import own_secrets, trusted
from hark.policy.facts import Fact
from hark.policy.lines import Lines
from hark.policy.model import Policy
from launcher.plan import Access


def refusals(policy: Policy, environ: Mapping[str, str], workdir: str) -> Iterator[Fact]:
    """Yield the sentences that a run in `workdir` would be refused with."""
    lines, home = Lines(policy), home_of(environ)
    writable = [os.path.realpath(workdir)]
    for key, access, paths in (
        ("read_paths", Access.READ, policy.read_paths),
        ("write_paths", Access.WRITE, policy.write_paths),
    ):
        for number, path in enumerate(paths):
            words = _refusal(partial(granted, path, access, key, home))
            if words:
                yield Fact(lines.of(key, number), words)
            elif access is Access.WRITE:
                writable.append(granted(path, access, key, home).path)
    caller = Caller(environ, home, tuple(writable))
    for spec in policy.secrets:
        words = _refusal(partial(obtainable, spec, caller))
        if words:
            yield Fact(lines.of("secrets", spec.name), words)
    for number, entry in enumerate(policy.executables or ()):
        words = _refusal(partial(programs, entry, environ.get("PATH", DEFAULT_PATH), home))
        if words:
            yield Fact(lines.of("exec", number), words)
    for server in policy.mcp:
        words = _refusal(partial(trusted, server, caller)) or _refusal(partial(own_secrets, server, environ))
        if words:
            yield Fact(lines.of("mcp", server.name), words)


def _refusal(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except PolicyError as error:
        return str(error)
    return ""

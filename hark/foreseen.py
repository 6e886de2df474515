"""What of a policy `hark run` would refuse on this machine, from this directory: told before a run is tried.

Always: the run's own functions say it, so that the two cannot differ. Not looked at: the values of secrets,
since asking for them may ask a person, and what depends on the command.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from hark.caller import Caller, home_of
from hark.errors import PolicyError
from hark.grants import granted
from hark.policy.facts import Fact
from hark.policy.lines import Lines
from hark.policy.model import Policy
from hark.toolservers import trusted
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
    for server in policy.mcp:
        words = _refusal(partial(trusted, server, caller))
        if words:
            yield Fact(lines.of("mcp", server.name), words)


def _refusal(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except PolicyError as error:
        return str(error)
    return ""

"""Ports of localhost that a command or a variable names, where a service of the caller's was likely meant.

Always: it is said of a run that failed, and of names that can be read in its command and environment alone.
What the agent sends to its loopback never leaves it and is seen by nobody.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from hark.policy import wanted
from hark.policy.model import Address, Policy

MAX_NAMED: Final = 3
_LOOPBACK: Final = re.compile(r"(?<![\w.-])(localhost|127\.0\.0\.1|\[::1\]):(\d{1,5})(?!\d)", re.ASCII)
_HOST: Final = "name.host"


class Meant(NamedTuple):
    """A sentence, and the lines of a policy that would give the service a name."""

    words: str
    lines: tuple[str, ...]


def meant(argv: Iterable[str], env: Mapping[str, str], policy: Policy, own: Iterable[int]) -> Iterator[Meant]:
    """Yield a remark for each port that is named and is not `own`, nor where the policy leads already."""
    known = {*own, *(rule.upstream.port for rule in policy.rules if rule.upstream is not None)}
    places = [("the command", word) for word in argv]
    places += [(f"the variable {name}", value) for name, value in env.items()]
    found: dict[int, tuple[str, str]] = {}
    for where, text in places:
        for match in _LOOPBACK.finditer(text):
            port = int(match[2])
            if 0 < port <= 65535 and port not in known:
                found.setdefault(port, (where, match[0]))
    for port, (where, name) in list(found.items())[:MAX_NAMED]:
        here = Address("::1" if name.startswith("[") else "127.0.0.1", port)
        yield Meant(
            f"{name} in {where} is the agent's own loopback, where no service of this machine is; if one is "
            f"meant, this lets the agent reach it as {_HOST}:{port}:",
            tuple(wanted.table(_HOST, port, upstream=here).split("\n")),
        )

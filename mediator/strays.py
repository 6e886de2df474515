"""What is said of a value that comes from where it does not belong, and of a run that ends by that. Pure.

Always: the reason that the record has of the stream names the secret, and by it a replay ends there as well.
"""

import re
from typing import Final

from mediator.authority import Destination

_REASON: Final = "the server sent the value of secrets.{}, which is not bound to it"
_SAID: Final = re.compile(re.escape(_REASON).replace(r"\{\}", r"(.{1,256})"))


def reason(name: str) -> str:
    """Return why a stream with the value in it ends."""
    return _REASON.format(name)


def secret_in(reason: str) -> str | None:
    """Return the name of the secret where a stream ended for that; None where it did for anything else."""
    said = _SAID.fullmatch(reason)
    return None if said is None else said.group(1)


def end(name: str, source: object) -> str:
    """Return why the run ends. It begins with the key in the policy, as of a limit."""
    bind = "; if it belongs there, name that host in its `hosts`" if isinstance(source, Destination) else ""
    return (
        f"secrets.{name} came in an answer of {source}, to which it is not bound: it has leaked, or the "
        f"agent tried guesses there, so replace it{bind}"
    )

"""What judging an anchor comes to: it holds, it is rejected at a numbered step, or nobody here can say.

What always holds: the three are told apart by type, so that none can pass for another by a forgotten
comparison.
"""

from typing import Final, NamedTuple

from hark.errors import BundleError

BODY: Final = 4  # also what an entry that is not well-formed fails at: it names nothing
MANY: Final = 32  # entries of any list in an anchor: certificates, stamps, lines of a note


class RejectedError(BundleError):
    """The anchor does not hold; `step` is the number in `hark.anchor.judge`."""

    def __init__(self, step: int, words: str) -> None:
        super().__init__(words)
        self.step = step


class UncheckableError(BundleError):
    """Nothing at hand vouches for the log, the certificate authority or the clock that the anchor names."""


class Held(NamedTuple):
    """An anchor that holds."""

    log: str
    """The log's origin, from the trust root and the checkpoint that its key signed."""
    number: int
    """The log's number of the entry."""
    time: int
    """Unix seconds: the earliest time that somebody else vouches for."""
    clock: str
    """Who does: the log, or the name of the time stamping authority."""
    identity: str = ""
    """Of the certificate; empty where a key was anchored."""
    issuer: str = ""
    """Who vouched for that identity."""
    witnesses: tuple[str, ...] = ()
    """Names of those whose cosignature was asked for, and is there."""

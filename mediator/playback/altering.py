"""What a fork does to requests before a server is asked, as a seam: the patches are `hark.patch`.

Always: what the agent sent is on the record as it sent it, and what is altered holds placeholders;
credentials are put in after it, and signatures made after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hark.patch.apply import Sent


@dataclass(frozen=True, slots=True)
class Altered:
    """What is asked in place of what the agent asked, and why, in words."""

    sent: "Sent"
    why: str


class Altering(Protocol):
    """Changes live requests."""

    def may_alter(self, method: str, host: str, path: str, *, live: bool) -> bool:
        """Tell whether a request may be altered, or asked where the run goes live: its body is then kept.

        MUST be quick: every request's head is asked about. `live`: the run is live already.
        """
        ...

    def altered(self, exchange: int, sent: "Sent") -> Altered | str | None:
        """Return what is asked instead; None: what the agent asked; or why it cannot be, in words."""
        ...

    def message(self, lines: Sequence[bytes]) -> bytes | str:
        """Return the call to a tool server at the branch point as it is asked; or why it cannot be, in words.

        It is one of `lines`, the last that the agent said there.
        """
        ...

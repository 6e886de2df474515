"""Tokens that a server mints during the run: the agent and the record get placeholders of the same shape.

Always: an answer of a token endpoint (`mediator.endpoints`) is read whole before any of it passes; the values
of the named fields are credentials of the run from then on, bound to the host that minted them and to those
where they are used. Toward the minting host they may stand in bodies too, so that a refresh works. An answer
that is too long to be read, is in no format that is understood (`mediator.minted`), or has a value that no
placeholder could stand for, does not pass. No IO.

Not done here: tokens in trailers, and in headers other than those that are called as a field and `Location`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hark.errors import PolicyError
from hark.policy.model import HostRule, Surface
from mediator.authority import Destination
from mediator.codings import PackedError, Text
from mediator.credentials import Broker
from mediator.endpoints import Minting
from mediator.grants import Held
from mediator.minted import plain, values_at, values_in
from mediator.placeholders import MIN_LENGTH, check_value, placeholder_for
from mediator.scan import FoundError
from mediator.spelling import Place
from mediator.transcript import Headers

MAX_ANSWER: Final = 1 << 20  # a token endpoint's answer has some kilobytes
MAX_MINTED: Final = 500
"""In one run. Each is looked for in all that passes from then on; what mints more is no login."""
_HEADERS: Final = (Surface.HEADER, Surface.BASIC)
_KEY_ID: Final = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16,}")


class Mint:
    """Keeps what is minted. `told` hears the name of each field whose value became a credential.

    `plain`: it came without TLS from beyond this machine, so it may go back that way.
    """

    def __init__(self, broker: Broker, told: Callable[[str], None], *, plain: bool = False) -> None:
        self._broker = broker
        self._told = told
        self._plain = plain

    def keep(self, found: list[tuple[str, str]], target: Destination, minting: Minting) -> None:
        """Hold each value that is not held yet. Raises PackedError and FoundError."""
        held = {one.value for one in self._broker.held()}
        key_id: str | None = None
        for member, value in dict.fromkeys(found):
            name = f"{member}-{len(held) + 1}@{target.host}"
            if _KEY_ID.fullmatch(value):
                key_id = name
            if value in held or len(value) < MIN_LENGTH:
                continue
            if len(held) >= MAX_MINTED:
                raise PackedError(f"it mints a token beyond the {MAX_MINTED} that one run may hold")
            self._refuse_holding(value, target)
            signs = key_id if member.lower() == "secretaccesskey" else None
            self._broker.add(self._held(name, value, target, minting, signs))
            held.add(value)
            self._told(member)

    def _refuse_holding(self, value: str, target: Destination) -> None:
        """Raise where a token holds another secret: FoundError where that has no business there."""
        within = [one.name for one in self._broker.held() if one.value in value]
        for name in self._broker.astray_at(target).intersection(within):
            raise FoundError(name)
        if within:
            raise PackedError("it mints a token that holds another secret")

    def keep_in_head(self, headers: Headers, target: Destination, minting: Minting) -> None:
        """Hold what stands in an answer's head. Raises as `keep` does."""
        found = [
            pair
            for name, value in headers
            if name.lower() in (b"location", b"content-location")
            for pair in values_at(value, minting.fields)
        ]
        names = set(map(plain, minting.fields))
        texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
        found += [(name, value) for name, value in texts if plain(name) in names]
        self.keep(found, target, minting)

    def _held(self, name: str, value: str, target: Destination, minting: Minting, signs: str | None) -> Held:
        try:
            check_value(name, value)
        except PolicyError as error:
            raise PackedError(f"it mints a token that hark cannot keep from the agent: {error}") from None
        here = (HostRule(target.host, target.port),)
        grants = ((here, (*_HEADERS, Surface.BODY)), (minting.used, _HEADERS))
        return Held(name, value, placeholder_for(value), grants, signs, plain=self._plain)


@dataclass(slots=True)
class MintedText:
    """The text of one answer: read whole, its tokens kept, then passed to `text`, which turns them."""

    mint: Mint
    text: Text
    target: Destination
    minting: Minting
    place: Place
    _whole: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> bytes:
        """Take a piece and return nothing yet. Raises PackedError."""
        self._whole += data
        if len(self._whole) > MAX_ANSWER:
            raise PackedError(f"it is longer than {MAX_ANSWER} bytes, and a token may be minted in it")
        return b""

    def finish(self) -> bytes:
        """Return all of it, with placeholders. Raises PackedError, and what `text` raises."""
        whole = bytes(self._whole)
        found = list(values_in(whole, self.place, self.minting.fields))
        self.mint.keep(found, self.target, self.minting)
        return self.text.feed(whole) + self.text.finish()

"""Credentials: the agent holds placeholders; real values go into requests, for the hosts they are bound to.

Always: a placeholder leaves only as the real value, in a header, toward a host that its secret is bound to;
anywhere else it does not leave at all. A real value enters no event, log line or error: messages name the
secret. The recorded hash is keyed by a secret of the run, so a shared file says nothing about a value.

Not done here: substitution in URLs, bodies and WebSocket messages (such requests are refused), and turning a
value that a server echoes back into its placeholder (such answers are cut before they reach the agent).
"""

import base64
import binascii
import re
import secrets
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import unquote_to_bytes

from blake3 import blake3

from hark.errors import PolicyError, RecordError
from hark.policy.model import Secret
from mediator.authority import Destination
from mediator.encodings import forms_of, wrapped_forms_of
from mediator.scan import FoundError, Needles, StreamScan
from mediator.squeeze import squeezed

MIN_LENGTH: Final = 8  # shorter values stand in ordinary traffic by chance, and every event would be a leak
MIN_DISTINCT: Final = 5  # `aaaaaaaa` and `12121212` as well
MAX_LENGTH: Final = 1 << 16  # a service account's JSON has 2 kB; nothing that is a credential is larger
RANDOM_CHARACTERS: Final = 24  # 142 bits: no placeholder is met by chance, none is a prefix of another
_MARK: Final = "hark"
_ALPHABET: Final = string.ascii_letters + string.digits
_PREFIX: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,11}[-_]){1,4}|AIza|AKIA|ASIA|ya29\.|eyJ")
_SYSTEM: Final = secrets.SystemRandom()
_BASIC: Final = re.compile(rb"(?i)(basic +)([A-Za-z0-9+/=_-]+) *")

type HeaderList = Sequence[tuple[bytes, bytes]]


class Randomness(Protocol):
    """What `placeholder_for` needs of a generator; `secrets.SystemRandom()` is one."""

    def choice(self, seq: str, /) -> str:
        """Return one character of `seq`."""
        ...


@dataclass(frozen=True, slots=True)
class Injection:
    """One secret that went into one request."""

    ref: str
    placeholder: str
    value_hash: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """A placeholder stands where it may not leave from. The request is not sent."""

    reason: str


@dataclass(frozen=True, slots=True)
class Injected:
    """Headers to send, with the real values. Never recorded and never shown."""

    headers: tuple[tuple[bytes, bytes], ...]
    injections: tuple[Injection, ...]


def check_value(name: str, value: str) -> None:
    """Refuse a value that could not be told from ordinary traffic. Raises PolicyError without the value."""
    if len(value) < MIN_LENGTH:
        raise PolicyError(
            f"secrets.{name} has {len(value)} characters, too few to tell it from ordinary traffic; "
            f"use a credential of {MIN_LENGTH} or more"
        )
    if len(set(value)) < MIN_DISTINCT:
        raise PolicyError(
            f"secrets.{name} is made of {len(set(value))} different characters, too few to tell it from "
            "ordinary traffic; use a real credential"
        )
    if len(value) > MAX_LENGTH:
        raise PolicyError(f"secrets.{name} is longer than {MAX_LENGTH} characters, which no credential is")
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in value):
        raise PolicyError(
            f"secrets.{name} has a line break or another control character in it, which no header can carry; "
            "look at the end of the file or variable"
        )


def placeholder_for(value: str, rng: Randomness = _SYSTEM) -> str:
    """Return a stand-in that programs take for the real thing: its known prefix, its length, random else.

    It is at least as long as its prefix, `hark` and the random part, whatever the value's length.
    """
    matched = _PREFIX.match(value)
    prefix = matched.group() if matched and len(matched.group()) <= len(value) // 2 else ""
    size = max(len(value) - len(prefix) - len(_MARK), RANDOM_CHARACTERS)
    return prefix + _MARK + "".join(rng.choice(_ALPHABET) for _ in range(size))


class Broker:
    """Holds the real values. `repr` and pickle show none of them; no method returns one but `inject`."""

    def __init__(self, held: Iterable[Secret], run_key: bytes | None = None) -> None:
        self._secrets = tuple(held)
        self._key = run_key or secrets.token_bytes(32)
        placeholders: dict[bytes, str] = {}
        values: dict[bytes, str] = {}
        wrapped: dict[bytes, str] = {}
        for secret in self._secrets:
            check_value(secret.name, secret.value)
            _check_placeholder(secret, placeholders)
            placeholders[secret.placeholder.encode()] = secret.name
            values.update(dict.fromkeys(forms_of(secret.value), secret.name))
            wrapped.update(dict.fromkeys(wrapped_forms_of(secret.value), secret.name))
        self._placeholders = Needles(_with_encodings(placeholders))
        self._values = Needles(values)
        self._wrapped = Needles(wrapped)

    def __repr__(self) -> str:
        return f"Broker({len(self._secrets)} secrets)"

    def __reduce__(self) -> str:
        raise TypeError("a broker holds real credentials and is never pickled")

    @property
    def longest(self) -> int:
        """How many bytes the longest form of a real value has that `guard` knows; 0 where there is none."""
        return self._values.longest

    @property
    def holds_any(self) -> bool:
        """Tell whether there is any credential to look for."""
        return bool(self._secrets)

    def inject(self, headers: HeaderList, target: Destination) -> Injected | Refused:
        """Replace each placeholder in header values by the value bound to `target`; refuse any other."""
        done: list[tuple[bytes, bytes]] = []
        used: dict[str, Injection] = {}
        for name, value in headers:
            if self._placeholders.find(name) is not None:
                return Refused("a placeholder stands in the name of a header")
            swapped = self._swap(value, target, used)
            if isinstance(swapped, Refused):
                return swapped
            done.append((name, swapped))
        return Injected(tuple(done), tuple(used.values()))

    def in_path(self, path: bytes) -> Refused | None:
        """Refuse a placeholder in a URL, also behind percent signs."""
        name = self._placeholders.find(path) or self._placeholders.find(unquote_to_bytes(path))
        if name is None:
            return None
        return Refused(
            f"the placeholder of secrets.{name} stands in the URL, where it is not substituted; "
            "send it in a header"
        )

    def in_trailers(self, fields: HeaderList) -> Refused | None:
        """Refuse a placeholder behind a body."""
        joined = b"\n".join(name + b": " + value for name, value in fields)
        name = self._placeholders.find(joined) or self._placeholders.find(unquote_to_bytes(joined))
        if name is None:
            return None
        return Refused(
            f"the placeholder of secrets.{name} stands in a trailer, where it is not substituted; "
            "send it in a header"
        )

    def outgoing(self) -> StreamScan:
        """Return a scan for placeholders in one request body."""
        return StreamScan(self._placeholders)

    def incoming(self) -> StreamScan:
        """Return a scan for real values, in every form, in one response."""
        return StreamScan(self._values)

    def incoming_wrapped(self) -> StreamScan:
        """Return a scan for real values as base64 or hexadecimal in one response without its blanks."""
        return StreamScan(self._wrapped)

    def body_refusal(self, found: FoundError) -> Refused:
        """Say why a request body with a placeholder in it is not sent."""
        return Refused(
            f"the placeholder of secrets.{found.name} stands in the request's body, where it is not "
            "substituted; send it in a header"
        )

    @property
    def longest_value(self) -> int:
        """Return the length of the longest form in which a real value is looked for."""
        return self._values.longest

    def real_value_in(self, data: bytes) -> str | None:
        """Return the name of a secret whose real value stands in `data` in any form, or wrapped."""
        return self._values.find(data) or self._wrapped.find(squeezed(data))

    def guard(self, payload: bytes) -> None:
        """Raise RecordError if a real value stands in a payload that is about to be recorded."""
        name = self._values.find(payload)
        if name is not None:
            raise RecordError(f"an event with the real value of secrets.{name} in it was not recorded")

    def _swap(self, value: bytes, target: Destination, used: dict[str, Injection]) -> bytes | Refused:
        basic = _BASIC.fullmatch(value)
        if basic:
            plain = _from_base64(basic.group(2))
            if self._placeholders.find(plain) is not None:
                swapped = self._swap_plain(plain, target, used)
                if isinstance(swapped, Refused):
                    return swapped
                return basic.group(1) + base64.b64encode(swapped)
        return self._swap_plain(value, target, used)

    def _swap_plain(self, value: bytes, target: Destination, used: dict[str, Injection]) -> bytes | Refused:
        for secret in self._secrets:
            placeholder = secret.placeholder.encode()
            if placeholder not in value:
                continue
            if not secret.bound_to(target.host, target.port):
                return Refused(f"secrets.{secret.name} is not bound to {target}")
            value = value.replace(placeholder, secret.value.encode())
            used[secret.name] = self._injection(secret)
        name = self._placeholders.find(value)
        if name is not None:
            return Refused(f"the placeholder of secrets.{name} stands in a header in an encoding of its own")
        return value

    def _injection(self, secret: Secret) -> Injection:
        digest = blake3(secret.value.encode(), key=self._key).digest()
        return Injection(f"secrets.{secret.name}", secret.placeholder, digest)


def _check_placeholder(secret: Secret, others: dict[bytes, str]) -> None:
    """Two placeholders of which one holds the other would be substituted by chance of order."""
    mine = secret.placeholder.encode()
    if len(mine) < RANDOM_CHARACTERS or secret.value in secret.placeholder:
        raise PolicyError(f"the placeholder of secrets.{secret.name} is no placeholder")
    for other, name in others.items():
        if mine in other or other in mine:
            raise PolicyError(f"the placeholders of secrets.{secret.name} and secrets.{name} overlap")


def _from_base64(encoded: bytes) -> bytes:
    try:
        return base64.b64decode(encoded.translate(bytes.maketrans(b"-_", b"+/")) + b"==")
    except binascii.Error:
        return b""


def _with_encodings(placeholders: dict[bytes, str]) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    for placeholder, name in placeholders.items():
        found.update(dict.fromkeys(forms_of(placeholder.decode()), name))
    return found

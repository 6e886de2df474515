"""What the agent holds instead of a credential, and which values are fit to be one. Pure but for chance.

Always: programs that look at the shape of a credential take its placeholder for the real thing, and no two
placeholders are alike or hold one another.
"""

import base64
import binascii
import json
import re
import secrets
import string
from typing import Final, Protocol

from hark.errors import PolicyError
from hark.policy.model import Secret

MIN_LENGTH: Final = 8  # shorter values stand in ordinary traffic by chance, and every event would be a leak
MIN_DISTINCT: Final = 5  # `aaaaaaaa` and `12121212` as well
MAX_LENGTH: Final = 1 << 16  # a service account's JSON has 2 kB; nothing that is a credential is larger
RANDOM_CHARACTERS: Final = 24  # 142 bits: no placeholder is met by chance, none is a prefix of another
_MARK: Final = "hark"
_ALPHABET: Final = string.ascii_letters + string.digits
_PREFIX: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,11}[-_]){1,4}|AIza|AKIA|ASIA|ya29\.|eyJ")
_JWT: Final = re.compile(r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.)([A-Za-z0-9_-]{32,})")
_ESCAPING: Final = re.compile(r"(?:%[0-9a-fA-F]?|&)\Z")
_SYSTEM: Final = secrets.SystemRandom()


class Randomness(Protocol):
    """What `placeholder_for` needs of a generator; `secrets.SystemRandom()` is one."""

    def choice(self, seq: str, /) -> str:
        """Return one character of `seq`."""
        ...


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
    if "\\" in value or _ESCAPING.search(value):
        raise PolicyError(
            f"secrets.{name} has a backslash in it or ends in `%` or `&`, where hark could not tell its end "
            "from an escape; use another credential"
        )


def check_placeholder(secret: Secret, others: dict[bytes, str]) -> None:
    """Refuse a placeholder that holds another or the value: which is replaced would be a matter of order."""
    mine = secret.placeholder.encode()
    if len(mine) < RANDOM_CHARACTERS or secret.value in secret.placeholder:
        raise PolicyError(f"the placeholder of secrets.{secret.name} is no placeholder")
    for other, name in others.items():
        if mine in other or other in mine:
            raise PolicyError(f"the placeholders of secrets.{secret.name} and secrets.{name} overlap")


def placeholder_for(value: str, rng: Randomness = _SYSTEM) -> str:
    """Return a stand-in that programs take for the real thing: its known prefix, its length, random else.

    It is at least as long as its prefix, `hark` and the random part, whatever the value's length. A JSON Web
    Token keeps its claims, which programs read, and gets another signature, without which it opens nothing.
    """
    token = _JWT.fullmatch(value)
    if token and _is_json(token.group(1).split(".")[0]):
        return token.group(1) + _random(len(token.group(2)), rng)
    matched = _PREFIX.match(value)
    prefix = matched.group() if matched and len(matched.group()) <= len(value) // 2 else ""
    return prefix + _random(len(value) - len(prefix), rng)


def _random(size: int, rng: Randomness) -> str:
    size = max(size - len(_MARK), RANDOM_CHARACTERS)
    return _MARK + "".join(rng.choice(_ALPHABET) for _ in range(size))


def _is_json(part: str) -> bool:
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(part + "==")), dict)
    except (binascii.Error, ValueError):
        return False

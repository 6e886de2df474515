"""What the agent holds instead of a credential, and which values are fit to be one. Pure but for chance.

Always: programs that look at the shape of a credential take its placeholder for the real thing, and no two
placeholders are alike or hold one another.
"""

import base64
import binascii
import json
import math
import random
import re
import string
from typing import Final, Protocol

from hark.errors import PolicyError
from hark.policy.model import Secret

MIN_LENGTH: Final = 8  # shorter values stand in ordinary traffic by chance, and every event would be a leak
MIN_DISTINCT: Final = 5  # `aaaaaaaa` and `12121212` as well
MIN_BITS: Final = 38  # `password`, `deadbeef` and eleven digits have less, by the kinds of characters alone
MIN_UNLETTERED: Final = 16  # digits and signs: dates, addresses and counters are shorter
MAX_LENGTH: Final = 1 << 16  # a service account's JSON has 2 kB; nothing that is a credential is larger
RANDOM_CHARACTERS: Final = 24  # 142 bits: no placeholder is met by chance, none is a prefix of another
_KINDS: Final = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_WORDS: Final = frozenset(
    (
        "admin", "administrator", "anonymous", "apikey", "application/json", "applicationjson", "basic",
        "bearer", "changeit", "changeme", "default", "demo", "dev", "development", "dummy", "example",
        "example.com", "foobar", "guest", "hunter", "keep-alive", "letmein", "localhost", "login",
        "master", "mysql", "none", "p@ssw0rd", "p@ssword", "passphrase", "passw0rd", "password",
        "placeholder", "postgres", "postgresql", "production", "qwerty", "qwertyuiop", "root", "s3cr3t",
        "sample", "secret", "sunshine", "superuser", "supersecret", "test", "testing", "text/html",
        "text/plain", "token", "undefined", "user", "username", "welcome", "your-api-key", "your_api_key",
        "yourapikey", "my", "api", "key", "access", "autumn", "baseball", "batman", "company", "computer",
        "database", "dragon", "football", "freedom", "iloveyou", "internet", "manager", "monkey", "office",
        "princess", "server", "shadow", "superman", "trustno", "whatever", "spring", "summer", "winter",
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    )
)  # fmt: skip
"""What people type where a credential belongs, or traffic is full of; digits and signs around it aside."""
_LETTERS: Final = re.compile("[a-z]+")
_REPEATED: Final = re.compile(r"([a-z]+?)\1*")
MAX_TYPED: Final = 64  # characters
_LEET: Final = str.maketrans("0134578@$!", "oieastbasi")
_RUNS: Final = (string.digits * 2, "9876543210" * 2, string.ascii_lowercase, "abcdef" + string.digits)
_MARK: Final = "hark"
_ALPHABET: Final = string.ascii_letters + string.digits
_PREFIX: Final = re.compile(
    r"sk-(?:ant-(?:api|sid|oat|ort|admin)\d\d-|or-v\d-|proj-|svcacct-|admin-|lf-)?|github_pat_|gh[oprsu]_|gl[a-z]{2,6}-"
    r"|xox[abcdeoprs]-(?:\d-)?|xapp-(?:\d-)?|npm_|pypi-|hf_|dop_v1_|doo_v1_|dor_v1_|lin_api_|dckr_(?:pat|oat)_|shp[a-z]{2}_"
    r"|[sprw]k_(?:live|test)_|whsec_|gsk_|xai-|r8_|tvly-|pplx-|nvapi-|key-|sq0[a-z]{3}-|EAAC|dapi|figd_|ntn_|secret_"
    r"|pat-(?:na|eu)\d-|rnd_|fly_|fo1_|sntry[su]_|glsa_|ATATT3|ATCTT3|AIza|AKIA|ASIA|ya29\.|1//|AQ\.|SG\.|eyJ|[0-9]{6,12}:"
)
"""What services begin their credentials with, so that nothing of the credential itself is kept."""
_OTHER: Final = re.compile(r"[a-z]{2,5}[0-9]{0,2}[-_](?=[A-Za-z0-9_.~+/=-]{20,}\Z)(?=.*[A-Z0-9])")
"""What may be another service's: one short word in lower case before what nobody types. A random text begins
so once in a hundred, and has told two to five letters then, of forty-three characters or so."""
_JWT: Final = re.compile(r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.)([A-Za-z0-9_-]{32,})")
_ESCAPING: Final = re.compile(r"(?:%[0-9a-fA-F]?|&)\Z")
_SYSTEM: Final = random.SystemRandom()


class Randomness(Protocol):
    """What `placeholder_for` needs of a generator; `random.SystemRandom()` is one."""

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


def check_guess(name: str, value: str) -> None:
    """Refuse a value that whoever sees the placeholder would guess, or that is a word like any other.

    For what an operator chose; what a server mints is taken as it is. Raises PolicyError without the value.
    """
    small = value.lower()
    bare = small.strip(string.digits + string.punctuation)
    if (
        any(map(_is_typed, (small, small.replace(bare, bare.translate(_LEET)))))
        or (not bare and len(value) < MIN_UNLETTERED)
        or any(small in run for run in _RUNS)
        or _bits(value) < MIN_BITS
    ):
        raise PolicyError(
            f"secrets.{name} is easily guessed, and stands in ordinary traffic; "
            "use a credential that a program made up, or a longer one"
        )


def _is_typed(small: str) -> bool:
    """Tell whether it is one of the words that people type, or some of them, with a few digits and signs."""
    bare = small.strip(string.digits + string.punctuation)
    words = _LETTERS.findall(bare)
    known = bare in _WORDS or (bool(words) and _WORDS.issuperset(map(_once, words)))
    return known and len(small) - sum(map(len, words)) < MIN_UNLETTERED


def _once(word: str) -> str:
    """Return what a word is that somebody typed several times."""
    found = _REPEATED.fullmatch(word) if len(word) < MAX_TYPED else None
    return found.group(1) if found else word


def _bits(value: str) -> float:
    """Return how much there is to guess where every character is as likely as another of its kind."""
    kinds = [kind for kind in _KINDS if not set(kind).isdisjoint(value)]
    others = len(string.punctuation) * (not set(value) <= set("".join(_KINDS)))
    return len(value) * math.log2(sum(map(len, kinds)) + others or 1)


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
    matched = _PREFIX.match(value) or _OTHER.match(value)
    prefix = matched.group() if matched and len(matched.group()) <= len(value) // 2 else ""
    return prefix + _random(len(value) - len(prefix), rng)


def _random(size: int, rng: Randomness) -> str:
    size = max(size - len(_MARK), RANDOM_CHARACTERS)
    return _MARK + "".join(rng.choice(_ALPHABET) for _ in range(size))


def _is_json(part: str) -> bool:
    try:
        return isinstance(json.loads(base64.urlsafe_b64decode(part + "==")), dict)
    except (binascii.Error, ValueError, RecursionError):
        return False

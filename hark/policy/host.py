"""One spelling for each host, whoever wrote it: policy, DNS question, SNI, Host header or :authority.

Two names are the same host exactly when their canonical spellings are equal as strings. What has no single
meaning (control characters, NUL, empty labels, bytes outside IDNA) is refused and never repaired, since a
client, a proxy and a server may each repair it another way.
"""

import ipaddress
from functools import lru_cache
from typing import Final

import idna

from hark.errors import HarkError

MAX_NAME: Final = 253  # RFC 1035 2.3.4: 255 octets on the wire, less the two that the text form does not have
MAX_TEXT: Final = 1024  # IDNA shortens nothing by more than this; refused before it is parsed or shown
MAX_PORT: Final = 65535
MAX_KEPT: Final = 256  # answers: an agent names a few hosts, and each of them in every request
_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


class HostError(HarkError):
    """This text names no host, or could be read as more than one."""

    exit_code = 125


@lru_cache(maxsize=MAX_KEPT)
def canonical_host(text: str | bytes) -> str:
    """Return the one spelling of a host: a lower-case A-label name, dotted IPv4, or IPv6 without brackets.

    Every spelling of an IPv4 address that inet_aton(3) and the WHATWG URL standard know (decimal, octal, hex,
    fewer than four parts, v4-mapped v6) becomes the dotted one. Raises HostError.
    """
    name = _text(text)
    if name.startswith("[") and name.endswith("]"):
        return _ipv6(name[1:-1])
    if ":" in name:
        return _ipv6(name)
    name = _a_labels(name).lower().removesuffix(".")
    if not name or len(name) > MAX_NAME or ".." in name or name.startswith("."):
        raise HostError(f"{text!r} is not a host name: it is empty, too long or has an empty label")
    if _is_number(name.rpartition(".")[2]):
        return _ipv4(name)
    if not set(name) <= _ALLOWED:
        raise HostError(f"{text!r} is not a host name: it has a character that host names cannot have")
    if any(len(label) > 63 for label in name.split(".")):
        raise HostError(f"{text!r} is not a host name: a label is longer than 63 characters")
    return name


def is_address(host: str) -> bool:
    """Tell whether a canonical host is a literal address."""
    return ":" in host or _is_number(host.rpartition(".")[2])


def is_loopback(host: str) -> bool:
    """Tell whether a canonical host stands for whoever asks: what an agent sends there never leaves it."""
    if is_address(host):
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def split_authority(text: str, default_port: int) -> tuple[str, int]:
    """Split `host`, `host:port`, `[v6]` or `[v6]:port` and return the canonical host and the port.

    Raises HostError. A user part (`user@host`) is refused: no server needs it in an authority.
    """
    if len(text) > MAX_TEXT:
        raise HostError(f"an authority of {len(text)} characters is longer than any can be")
    if "@" in text:
        raise HostError(f"{text!r} is not an authority: it carries a user part")
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text.partition("]")
        host += bracket
        if rest and not rest.startswith(":"):
            raise HostError(f"{text!r} is not an authority: something follows the bracket")
        port = rest[1:]
        if rest == ":":
            raise HostError(f"{text!r} is not an authority: its port is empty")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
        if not port:
            raise HostError(f"{text!r} is not an authority: its port is empty")
    return canonical_host(host), _port(port, text) if port else default_port


def format_authority(host: str, port: int) -> str:
    """Return `host:port` with the brackets that an IPv6 address needs."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _port(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and 0 < int(digits) <= MAX_PORT):
        raise HostError(f"{text!r} does not name a port between 1 and {MAX_PORT}")
    return int(digits)


def _text(text: str | bytes) -> str:
    if len(text) > MAX_TEXT:
        raise HostError(f"a host of {len(text)} characters is longer than any host can be")
    if isinstance(text, bytes):
        try:
            text = text.decode("ascii")
        except UnicodeDecodeError:
            raise HostError(f"{text!r} is not a host name: it has bytes outside ASCII") from None
    if any(ord(c) <= 0x20 or ord(c) == 0x7F for c in text):
        raise HostError(f"{text!r} is not a host name: it has a control character or a space")
    return text


def _a_labels(name: str) -> str:
    if name.isascii():
        return name
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise HostError(f"{name!r} is not a host name under IDNA: {error}") from None


def _is_number(label: str) -> bool:
    if label.isascii() and label.isdigit():
        return True
    return label.startswith("0x") and all(c in "0123456789abcdef" for c in label[2:])


def _ipv4(name: str) -> str:
    parts = name.split(".")
    if len(parts) > 4 or not all(_is_number(part) for part in parts):
        raise HostError(f"{name!r} ends like an IPv4 address and is none")
    numbers = [_number(part, name) for part in parts]
    *head, tail = numbers
    if any(n > 255 for n in head) or tail >= 256 ** (5 - len(numbers)):
        raise HostError(f"{name!r} is out of the range of IPv4 addresses")
    value = tail + sum(n << (8 * (3 - i)) for i, n in enumerate(head))
    return str(ipaddress.IPv4Address(value))


def _number(part: str, name: str) -> int:
    if len(part) > 16:  # 0x and 8 digits, or 12 octal ones, is all that 32 bits need
        raise HostError(f"{name!r} is out of the range of IPv4 addresses")
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    base = 8 if len(part) > 1 and part.startswith("0") else 10
    try:
        return int(part, base)
    except ValueError:
        raise HostError(f"{name!r} ends like an IPv4 address and is none") from None


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise HostError(f"{text!r} is neither a host name nor an IPv6 address") from None
    if address.scope_id:
        raise HostError(f"{text!r} carries a zone, which means nothing outside one machine")
    return str(address.ipv4_mapped or address)

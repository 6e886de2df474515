"""The caller's own proxy, for `-via-proxy`: which one an upstream is dialled through, if any. Pure.

HTTPS_PROXY is for TLS and raw TCP, HTTP_PROXY for plain HTTP, ALL_PROXY where its own is not set; the
lower-case spelling wins, as in curl. NO_PROXY: `*`, names that also stand for what is below them, addresses,
networks, each but the last with an optional port.

Always: a proxy's user and password are in no message and in no `repr`.
"""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from hark.errors import PolicyError
from hark.policy.host import HostError, canonical_host, format_authority, is_address, split_authority
from mediator.authority import Destination

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy that takes CONNECT."""

    host: str
    port: int
    tls: bool
    authorization: bytes = field(default=b"", repr=False)
    """The value of Proxy-Authorization, or nothing."""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{format_authority(self.host, self.port)}"


@dataclass(frozen=True, slots=True)
class Proxies:
    """What the caller's environment says."""

    https: Proxy | None
    http: Proxy | None
    exceptions: tuple[str, ...] = ()

    def of(self, target: Destination, *, plain: bool) -> Proxy | None:
        """Return the proxy for a target, or None: it is dialled directly. `plain`: HTTP without TLS."""
        if any(_excepts(entry, target) for entry in self.exceptions):
            return None
        return self.http if plain else self.https

    @property
    def all(self) -> tuple[Proxy, ...]:
        """Return each proxy once."""
        return tuple(dict.fromkeys(proxy for proxy in (self.https, self.http) if proxy is not None))


def read_proxies(environ: Mapping[str, str]) -> Proxies:
    """Read the caller's variables. Raises PolicyError where none is set or one cannot be used."""
    proxies = Proxies(
        https=_first(environ, "HTTPS_PROXY", "ALL_PROXY"),
        http=_first(environ, "HTTP_PROXY", "ALL_PROXY"),
        exceptions=tuple(_value(environ, "NO_PROXY").replace(",", " ").split()),
    )
    if not proxies.all:
        raise PolicyError("-via-proxy: neither HTTPS_PROXY, HTTP_PROXY nor ALL_PROXY is set; set one")
    return proxies


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.lower()) or environ.get(name) or ""


def _first(environ: Mapping[str, str], *names: str) -> Proxy | None:
    for name in names:
        text = _value(environ, name).strip()
        if text:
            return _proxy(name, text if "://" in text else f"http://{text}")
    return None


def _proxy(name: str, text: str) -> Proxy:
    """Read one URL. The messages name the variable: its value may have a password in it."""
    try:
        url = urlsplit(text)
        if url.scheme not in _DEFAULT_PORTS:
            raise PolicyError(
                f"-via-proxy: {name} names a proxy that speaks {url.scheme}; hark uses http:// and https://"
            )
        host = canonical_host(url.hostname or "")
        port = url.port or _DEFAULT_PORTS[url.scheme]
    except (HostError, ValueError):
        raise PolicyError(
            f"-via-proxy: {name} is not the address of a proxy; write http://HOST:PORT"
        ) from None
    return Proxy(host, port, url.scheme == "https", *_credential(url))


def _credential(url: SplitResult) -> tuple[bytes, str]:
    if url.username is None:
        return b"", ""
    user, password = unquote_to_bytes(url.username), unquote_to_bytes(url.password or "")
    return b"Basic " + base64.b64encode(user + b":" + password), password.decode("utf-8", "replace")


def _excepts(entry: str, target: Destination) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(entry, target.host)
    try:
        if entry.count(":") > 1 and not entry.startswith("["):
            host, port = canonical_host(entry), 0
        else:
            host, port = split_authority(entry.removeprefix("*").removeprefix("."), 0)
    except HostError:
        return False
    if port and port != target.port:
        return False
    return target.host == host or (not is_address(host) and target.host.endswith(f".{host}"))


def _in_network(entry: str, host: str) -> bool:
    try:
        return is_address(host) and ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False

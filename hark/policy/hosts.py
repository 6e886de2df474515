"""Hosts and addresses as a policy may write them, each mistake with what was likely meant."""

import ipaddress
from typing import Final

from hark.policy.host import HostError, canonical_host, is_address, split_authority
from hark.policy.model import HTTPS_PORT, WILDCARD, Address, HostRule
from hark.policy.reading import Node

_PRIVATE_TOPS: Final = frozenset(
    ("corp", "example", "home", "host", "internal", "invalid", "lan", "local", "localhost", "test")
)
"""Ends of names that no registry sells (RFC 2606, RFC 6761, ICANN's internal), or under which services of the
machine are named: a wildcard right below any other would allow whoever buys a name."""


def host_rule(node: Node) -> HostRule:
    """Read an entry of `allow_hosts` or of a secret's `hosts`: a host or wildcard, perhaps with a port."""
    text = node.string()
    _no_url(node, text)
    try:
        if text.startswith(WILDCARD):
            below, port = split_authority(_below(node, text), HTTPS_PORT)
            return HostRule(WILDCARD + _wide_enough(node, below), port)
        _no_star(node, text)
        return HostRule.parse(text)
    except HostError as error:
        node.fail(str(error))


def host_pattern(node: Node) -> str:
    """Read the `host` of a table that says its port elsewhere."""
    text = node.string()
    _no_url(node, text, apart=True)
    try:
        if text.startswith(WILDCARD):
            below = _below(node, text)
            _no_port(node, below)
            return WILDCARD + _wide_enough(node, canonical_host(below))
        _no_star(node, text)
        _no_port(node, text)
        return canonical_host(text)
    except HostError as error:
        node.fail(str(error))


def exact_host(node: Node) -> str:
    """Read a host where a wildcard has no meaning."""
    host = host_pattern(node)
    if host.startswith(WILDCARD):
        node.fail(f'"{host}" is a wildcard, and {node.name} takes exact hosts: write each one out')
    return host


def port_number(node: Node) -> int:
    """Read a port."""
    number = node.number()
    if not 0 < number <= 65535:
        node.fail(f"{node.name} is {number}; ports are 1 to 65535")
    return number


def address(node: Node) -> Address:
    """Read `127.0.0.1:5432` or `[::1]:5432`: an IP address and a port, on the operator's side."""
    text = node.string()
    _no_url(node, text)
    if text.isdigit():
        node.fail(f'"{text}" is a port without an address; write "127.0.0.1:{text}"')
    try:
        host, port = split_authority(text, 0)
    except HostError as error:
        node.fail(str(error))
    if not is_address(host):
        node.fail(f'"{text}" is a name where an IP address belongs; write "127.0.0.1:{port or 5432}"')
    if not port:
        node.fail(f'"{text}" has no port; write "{Address(host, 5432)}" with the port you mean')
    if ipaddress.ip_address(host).is_multicast:
        node.fail(f'"{text}" is a multicast address, where no one service is; write that of one')
    return Address(host, port)


def pattern_covers(pattern: str, other: str) -> bool:
    """Tell whether one host or wildcard stands for every host that another does."""
    if pattern == other:
        return True
    label, dot, below = other.partition(".")
    return bool(pattern.startswith(WILDCARD) and dot and label != "*") and below == pattern[len(WILDCARD) :]


def _no_url(node: Node, text: str, *, apart: bool = False) -> None:
    if _is_range(text):
        node.fail(f'"{text}" is a range of addresses, and a rule names one host; write each address out')
    if "://" in text or "/" in text:
        meant = _in_url(text, apart=apart)
        node.fail(f'"{text}" is a URL or a path where a host belongs; write {meant}')


def _in_url(text: str, *, apart: bool) -> str:
    """Return what a URL's author means by it in a policy, its port with it or, in a table, `apart`."""
    scheme, _, rest = text.partition("://") if "://" in text else ("", "", text)
    bare = rest.partition("/")[0]
    host, _, port = bare.rpartition(":")
    if not port.isdigit():
        host, port = bare, "80" if scheme.lower() in {"http", "ws"} else ""
    if not port:
        return f'"{host}"'
    return f'host = "{host}" and port = {port}' if apart else f'"{host}:{port}"'


def _is_range(text: str) -> bool:
    try:
        return "/" in text and bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False


def _no_star(node: Node, text: str) -> None:
    if text.startswith(".") and "." in text[1:]:
        node.fail(f'"{text}" begins with a dot; write "*{text}" for one label in front, or "{text[1:]}"')
    if "@" in text:
        node.fail(f'"{text}" has a user part, and a rule names a host; write "{text.rpartition("@")[2]}"')
    if text == "*":
        node.fail('"*" would allow every host; name each one, or run with --unsafe-allow-all if you mean it')
    if "*" in text:
        domain = text.rpartition("*")[2].lstrip(".")
        hint = f'write "{WILDCARD}{domain}" or each host' if "." in domain else "write each host out"
        node.fail(f'"{text}" has a wildcard that is not one whole label in front; {hint}')


def _below(node: Node, text: str) -> str:
    below = text[len(WILDCARD) :]
    if "*" in below:
        rest = below.replace(WILDCARD, "")
        hint = f'write "{WILDCARD}{rest}" or each host' if "." in rest else "write each host"
        node.fail(f'"{text}" has two wildcards, and one stands for exactly one label; {hint}')
    return below


def _wide_enough(node: Node, below: str) -> str:
    if is_address(below):
        node.fail(
            f'"{WILDCARD}{below}" is a wildcard over an address, which has no names below it; write it alone'
        )
    if "." not in below and below not in _PRIVATE_TOPS:
        node.fail(f'"{WILDCARD}{below}" would allow whoever owns a name under .{below}; write a longer one')
    return below


def _no_port(node: Node, text: str) -> None:
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.endswith("]")):
        node.fail(f'"{text}" has a port in it; write {node.path[-1]} = "{host}" and port = {port}')

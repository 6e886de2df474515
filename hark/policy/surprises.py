"""What in a policy may mean more, or less, than its author thinks: warnings, and no errors."""

import ipaddress
import posixpath
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from hark.places import contains
from hark.policy.facts import Fact
from hark.policy.host import is_loopback
from hark.policy.lines import Lines
from hark.policy.model import SERVER_FIRST_PORTS, WILDCARD, Policy, Rule, Speaks

SHARED: Final = (
    "amazonaws.com", "appspot.com", "azureedge.net", "azurewebsites.net", "blob.core.windows.net",
    "cloudfront.net", "firebaseapp.com", "fly.dev", "github.io", "gitlab.io", "googleusercontent.com",
    "herokuapp.com", "netlify.app", "ngrok-free.app", "ngrok.io", "onrender.com", "pages.dev", "r2.dev",
    "run.app", "storage.googleapis.com", "supabase.co", "trycloudflare.com", "vercel.app", "web.app",
    "windows.net", "workers.dev",
)  # fmt: skip
"""Domains under which anybody gets a name: a wildcard there allows a stranger's server. Not all there are."""
_NATIONAL: Final = re.compile(r"(?:ac|co|com|edu|go|gov|gob|net|ne|nom|or|org|web)\.[a-z]{2}")
"""Domains of a country's registry one label down, which sells names there: `co.uk`, `com.au`."""
METHODS: Final = frozenset(
    (
        "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "GET", "HEAD", "LABEL",
        "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE",
        "OPTIONS", "ORDERPATCH", "PATCH", "POST", "PRI", "PROPFIND", "PROPPATCH", "PUT", "QUERY", "REBIND",
        "REPORT", "SEARCH", "TRACE", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE",
        "UPDATEREDIRECTREF", "VERSION-CONTROL",
    )
)  # fmt: skip
"""IANA's registry of HTTP methods, without CONNECT, which no rule may name. Servers may know others."""
_CREDENTIAL: Final = re.compile(r"(?i)(token|secret|passw|api_?key|credential|private)")
_WEB_PORTS: Final = frozenset((80, 443))


def surprises(policy: Policy, now: datetime) -> Iterator[Fact]:
    """Yield the warnings for a policy."""
    lines = Lines(policy)
    for rule in policy.rules:
        for words in _of_rule(rule, now):
            yield Fact(lines.of_rule(rule), words)
    yield from _secrets(policy, lines)
    yield from _paths(policy, lines)
    yield from _variables(policy, lines)
    for number, port in enumerate(policy.publish):
        if not ipaddress.ip_address(port.at.host).is_loopback:
            words = f"whoever reaches {port.at} over the network can talk to the agent"
            yield Fact(lines.of("publish", number), words)


def is_shared(pattern: str) -> bool:
    """Tell whether a wildcard stands at or under a domain in which anybody gets a name."""
    below = pattern.removeprefix(WILDCARD)
    return bool(_NATIONAL.fullmatch(below)) or any(
        below == domain or below.endswith(f".{domain}") for domain in SHARED
    )


def _of_rule(rule: Rule, now: datetime) -> Iterator[str]:
    if rule.host.startswith(WILDCARD) and is_shared(rule.host):
        yield f"{rule.host} allows strangers' servers, since anybody gets a name there; name exact hosts"
    if is_loopback(rule.host):
        tcp = ', protocol = "tcp"' if rule.speaks is Speaks.TCP else ""
        yield (
            f"{rule.host} is the agent's own loopback, and what it sends there reaches nobody else; for a "
            f'service of this machine write [[allow]] with host = "NAME.host", port = {rule.ports[0]}{tcp}, '
            f'upstream = "127.0.0.1:{rule.ports[0]}"'
        )
    unknown = [method for method in rule.methods if method not in METHODS]
    for method in unknown:
        from difflib import get_close_matches

        near = get_close_matches(method, METHODS, 1)
        yield f"{method} is no method that HTTP knows" + (f"; did you mean {near[0]}?" if near else "")
    if rule.until is not None and now >= rule.until:
        yield f"{rule.name} ended at {rule.until.isoformat()} and allows nothing any more"
    if rule.speaks is Speaks.TCP and _WEB_PORTS & set(rule.ports):
        port = min(_WEB_PORTS & set(rule.ports))
        yield f"raw TCP to port {port}: no request in it is judged, and no credential put in"
    silent = sorted(SERVER_FIRST_PORTS & set(rule.ports))
    if rule.speaks is Speaks.WEB and silent:
        yield (
            f"on port {silent[0]} a client waits for the server's first word, and is refused where only the "
            f'web is allowed; raw TCP is [[allow]] with host = "{rule.host}", port = {silent[0]}, '
            'protocol = "tcp"'
        )
    if any(pattern in ("/**", "**") for pattern in rule.paths):
        yield f"{rule.name} has the path pattern /**, which every path matches"
    if rule.upstream is None and rule.host.endswith(".host"):
        yield (
            f"{rule.host} has no upstream, and no name server knows it: say what it stands for with "
            f'upstream = "127.0.0.1:{rule.ports[0]}", or with -upstream {rule.host}=127.0.0.1 at the start'
        )


def _secrets(policy: Policy, lines: Lines) -> Iterator[Fact]:
    for spec in policy.secrets:
        for bound in spec.hosts:
            if bound.host.startswith(WILDCARD):
                shared = ", where anybody gets a name" if is_shared(bound.host) else ""
                words = f"secrets.{spec.name} goes to whatever host stands under {bound}{shared}"
                yield Fact(lines.of("secrets", spec.name, "hosts"), words)
        if spec.mount is not None and spec.mount.at is None:
            words = (
                f"all of {spec.mount.path} but this value is shown to the agent, other credentials in it too"
            )
            yield Fact(lines.of("secrets", spec.name, "mount"), words)


def _variables(policy: Policy, lines: Lines) -> Iterator[Fact]:
    for number, name in enumerate(policy.env_pass):
        if _CREDENTIAL.search(name):
            words = (
                f"{name} looks like a credential; the agent gets it, and it is recorded; see [secrets.{name}]"
            )
            yield Fact(lines.of("env", "pass", number), words)
    for name in policy.env_set:
        if _CREDENTIAL.search(name):
            words = (
                f"{name} looks like a credential; the agent gets it, and it is recorded; see [secrets.{name}]"
            )
            yield Fact(lines.of("env", "set", name), words)
    for server in policy.mcp:
        for name in server.env:
            if _CREDENTIAL.search(name):
                words = (
                    f"{name} looks like a credential, and it is recorded; see secrets of [mcp.{server.name}]"
                )
                yield Fact(lines.of("mcp", server.name, "env", name), words)


def _paths(policy: Policy, lines: Lines) -> Iterator[Fact]:
    for number, read in enumerate(policy.read_paths):
        for write in policy.write_paths:
            if _inside(read, write):
                words = f"{read} lies in {write} of write_paths, so the agent may write it too"
                yield Fact(lines.of("read_paths", number), words)
    for number, write in enumerate(policy.write_paths):
        for spec in policy.secrets:
            if spec.file is not None and _inside(spec.file, write):
                words = f"{spec.file} of secrets.{spec.name} lies in {write}; it is masked there"
                yield Fact(lines.of("write_paths", number), words)


def _inside(path: str, root: str) -> bool:
    return contains(posixpath.normpath(root), posixpath.normpath(path))

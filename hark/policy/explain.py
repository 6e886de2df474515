"""What a policy makes of one URL: the verdict, by which rule, what is recorded, which secrets go there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never
from urllib.parse import urlsplit

from hark.errors import PolicyError
from hark.policy import wanted
from hark.policy.decide import (
    Allow,
    Deny,
    Verdict,
    appointed,
    decide_dial,
    decide_name,
    decide_request,
    upgrades,
)
from hark.policy.facts import surfaces, tools_in_words
from hark.policy.host import HostError, format_authority, is_address, is_loopback, split_authority
from hark.policy.lines import Lines
from hark.policy.model import Address, Body, Policy, Rule, Speaks, covers

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PORTS: Final = {"https": 443, "wss": 443, "http": 80, "ws": 80, "tcp": 0}


@dataclass(frozen=True, slots=True)
class Target:
    """A request, or with `method` None a connection of raw TCP."""

    host: str
    port: int
    method: str | None
    path: str

    def __str__(self) -> str:
        place = format_authority(self.host, self.port)
        return f"raw TCP to {place}" if self.method is None else f"{self.method} of {self.path} at {place}"


def target(url: str, method: str) -> Target:
    """Read a URL, a host or `host:port`. Raises PolicyError."""
    if not _TOKEN.fullmatch(method):
        raise PolicyError(f"{method!r} is not a method, which is one word: GET")
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        if parts.scheme not in _PORTS:
            raise PolicyError(f"{url} is not a URL that a policy is about; write https://, http:// or tcp://")
        host, port = split_authority(parts.netloc, _PORTS[parts.scheme])
    except (HostError, ValueError) as error:
        raise PolicyError(f"{url} is not a URL: {error}") from None
    if not port:
        raise PolicyError(f"{url} has no port, and raw TCP has no usual one; write {url}:5432")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host, port, None if parts.scheme == "tcp" else method, path)


def decide(policy: Policy, asked: Target, now: datetime) -> Verdict:
    """Judge it as the run would: the connection first, then the request."""
    if is_loopback(asked.host):
        return _inside(asked)
    dialled = decide_dial(policy, asked.host, asked.port, now)
    if asked.method is not None:
        return decide_request(policy, asked.host, asked.port, asked.method, asked.path, now=now)
    if isinstance(dialled, Allow) and dialled.by is not None and dialled.by.speaks is Speaks.WEB:
        return Deny(
            f'{dialled.rule} allows the web alone; raw TCP needs protocol = "tcp"', "", nearest=dialled.by
        )
    if isinstance(dialled, Deny) and dialled.hint:
        return replace(dialled, hint="", table=wanted.table(asked.host, asked.port, speaks=Speaks.TCP))
    return dialled


def _inside(asked: Target) -> Deny:
    """Deny what never reaches hark, with the table of a service of this machine."""
    speaks = Speaks.WEB if asked.method is not None else Speaks.TCP
    here = Address("127.0.0.1", asked.port)
    return Deny(
        f"{asked.host} is the agent's own loopback, so this never leaves the agent, whatever the policy says",
        "",
        wanted.table("name.host", asked.port, speaks=speaks, upstream=here),
    )


def explained(policy: Policy, asked: Target, verdict: Verdict, now: datetime) -> Iterator[str]:
    """Yield the lines of an explanation of a verdict that was reached now."""
    match verdict:
        case Allow(name, rule):
            yield f"allowed: {asked}"
            yield f"by: {name}{_where(policy, rule)}"
            yield from _allowed(policy, asked, rule, now)
        case Deny(reason, hint, table, rule):
            yield f"{'never reached' if is_loopback(asked.host) else 'denied'}: {asked}"
            yield f"why: {reason}{_where(policy, rule)}"
            yield f"recorded: {_recorded(policy, asked, now)}"
            if hint:
                yield f'to allow it: add "{hint}" to allow_hosts'
            if table:
                lead = "for a service of this machine" if is_loopback(asked.host) else "to allow it"
                table = wanted.dialled(table, appointed(policy, asked.host, asked.port))
                yield from (f"{lead}:", *(f"    {line}" for line in table.split("\n")))
        case _:
            assert_never(verdict)


def _recorded(policy: Policy, asked: Target, now: datetime) -> str:
    """Say what of a denial is on the record: a name that is denied has no address to connect to."""
    if is_loopback(asked.host):
        return "nothing"
    if not is_address(asked.host) and isinstance(decide_name(policy, asked.host, now), Deny):
        return "the question for its name and this verdict; it gets no address, so no connection follows"
    if asked.method is None:
        return "the attempt and this verdict"
    return "the attempt and this verdict, and the request with the page that answers it"


def _allowed(policy: Policy, asked: Target, rule: Rule | None, now: datetime) -> Iterator[str]:
    if rule is not None and rule.upstream is not None:
        yield f"dialled: {rule.upstream}"
    if asked.method is None:
        yield "recorded: every byte, both ways"
        return
    hashed = rule is not None and rule.body is Body.HASH
    yield f"recorded: request and answer, bodies {'as length and hash alone' if hashed else 'whole'}"
    if rule is not None and rule.tools is not None:
        yield f"tools: {tools_in_words(rule.tools)} may be called"
    named = upgrades(policy, asked.host, asked.port, asked.method, asked.path, now=now)
    if named:
        yield f"upgrade: it may become a stream of {', '.join(named)}, recorded both ways and not judged"
    bound = [
        spec for spec in policy.secrets if any(one.matches(asked.host, asked.port) for one in spec.hosts)
    ]
    for spec in bound:
        if spec.sigv4 is not None:
            yield f"secret: {spec.name} signs for {spec.sigv4}"
        else:
            yield f"secret: {spec.name} is put into {surfaces(spec.surfaces)} in its placeholder's place"
    if not bound:
        yield "secrets: none is put into it"
    for endpoint in policy.tokens:
        if covers(endpoint.host, asked.host):
            yield f"tokens: in answers at {endpoint.path}, {', '.join(endpoint.fields)} are credentials"


def _where(policy: Policy, rule: Rule | None) -> str:
    line = None if rule is None else Lines(policy).of_rule(rule)
    return "" if line is None else f" ({policy.source}:{line})"

"""The verdict on a name, a connection, a request: a closed type whose default is to deny. Pure functions.

Hosts are canonical, and `now` is the time in the machine's own zone, with it: `until` is a moment, `hours`
are of the local day. Any rule that allows, allows; among those that do, the one that names the host itself
comes before a wildcard, and then the file's order. A denial names the rule that came nearest.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from hark.policy import wanted
from hark.policy.host import is_address
from hark.policy.model import HTTPS_PORT, WILDCARD, Address, HostRule, Hours, Policy, Rule, Speaks
from hark.policy.paths import Ambiguous, Spelled, matches, spell
from hark.policy.wanted import shown

UNSAFE_ALLOW_ALL: Final = "--unsafe-allow-all"
"""What a verdict calls the option of that name, where no rule of the policy allows."""
HTTP_PORT: Final = 80
_UNREAD: Final = Ambiguous("was not read")
"""Stands for a path where no rule goes by paths: one that did would match nothing."""


@dataclass(frozen=True, slots=True)
class Allow:
    """The operator allowed it, by this rule."""

    rule: str
    by: Rule | None = field(default=None, compare=False)
    """The rule itself, where there is one: what else it says (upstream, how bodies are recorded)."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Nothing allows it."""

    reason: str
    hint: str
    """The `allow_hosts` entry that would allow it; empty where none would."""
    table: str = ""
    """The `[[allow]]` table that would allow it, where `allow_hosts` would allow more than it needs."""
    nearest: Rule | None = field(default=None, compare=False)
    """The rule that came nearest, where one is for this host."""


type Verdict = Allow | Deny


def decide_dial(policy: Policy, host: str, port: int, now: datetime) -> Verdict:
    """Judge one connection by the host and port that the agent dialled."""
    meant = _covering(policy, host, port)
    for rule in meant:
        if not _out_of_time(rule, now):
            return Allow(rule.name, rule)
    if policy.allow_all:
        return Allow(UNSAFE_ALLOW_ALL, meant[0] if meant else None)
    if meant:
        return Deny(f"{meant[0].name} {_out_of_time(meant[0], now)}", "", nearest=meant[0])
    return _not_named(policy, host, port)


def holding(policy: Policy, host: str, port: int, now: datetime) -> tuple[Rule, ...]:
    """Return the rules that cover a connection now, without their names: those count tables, not meanings.

    Nor does what a fork may ask again say anything of a connection.
    """
    return tuple(
        replace(rule, name="", may_reexecute=False, again_tools=())
        for rule in _covering(policy, host, port)
        if not _out_of_time(rule, now)
    )


def marked(policy: Policy, host: str, port: int | None, method: str | None, path: str = "/") -> bool:
    """Tell whether a rule marks a request as one that a fork may make again; `method` None is raw TCP.

    A host without its port is one on either port of the web. Whether it is allowed at all is judged apart.
    """
    return any(not rule.again_tools for rule in _marking(policy, host, port, method, path))


def marked_tools(policy: Policy, host: str, port: int | None, method: str, path: str) -> tuple[str, ...]:
    """Return the tools of MCP that rules mark, of those that a request could call by such a mark alone."""
    marking = _marking(policy, host, port, method, path)
    return tuple(dict.fromkeys(tool for rule in marking for tool in rule.again_tools))


def _marking(policy: Policy, host: str, port: int | None, method: str | None, path: str) -> list[Rule]:
    ports = (HTTPS_PORT, HTTP_PORT) if port is None else (port,)
    spelled = spell(path)
    return [
        rule
        for rule in policy.about(host)
        if rule.may_reexecute
        and any(known in rule.ports for known in ports)
        and (rule.speaks is Speaks.TCP if method is None else not _but_for_time(rule, method, spelled))
    ]


def decide_name(policy: Policy, host: str, now: datetime) -> Verdict:
    """Judge a DNS question, in which no port is known yet: the name is allowed if any port of it is."""
    meant = policy.about(host)
    for rule in meant:
        if not _out_of_time(rule, now):
            return Allow(rule.name, rule)
    if policy.allow_all:
        return Allow(UNSAFE_ALLOW_ALL)
    if meant:
        return Deny(f"{meant[0].name} {_out_of_time(meant[0], now)}", "", nearest=meant[0])
    return Deny(_unknown(policy, host), str(HostRule(host)))


def decide_request(policy: Policy, host: str, port: int, method: str, path: str, *, now: datetime) -> Verdict:
    """Judge one request to a host on a port by its method and its target in origin form, query included."""
    meant = _covering(policy, host, port)
    spelled = spell(path) if any(rule.paths for rule in meant) else _UNREAD
    reasons = [_against(rule, method, spelled, now) for rule in meant]
    for rule, against in zip(meant, reasons, strict=True):
        if not against:
            return Allow(rule.name, rule)
    if policy.allow_all:
        return Allow(UNSAFE_ALLOW_ALL, meant[0] if meant else None)
    if not meant:
        return _not_named(policy, host, port)
    nearest, against = min(zip(meant, reasons, strict=True), key=lambda one: len(one[1]))
    mendable = nearest.speaks is Speaks.WEB and not _out_of_time(nearest, now)
    table = wanted.table(host, port, method, spell(path)) if mendable else ""
    return Deny(f"{nearest.name} {' and '.join(against)}", "", table, nearest)


def upgrades(
    policy: Policy, host: str, port: int, method: str, path: str, *, now: datetime
) -> tuple[str, ...]:
    """Return the protocols to which a request may switch, by all the rules that allow it."""
    meant = [rule for rule in _covering(policy, host, port) if rule.upgrades]
    spelled = spell(path) if any(rule.paths for rule in meant) else _UNREAD
    allowing = (rule for rule in meant if not _against(rule, method, spelled, now))
    return tuple(dict.fromkeys(name for rule in allowing for name in rule.upgrades))


def appointed(policy: Policy, host: str, port: int) -> Address | None:
    """Return where a rule says that this host is dialled, whether or not the rule holds now.

    A rule that ends between verdict and dial must not turn the connection to another place.
    """
    return next((rule.upstream for rule in _covering(policy, host, port)), None)


def _covering(policy: Policy, host: str, port: int) -> list[Rule]:
    return [rule for rule in policy.about(host) if port in rule.ports]


def _against(rule: Rule, method: str, path: Spelled | Ambiguous, now: datetime) -> list[str]:
    """Return what this rule has against a request, each as the end of a sentence about the rule."""
    return list(filter(None, (_out_of_time(rule, now), *_but_for_time(rule, method, path))))


def _but_for_time(rule: Rule, method: str, path: Spelled | Ambiguous) -> list[str]:
    against = []
    if rule.speaks is Speaks.TCP:
        against.append("allows raw TCP and no requests")
    if rule.methods and method not in rule.methods:
        against.append(f"allows {_listed(rule.methods)}, not {shown(method)}")
    if rule.paths:
        against.append(_against_path(rule, path))
    return [reason for reason in against if reason]


def _against_path(rule: Rule, path: Spelled | Ambiguous) -> str:
    match path:
        case Ambiguous(why):
            return f"goes by paths, and the request's {why}"
        case Spelled(text):
            if any(matches(pattern, path) for pattern in rule.paths):
                return ""
            return f"allows {_listed(rule.paths)}, not {shown(text)}"


def _out_of_time(rule: Rule, now: datetime) -> str:
    """Say that a rule does not hold now; empty where it does."""
    if rule.until is not None and now >= rule.until:
        return f"ended at {rule.until.isoformat()}"
    if rule.hours is not None and not _within(rule.hours, now):
        return f"holds from {rule.hours.start:%H:%M} to {rule.hours.end:%H:%M}, and it is {now:%H:%M}"
    return ""


def _within(hours: Hours, now: datetime) -> bool:
    clock = now.time()
    if hours.start < hours.end:
        return hours.start <= clock < hours.end
    return clock >= hours.start or clock < hours.end


def _not_named(policy: Policy, host: str, port: int) -> Deny:
    entry = str(HostRule(host, port))
    others = {known for rule in policy.about(host) for known in rule.ports}
    if others:
        return Deny(f"{host} is allowed on port {_listed(map(str, sorted(others)))}, not on {port}", entry)
    return Deny(_unknown(policy, host), entry)


def _unknown(policy: Policy, host: str) -> str:
    """Say that no rule names a host, and which wildcard it would be mistaken for."""
    what = "address" if is_address(host) else "host"
    below = host
    while below:
        if f"{WILDCARD}{below}" in policy.by_host:
            pattern = f"{WILDCARD}{below}"
            return f"{what} {host} is not allowed: {pattern} stands for exactly one label before {below}"
        below = below.partition(".")[2]
    return f"{what} {host} is not in allow_hosts"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)

"""The verdict on one host: a closed type whose default is to deny. Pure functions over canonical hosts."""

from dataclasses import dataclass, field

from hark.policy.host import is_address
from hark.policy.model import HostRule, Policy, Rule, covers


@dataclass(frozen=True, slots=True)
class Allow:
    """The operator allowed it, by this rule."""

    rule: str
    by: Rule | None = field(default=None, compare=False)
    """The rule itself, where there is one: what else it says (methods, upstream, how bodies are recorded)."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Nothing allows it. `hint` is the `allow_hosts` entry that would, for whoever reads the denial."""

    reason: str
    hint: str


type Verdict = Allow | Deny


def decide_host(policy: Policy, host: str, port: int) -> Verdict:
    """Judge one connection or request: a canonical host and the port that the agent dialled."""
    for rule in policy.rules:
        if covers(rule.host, host) and port in rule.ports:
            return Allow(rule.name, rule)
    wanted = HostRule(host, port)
    others = [known for rule in policy.rules if covers(rule.host, host) for known in rule.ports]
    if others:
        ports = ", ".join(map(str, sorted(others)))
        return Deny(f"{host} is allowed on port {ports}, not on {port}", str(wanted))
    what = "address" if is_address(host) else "host"
    return Deny(f"{what} {host} is not in allow_hosts", str(wanted))


def decide_name(policy: Policy, host: str) -> Verdict:
    """Judge a DNS question, in which no port is known yet: the name is allowed if any port of it is."""
    for rule in policy.rules:
        if covers(rule.host, host):
            return Allow(rule.name, rule)
    return Deny(f"host {host} is not in allow_hosts", str(HostRule(host)))

"""What two rules say together: a contradiction, or a rule that changes nothing, is an error and not a guess.

A rule that narrows what another allows whole narrows nothing, since any rule that allows, allows; so
whoever wrote it believes in a protection that is not there.
"""

from collections.abc import Sequence

from hark.policy.model import WILDCARD, Rule
from hark.policy.reading import Node

_CONDITIONS = ("methods", "paths", "hours", "until", "tools")


def check_rules(rules: Sequence[tuple[Rule, Node]]) -> None:
    """Compare rules whose hosts and ports meet. Raises PolicyError at the later one."""
    by_host: dict[str, list[tuple[Rule, Node]]] = {}
    for rule, node in rules:
        by_host.setdefault(rule.host, []).append((rule, node))
    for rule, node in rules:
        above = WILDCARD + rule.host.partition(".")[2]
        wider = by_host.get(above, []) if above != rule.host else []
        for other, other_node in (*by_host[rule.host], *wider):
            shared = sorted(set(rule.ports) & set(other.ports))
            if other is not rule and shared:
                _compare(rule, node, other, other_node, shared[0])


def _compare(rule: Rule, node: Node, wide: Rule, wide_node: Node, port: int) -> None:
    """Compare a rule with another one of its host, or one that covers it."""
    place = wide_node.place()
    there = f"{wide.host} in line {place.line}" if place else wide.host
    if rule.speaks is not wide.speaks:
        node.fail(f"{rule.host}:{port} is both web and tcp (see {there}); keep one, or use two ports")
    if rule.upstream != wide.upstream:
        known = rule.upstream or wide.upstream
        node.fail(
            f"{rule.host}:{port} has two upstreams (see {there}), and one host and port is one place; "
            f'say upstream = "{known}" in both'
        )
    if not _allows_all_of(wide, rule):
        if rule.host == wide.host and rule.tools != wide.tools and _may_meet(rule, wide):
            node.fail(
                f"tools of {rule.host}:{port} stand in two rules that may allow one request (see {there}); "
                "say them in one"
            )
        return
    if set(rule.upgrades) - set(wide.upgrades):
        return  # it lets a part of what the other allows switch protocols
    if set(wide.upgrades) - set(rule.upgrades) and _allows_all_of(rule, wide):
        return  # as seen from the other one
    if rule.may_reexecute and not wide.may_reexecute:
        if rule.host == wide.host and rule.body is not wide.body:
            node.fail(f"body of this rule changes nothing, since {there} comes before it; say it there")
        return  # it marks a part of what the other allows, or all of it
    if wide.may_reexecute and not rule.may_reexecute and _allows_all_of(rule, wide):
        return  # as seen from the other one
    narrowed = [key for key in _CONDITIONS if getattr(rule, key) not in ((), None)]
    if narrowed and not _allows_all_of(rule, wide):
        node.fail(
            f"{' and '.join(narrowed)} of this rule change nothing, since {there} allows all of "
            f"{rule.host}:{port}; remove one of the two"
        )
    if rule.host == wide.host or rule.body is wide.body:
        node.fail(f"{rule.host}:{port} is allowed twice (see {there}); remove one")


def _allows_all_of(wide: Rule, rule: Rule) -> bool:
    """Compare the conditions alone: the hosts are one, or the first covers the second."""
    return (
        (not wide.methods or (bool(rule.methods) and set(rule.methods) <= set(wide.methods)))
        and (not wide.paths or (bool(rule.paths) and set(rule.paths) <= set(wide.paths)))
        and wide.hours in (None, rule.hours)
        and (wide.until is None or (rule.until is not None and rule.until <= wide.until))
        and (wide.tools is None or wide.tools == rule.tools)
    )


def _may_meet(rule: Rule, other: Rule) -> bool:
    """Tell whether one request may be allowed by both, as far as their words show it."""
    methods = not rule.methods or not other.methods or bool(set(rule.methods) & set(other.methods))
    return methods and (not rule.paths or not other.paths or bool(set(rule.paths) & set(other.paths)))

"""The text that would allow what a run was denied, such that it can be pasted at the end of its policy.

Always: what is given makes one policy together with the policy in force. A table that would contradict it, or
another table, is left out and counted. They are `[[allow]]` tables alone, since a plain key at the end of a
file would belong to the last table in it. Nothing here prints.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from hark.errors import PolicyError
from hark.policy import wanted
from hark.policy.decide import Allow, Verdict, appointed, decide_dial, decide_request
from hark.policy.host import HostError, split_authority
from hark.policy.model import HTTPS_PORT, Policy, Rule, Speaks
from hark.policy.parse import parse_policy

if TYPE_CHECKING:
    from mediator.ledger import Denied

MAX_HOSTS: Final = 20  # some lines each; the agent's own answers have them too
MAX_REQUESTS: Final = 3  # tables for single requests, which have five lines each
_NEW: Final = "into {}, or into a file that -policy names"
_LEFT_OUT: Final = "`hark policy explain` gives the lines for a URL"


class Lines(NamedTuple):
    """What to say first, the lines to paste, and what to say behind them; all empty where nothing helps."""

    lead: str = ""
    pasted: tuple[str, ...] = ()
    rest: str = ""


def allowing(denied: Iterable["Denied"], policy: Policy, now: datetime, own: str) -> Lines:
    """Return the tables for what is still denied by the policy in force, hosts first.

    `own` is where a policy is looked for when none is named.
    """
    found = [
        (rule, wanted.dialled(table, appointed(policy, rule.host, rule.ports[0])))
        for rule, table in _tables(denied)
        if not _holds(policy, rule, now)
    ]
    hosts = [table for rule, table in found if not rule.methods]
    requests = [table for rule, table in found if rule.methods]
    chosen = _together(policy.raw, [*hosts[:MAX_HOSTS], *requests[:MAX_REQUESTS]])
    out = len(found) - len(chosen)
    count = f"{out} more could be allowed too" if chosen else f"{out} of them could be allowed"
    rest = f"{count}; {_LEFT_OUT}" if out else ""
    if not chosen:
        return Lines(rest=rest)
    where = f"at the end of {policy.source}" if policy.raw else _NEW.format(own)
    lead = f"to allow what was denied, if that is wanted, put this {where}:"
    return Lines(lead, tuple(line for table in chosen for line in table.split("\n")), rest)


def _tables(denied: Iterable["Denied"]) -> list[tuple[Rule, str]]:
    """Return each table once, with the rule that it is: the web before raw TCP, since none is both."""
    found: dict[str, Rule] = {}
    for table in (one.table or _of_host(one.rule) for one in denied):
        rule = _rule(table)
        if rule is not None:
            found[table] = rule
    return sorted(
        ((rule, table) for table, rule in found.items()), key=lambda one: one[0].speaks is Speaks.TCP
    )


def _of_host(entry: str) -> str:
    """Return the table for an entry of `allow_hosts`; empty where it is none."""
    try:
        return wanted.table(*split_authority(entry, HTTPS_PORT)) if entry else ""
    except HostError:
        return ""


def _rule(table: str) -> Rule | None:
    """Read a table; what an agent wrote may hold what no policy can."""
    try:
        rules = parse_policy(table.encode("utf-8", "replace"), "").allow
    except PolicyError:
        return None
    return rules[0] if rules else None


def _holds(policy: Policy, rule: Rule, now: datetime) -> bool:
    """Tell whether a policy allows what a rule says of one request at most: it may have changed since."""
    return all(isinstance(verdict, Allow) for verdict in _verdicts(policy, rule, now))


def _verdicts(policy: Policy, rule: Rule, now: datetime) -> Iterator[Verdict]:
    for port in rule.ports:
        yield decide_dial(policy, rule.host, port, now)
        for method in rule.methods:
            for path in rule.paths or ("/",):
                yield decide_request(policy, rule.host, port, method, path, now=now)


def _together(raw: bytes, tables: Iterable[str]) -> list[str]:
    """Return the tables that make one policy with the text, each taken after those before it."""
    chosen: list[str] = []
    for table in tables:
        longer = raw + b"\n" + table.encode()
        try:
            parse_policy(longer, "")
        except PolicyError:
            continue
        raw = longer
        chosen.append(table)
    return chosen

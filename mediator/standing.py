"""The policy in force: one object for everything that judges, so that a change reaches all of it at once.

Only the event loop's thread changes or reads it: between two of its steps the policy is one and the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hark.policy.decide import Deny, decide_dial, holding
from hark.policy.model import Policy, Rule
from mediator.authority import Destination
from mediator.wall import local_now


class Standing:
    """Whose `policy` is to be read anew for every judgement, as is `now`, the time that it is judged by."""

    __slots__ = ("now", "policy")

    def __init__(self, policy: Policy, now: Callable[[], datetime] = local_now) -> None:
        self.policy = policy
        self.now = now

    @property
    def timed(self) -> bool:
        """Tell whether the clock alone can change what is allowed."""
        return any(rule.until is not None or rule.hours is not None for rule in self.policy.rules)

    def grounds(self, target: Destination, now: datetime) -> "Grounds":
        """Return what a connection to `target` stands on now."""
        return Grounds(target, holding(self.policy, target.host, target.port, now))


@dataclass(frozen=True, slots=True)
class Grounds:
    """The rules that covered a connection when it was opened. It stands as long as all of them do."""

    target: Destination
    rules: tuple[Rule, ...]

    def gone(self, policy: Policy, now: datetime) -> str:
        """Say why the connection has to end, or nothing. Rules that came later are no reason."""
        host, port = self.target.host, self.target.port
        standing = holding(policy, host, port, now)
        if all(rule in standing for rule in self.rules):
            return ""
        verdict = decide_dial(policy, host, port, now)
        if isinstance(verdict, Deny):
            return verdict.reason
        return "a rule that allowed it has ended or changed"

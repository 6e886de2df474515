"""Which line of its file a part of a policy stands in, for whoever reads about it."""

from hark.policy.model import Policy, Rule
from hark.policy.positions import index, nearest


class Lines:
    """The lines of one policy. A policy that was not read from text has none."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._places = index(policy.raw.decode("utf-8", "replace"))

    def of(self, *path: str | int) -> int | None:
        """Return the line of a key or list item, or of what it is in."""
        place = nearest(self._places, path)
        return None if place is None else place.line

    def of_rule(self, rule: Rule) -> int | None:
        """Return the line in which a rule begins."""
        names = [known.name for known in self._policy.rules]
        if rule.name not in names:
            return None
        number = names.index(rule.name)
        plain = len(self._policy.allow_hosts)
        return self.of("allow_hosts", number) if number < plain else self.of("allow", number - plain)

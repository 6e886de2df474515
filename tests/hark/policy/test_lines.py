"""A rule's line is where its author looks for it."""

from hark.policy.lines import Lines
from hark.policy.model import Policy, Rule
from tests.support.policies import read


def test_each_rule_has_the_line_it_begins_in():
    policy = read(
        'allow_hosts = [\n  "a.example",\n  "b.example:80",\n]\n\n[[allow]]\n# note\nhost = "c.example"\n'
    )
    lines = Lines(policy)
    assert [lines.of_rule(rule) for rule in policy.rules] == [2, 3, 6]
    assert lines.of("allow", 0, "host") == 8
    assert lines.of("allow", 0, "missing") == 6


def test_what_was_not_read_from_text_has_no_line():
    rule = Rule("a.example", name="allow 1: a.example")
    assert Lines(Policy(allow=(rule,))).of_rule(rule) is None
    assert Lines(Policy()).of_rule(rule) is None

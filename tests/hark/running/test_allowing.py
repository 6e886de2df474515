"""What a run was denied, as lines that can be pasted: together with the policy they are one, and allow it."""

from collections.abc import Sequence

from hark.policy.decide import Allow, decide_dial, decide_request
from hark.policy.model import Policy, Speaks
from hark.policy.wanted import table
from hark.running.allowing import MAX_HOSTS, MAX_REQUESTS, Lines, allowing
from mediator.ledger import Denied
from tests.support.policies import NOON, read

OWN = "~/.config/hark/policy.toml"
ENDS_IN_A_TABLE = """
allow_hosts = ["api.example"]
[[allow]]
host = "git.example"
methods = ["GET"]
paths = ["/a/**"]
[secrets.K]
hosts = ["api.example"]
[limits]
time = "1h"
"""


def denied(rule: str = "", lines: str = "") -> Denied:
    return Denied("x", 1, "tls", 1, rule, "no", lines)


def pasted(text: str, *found: Denied) -> tuple[Policy, Lines]:
    """Return the policy with what is advised at its end, as a user would have it."""
    lines = allowing(found, read(text), NOON, OWN)
    return read("\n".join((text, *lines.pasted))), lines


def shown(found: Sequence[Denied], text: str = "") -> str:
    return "\n".join(allowing(found, read(text), NOON, OWN).pasted)


def test_what_is_pasted_behind_the_last_table_allows_what_was_denied():
    request = table("git.example", 443, "PUT", None)
    raw = table("db.example", 5432, speaks=Speaks.TCP)
    found = (denied("b.example:8443"), denied("[2001:db8::1]"), denied("", request), denied("", raw))
    policy, lines = pasted(ENDS_IN_A_TABLE, *found)
    assert lines.lead == "to allow what was denied, if that is wanted, put this at the end of p.toml:"
    assert isinstance(decide_dial(policy, "b.example", 8443, NOON), Allow)
    assert isinstance(decide_dial(policy, "2001:db8::1", 443, NOON), Allow)
    assert isinstance(decide_request(policy, "git.example", 443, "PUT", "/x", now=NOON), Allow)
    verdict = decide_dial(policy, "db.example", 5432, NOON)
    assert isinstance(verdict, Allow)
    assert verdict.by is not None
    assert verdict.by.speaks is Speaks.TCP


def test_what_is_pasted_dials_where_the_policy_does_already():
    own = '[[allow]]\nhost = "m.host"\nport = 80\nmethods = ["GET"]\nupstream = "127.0.0.1:8000"\n'
    policy, lines = pasted(own, denied("", table("m.host", 80, "POST", None)), denied("m.host:81"))
    assert isinstance(decide_request(policy, "m.host", 80, "POST", "/x", now=NOON), Allow)
    assert [str(rule.upstream) for rule in policy.allow] == ["127.0.0.1:8000", "None", "127.0.0.1:8000"]
    assert lines.rest == ""


def test_the_control_the_same_as_an_entry_of_a_list_belongs_to_the_last_table():
    from tests.support.policies import refused

    assert "limits.allow_hosts is not a key" in refused(ENDS_IN_A_TABLE + 'allow_hosts = ["b.example"]')


def test_without_a_policy_the_user_is_told_to_write_one():
    lines = allowing([denied("a.example")], Policy(), NOON, OWN)
    assert lines.lead.endswith(f"put this into {OWN}, or into a file that -policy names:")
    assert lines.pasted == ("[[allow]]", 'host = "a.example"')


def test_what_the_policy_in_force_allows_by_now_is_not_advised():
    assert shown([denied("a.example")], 'allow_hosts = ["a.example"]') == ""
    assert shown([denied("a.example")], 'allow_hosts = ["b.example"]') == '[[allow]]\nhost = "a.example"'
    request = table("git.example", 443, "PUT", None)
    assert shown([denied("", request)], '[[allow]]\nhost = "git.example"\nmethods = ["PUT", "GET"]') == ""


def test_one_port_is_not_advised_as_both_web_and_raw():
    raw = table("192.0.2.1", 80, speaks=Speaks.TCP)
    lines = allowing([denied("", raw), denied("192.0.2.1:80")], Policy(), NOON, OWN)
    assert lines.pasted == ("[[allow]]", 'host = "192.0.2.1"', "port = 80")
    assert lines.rest.startswith("1 more could be allowed too")


def test_where_no_table_goes_with_the_policy_that_is_not_said_of_more_of_them():
    ended = '[[allow]]\nhost = "a.example"\nuntil = 2020-01-01T00:00:00Z'
    lines = allowing([denied("a.example")], read(ended), NOON, OWN)
    assert (lines.lead, lines.pasted) == ("", ())
    assert lines.rest.startswith("1 of them could be allowed; `hark policy explain`")


def test_a_denial_that_no_rule_would_lift_and_one_that_toml_cannot_say_are_left_out():
    wrong = '[[allow]]\nhost = "a.example"\npaths = ["/\\ud800"]'
    assert allowing([denied(), denied("", wrong), denied("tool = 1")], Policy(), NOON, OWN) == Lines()


def test_a_flood_is_cut_and_counted():
    many = [denied(f"h{number}.example") for number in range(MAX_HOSTS + 5)]
    tables = [table("git.example", port, "PUT", None) for port in range(1, MAX_REQUESTS + 3)]
    lines = allowing([*many, *(denied("", one) for one in tables)], Policy(), NOON, OWN)
    assert lines.pasted.count("[[allow]]") == MAX_HOSTS + MAX_REQUESTS
    assert lines.rest.startswith("7 more could be allowed too; `hark policy explain`")

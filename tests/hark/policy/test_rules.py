"""`[[allow]]` tables: each key in itself."""

import pytest

from hark.policy.model import Rule, ToolRule
from hark.policy.rules import MAX_RULES
from tests.support.policies import read, refused


def rule(*lines: str) -> str:
    return "\n".join(['[[allow]]\nhost = "a.example"', *lines])


def test_a_host_alone_allows_everything_of_it_on_443():
    assert read(rule()).rules == (Rule("a.example", name="allow 1: a.example"),)


def test_what_may_be_made_again_is_marked():
    assert read(rule("may_reexecute = true")).allow[0].may_reexecute
    assert not read(rule("may_reexecute = false")).allow[0].may_reexecute
    assert not read(rule()).allow[0].may_reexecute
    marked = read(rule('may_reexecute = ["a", "b"]')).allow[0]
    assert (marked.may_reexecute, marked.again_tools) == (True, ("a", "b"))


def test_no_tools_is_not_any_tool():
    assert read(rule("tools = []")).allow[0].tools == ()
    assert read(rule()).allow[0].tools is None


def test_one_tool_may_have_several_sets_of_arguments():
    tools = read(
        rule('tools = [{ name = "r", arguments = { p = "a" } }, { name = "r", arguments = { p = "b" } }]')
    )
    assert tools.allow[0].tools == (ToolRule("r", {"p": "a"}), ToolRule("r", {"p": "b"}))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("port = 0", "3:1: allow.port is 0; ports are 1 to 65535"),
        ("port = 70000", "ports are 1 to 65535"),
        ('port = "443"', "allow.port must be a whole number"),
        ("ports = [80, 80]", "3:14: ports names 80 twice"),
        ("ports = []", "it would allow nothing"),
        ("port = 80\nports = [81]", "4:1: allow has both port and ports"),
        ('protocol = "udp"', 'allow.protocol is "web" or "tcp", not "udp"'),
        ('protocol = "tpc"\nport = 1', 'did you mean "tcp"?'),
        ('protocol = "tcp"', "no port; add port = 5432"),
        ('protocol = "tcp"\nport = 1\nmethods = ["GET"]', "5:1: methods has no meaning with protocol"),
        ('protocol = "tcp"\nport = 1\npaths = ["/"]', "paths has no meaning"),
        ('protocol = "tcp"\nport = 1\nbody = "hash"', "body has no meaning"),
        ('protocol = "tcp"\nport = 1\ntools = []', "tools has no meaning"),
        ('protocol = "tcp"\nport = 1\nupgrade = ["tcp"]', "upgrade has no meaning"),
        ("upgrade = []", "it would allow nothing"),
        ('upgrade = ["tcp", "TCP"]', "names tcp twice"),
        ('upgrade = ["h2c"]', '"h2c" is never passed, since it wraps requests'),
        ('upgrade = ["WebSocket"]', "passes without being named"),
        ('upgrade = ["a b"]', "is no name of a protocol"),
        ('upgrade = ["tcp"]\ntools = ["x"]', "upgrade has no meaning with tools"),
        ("methods = []", "allow.methods is empty: it would allow nothing"),
        ('methods = ["get"]', 'write "GET"'),
        ('methods = ["CONNECT"]', "asks a proxy for a tunnel"),
        ('methods = ["GET", "GET"]', "names GET twice"),
        ("paths = []", "it would allow nothing"),
        ('paths = ["v1"]', '3:10: path pattern "v1" does not begin with a slash; write "/v1"'),
        ('paths = ["**"]', 'does not begin with a slash; write "/**"'),
        ('paths = ["https://a.example/v1/*"]', 'does not begin with a slash; write "/v1/*"'),
        ('paths = ["/a/../b"]', "dot segment"),
        ('paths = ["/a?x=1"]', "over the path alone"),
        ('paths = ["/***"]', "three stars"),
        ('body = "none"', '"whole" or "hash"'),
        ("tools = [1]", "3:10: allow.tools has an entry that is no tool"),
        ('tools = [""]', "empty"),
        ('tools = ["a", "a"]', "3:15: allow.tools names a twice"),
        ('tools = ["a", { name = "a", arguments = { p = "b" } }]', "one of the two allows every argument"),
        ('tools = [{ name = "a", arguments = { p = "(" } }]', '"(" is not a regular expression'),
        ('tools = [{ nam = "a" }]', "did you mean allow.tools.name?"),
        ("tools = [{}]", "has no name; add name ="),
        ("may_reexecute = 1", "allow.may_reexecute must be true or false"),
        ("may_reexecute = []", "it would mark nothing"),
        ('may_reexecute = ["x", "x"]', "names x twice"),
        ('may_reexecute = [""]', "empty"),
        ('tools = ["x"]\nmay_reexecute = ["y"]', "names y, which tools does not"),
        ('port = 5432\nprotocol = "tcp"\nmay_reexecute = ["x"]', "write may_reexecute = true"),
        ("may_rexecute = true", "did you mean allow.may_reexecute?"),
    ],
)
def test_a_mistake_in_a_rule_is_named(line, words):
    assert words in refused(rule(line))


def test_a_rule_without_a_host_is_refused():
    assert '1:3: allow has no host; add host = "api.example.com"' in refused("[[allow]]\nport = 1")


def test_more_rules_than_anybody_reviews_are_refused():
    tables = "".join(f'[[allow]]\nhost = "h{number}.example"\n' for number in range(MAX_RULES + 1))
    assert f"more than {MAX_RULES}" in refused(tables)

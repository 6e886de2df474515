"""What a fork does not do again, and the line of the policy that lets it."""

import re
from dataclasses import replace

import pytest

from hark.patch.world import (
    changes_world,
    is_not_again,
    not_again,
    tcp_changes_world,
    tool_changes_world,
    tools_again,
    unmarked,
    upgrade_changes_world,
    websocket_changes_world,
)
from hark.policy.model import Policy
from hark.policy.parse import parse_policy
from mediator.mcp.watch import NO_MESSAGE

NONE = Policy()


def policy(text):
    return parse_policy(text.encode(), "p")


def from_words(words, rest=""):
    """The policy that a sentence's line makes."""
    line = words.partition("mark it in the policy: ")[2]
    assert line
    head, _, keys = line.partition("] ") if not line.startswith("[[") else line.partition("]] ")
    head += "]" * (2 if line.startswith("[[") else 1)
    return policy("\n".join([rest, head, *re.split(r", (?=\w+ = )", keys)]))


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_safe_method_passes(method):
    assert changes_world(method, "any.example", "/x", NONE) == ""


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "", "FOO"])
def test_all_else_is_refused_with_the_line_that_marks_it(method):
    words = changes_world(method, "any.example", "/x?secret=1", NONE)
    assert "secret" not in words
    assert "any.example/x may change the world" in words
    if method == method.upper() and method:
        assert changes_world(method, "any.example", "/x?secret=1", from_words(words)) == ""
        assert changes_world(method, "any.example", "/y", from_words(words))
        assert changes_world(method, "other.example", "/x", from_words(words))


def test_a_question_to_a_model_and_a_fetch_pass():
    assert changes_world("POST", "api.openai.com", "/v1/chat/completions", NONE) == ""
    assert changes_world("POST", "git.example", "/a/b.git/git-upload-pack", NONE) == ""
    assert changes_world("POST", "git.example", "/a/b.git/git-receive-pack", NONE)
    assert changes_world("POST", "git.example", "/git-upload-pack/../git-receive-pack", NONE)
    assert changes_world("PUT", "git.example", "/a/b.git/git-upload-pack", NONE)
    version = ((b"anthropic-version", b"2023-06-01"),)
    assert changes_world("POST", "api.model.example", "/v1/messages", NONE, version) == ""
    assert changes_world("POST", "api.model.example", "/v1/messages", NONE)


MARKED = """
allow_hosts = ["api.example"]
[[allow]]
host = "api.example"
methods = ["POST"]
paths = ["/search/**"]
may_reexecute = true
"""


def test_a_mark_is_as_wide_as_its_rule():
    marked = policy(MARKED)
    assert changes_world("POST", "api.example", "/search/a?q=1", marked) == ""
    assert changes_world("POST", "api.example:443", "/search/a", marked) == ""
    assert changes_world("POST", "API.example", "/search/a", marked) == ""
    for method, host, path in (
        ("PUT", "api.example", "/search/a"),
        ("POST", "api.example", "/delete"),
        ("POST", "api.example", "/search/../delete"),
        ("POST", "api.example:8443", "/search/a"),
        ("POST", "x.api.example", "/search/a"),
        ("POST", "api.example\r\n", "/search/a"),
    ):
        assert changes_world(method, host, path, marked)


def test_a_port_is_named_where_it_is_not_the_webs():
    words = changes_world("POST", "api.example:8443", "/x", NONE)
    assert "port = 8443" in words
    assert changes_world("POST", "api.example:8443", "/x", from_words(words)) == ""


def test_what_can_be_read_in_two_ways_has_no_line():
    assert "no rule can mark it" in changes_world("POST", "api.example", "/a//b", NONE)


def test_websockets_and_raw_tcp_are_refused_unless_marked():
    words = websocket_changes_world("api.example", "/live", NONE)
    assert websocket_changes_world("api.example", "/live", from_words(words)) == ""
    assert websocket_changes_world("api.example", "/live", policy('allow_hosts = ["api.example"]'))
    words = upgrade_changes_world("POST", "api.example", "/exec", NONE)
    assert upgrade_changes_world("POST", "api.example", "/exec", from_words(words)) == ""
    assert upgrade_changes_world("GET", "api.example", "/exec", from_words(words))
    words = tcp_changes_world("db.example", 5432, NONE)
    assert tcp_changes_world("db.example", 5432, from_words(words)) == ""
    assert tcp_changes_world("db.example", 5433, from_words(words))
    assert changes_world("POST", "db.example:5432", "/", from_words(words))


def test_a_mark_of_the_web_is_none_of_raw_tcp():
    assert tcp_changes_world("api.example", 443, policy(MARKED))


TOOLS = """
[mcp.files]
command = ["server"]
allow_tools = ["read", "write"]
may_reexecute = ["read"]
"""


def test_marks_of_a_bundles_own_policy_count_for_nothing():
    both = policy(MARKED + TOOLS)
    bare = unmarked(both)
    assert changes_world("POST", "api.example", "/search/a", both) == ""
    assert changes_world("POST", "api.example", "/search/a", bare)
    assert tool_changes_world("files", "read", bare)
    assert (bare.allow_hosts, len(bare.rules), bare.raw) == (both.allow_hosts, 2, both.raw)
    assert not any(rule.may_reexecute for rule in bare.about("api.example"))


def test_a_tool_is_marked_by_its_name_and_server():
    marked = policy(TOOLS)
    assert tool_changes_world("files", "read", marked) == ""
    words = tool_changes_world("files", "write", marked)
    assert '[mcp.files] may_reexecute = ["write"]' in words
    assert tool_changes_world("other", "read", marked)
    assert tool_changes_world("files", "read", NONE)


OVER_HTTP = """
[[allow]]
host = "mcp.example"
paths = ["/mcp"]
may_reexecute = ["search"]
"""
WHOLE = """
[[allow]]
host = "mcp.example"
paths = ["/mcp"]
may_reexecute = true
"""


def test_a_mark_of_tools_over_http_is_one_of_messages_by_post_alone():
    marked = policy(OVER_HTTP)
    assert changes_world("POST", "mcp.example", "/mcp", marked) == ""
    assert tools_again("POST", "mcp.example", "/mcp", marked) == ("search",)
    for method, path in (("DELETE", "/mcp"), ("PUT", "/mcp"), ("POST", "/other")):
        assert changes_world(method, "mcp.example", path, marked)
        assert tools_again(method, "mcp.example", path, marked) == ()
    assert websocket_changes_world("mcp.example", "/mcp", marked)
    assert tools_again("GET", "mcp.example", "/mcp", marked) is None
    assert tools_again("POST", "api.openai.com", "/v1/responses", marked) is None


def test_a_mark_of_all_that_a_path_takes_comes_before_one_of_tools():
    assert tools_again("POST", "mcp.example", "/mcp", policy(WHOLE)) is None
    both = replace(policy(OVER_HTTP), allow=(*policy(OVER_HTTP).allow, *policy(WHOLE).allow))
    assert tools_again("POST", "mcp.example", "/mcp", both) is None
    assert tools_again("POST", "mcp.example", "/mcp", unmarked(policy(OVER_HTTP))) == ()


def test_a_request_that_looks_like_mcps_is_told_of_tools():
    accepted = ((b"Accept", b"application/json, text/event-stream"),)
    assert 'may_reexecute = ["TOOL"]' in changes_world("POST", "mcp.example", "/mcp", NONE, accepted)
    assert "TOOL" not in changes_world("POST", "mcp.example", "/mcp", NONE)


def test_a_recorded_reason_is_told_from_a_policys():
    for reason in (
        changes_world("POST", "api.example", "/x", NONE),
        websocket_changes_world("api.example", "/live", NONE),
        tcp_changes_world("db.example", 5432, NONE),
        upgrade_changes_world("GET", "api.example", "/exec", NONE),
        tool_changes_world("files", "write", NONE),
        not_again("mcp.example", "write"),
        NO_MESSAGE,
    ):
        assert is_not_again(reason)
    words = "x may change the world, and a fork does not call it again"
    for reason in (
        "host api.example is not in allow_hosts",
        f'tool "{words}" is not in allow_tools',
        f"as its header X-Original-URL: /{words} would have it, allow 1: api.example allows /x",
    ):
        assert not is_not_again(reason)


def test_what_an_agent_wrote_is_shown_safely():
    assert "\x1b" not in not_again("files\x1b", "re\x1b")
    assert "\x1b" not in changes_world("PO\x1bST", "api.example", "/\x1b[31m", NONE)
    assert "\x1b" not in tool_changes_world("files\x1b", "re\x1b", NONE)

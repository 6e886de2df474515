"""Limits, executables, tool servers, published ports and git's hosts."""

import pytest

from hark.policy.model import Address, Published
from tests.support.policies import read, refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\ntimeout = 1", "2:1: limits.timeout is not a key of a policy; did you mean limits.time?"),
        ("[limits]\nevents_per_second = 0", "between 1 and"),
        ('[limits]\ndisk = "1kB"', "must be between"),
        ("[snapshot]\nmax = 5", "has no unit"),
        ('[snapshot]\nmax = "0MB"', "must be between"),
        ('[snapshot]\nexclude = ["!keep"]', "leaves nothing out by a name"),
        ('[snapshot]\nexclude = ["*"]', "leaves nothing out by a name"),
        ("[snapshot]\nkeep = 1", "snapshot.keep is not a key of a policy"),
        ("exec = []", "not even the command could start"),
        ('exec = ["bin/x"]', "must begin with / or ~/"),
        ('exec = [""]', "must begin with / or ~/"),
        ('exec = ["git", "git"]', "names git twice"),
        ("[mcp.m]", "1:6: mcp.m has no command"),
        ('[mcp."a/b"]\ncommand = ["x"]', '"a/b" is no name for a command'),
        ('[mcp.".."]\ncommand = ["x"]', '".." is no name for a command'),
        ("[mcp.m]\ncommand = []", "is empty"),
        ('[mcp.m]\ncommand = ["./x"]', "depends on where hark is started"),
        ('[mcp.m]\ncommand = ["x"]\nenv = { A = 1 }', "must be a string"),
        ('[mcp.m]\ncommand = ["x"]\nsecrets = { A = "B C" }', "not the name of an environment variable"),
        (
            '[mcp.m]\ncommand = ["x"]\nenv = { A = "1" }\nsecrets = { A = "B" }',
            "sets A in both env and secrets",
        ),
        ('[mcp.m]\ncommand = ["x"]\nworkdir = "d"', "must begin with / or ~/"),
        ('[mcp.m]\ncommand = ["x"]\nallow_tools = "x"', "must be a list"),
        ('[mcp.m]\ncommand = ["x"]\nmay_reexecute = true', "must be a list of strings"),
        ('[mcp.m]\ncommand = ["x"]\nmay_reexecute = []', "it would mark nothing"),
        ('[mcp.m]\ncommand = ["x"]\nmay_reexecute = [""]', "empty"),
        ('[mcp.m]\ncommand = ["x"]\nmay_reexecute = ["a", "a"]', "names a twice"),
        (
            '[mcp.m]\ncommand = ["x"]\nallow_tools = ["a"]\nmay_reexecute = ["b"]',
            "names b, which allow_tools does not; add it there",
        ),
        ("[[publish]]", "1:3: publish has no port"),
        ('[[publish]]\nport = 80\nat = "8080"', "a port without an address"),
        ('[[publish]]\nport = 80\nat = "240.0.0.1:80"', "no address of this machine"),
        ('[[publish]]\nport = 80\n[[publish]]\nport = 80\nat = "127.0.0.1:81"', "published twice"),
        ('[[publish]]\nport = 80\n[[publish]]\nport = 81\nat = "127.0.0.1:80"', "two at one address"),
        ('[git]\nhttps = ["git.example"]', "2:10: git.https names git.example, which nothing allows"),
        ('allow_hosts = ["git.example:8443"]\n[git]\nhttps = ["git.example"]', "on port 443"),
        ('allow_hosts = ["*.a.example"]\n[git]\nhttps = ["*.a.example"]', "takes exact hosts"),
    ],
)
def test_a_mistake_is_named(text, words):
    assert words in refused(text)


def test_tools_that_may_be_called_again_are_marked():
    text = '[mcp.m]\ncommand = ["x"]\nmay_reexecute = ["a", "b"]'
    assert read(text).mcp[0].may_reexecute == ("a", "b")
    assert read(f"{text}\nallow_tools = ['a', 'b', 'c']").mcp[0].may_reexecute == ("a", "b")
    assert read('[mcp.m]\ncommand = ["x"]').mcp[0].may_reexecute == ()


def test_a_published_port_is_on_loopback_unless_something_else_is_said():
    assert read("[[publish]]\nport = 8080").publish == (Published(8080, Address("127.0.0.1", 8080)),)


def test_a_host_for_git_may_stand_under_a_wildcard():
    assert read('allow_hosts = ["*.a.example"]\n[git]\nhttps = ["g.a.example"]').git_https == ("g.a.example",)


def test_without_the_keys_there_is_no_limit():
    policy = read("")
    assert (policy.executables, policy.max_bytes, policy.limits.time_s) == (None, None, None)

"""Policies to start from are policies, say no more than their agent needs, and surprise nobody."""

import re
from datetime import UTC, datetime

import pytest

from hark.policy.decide import Allow, decide_request
from hark.policy.parse import parse_policy
from hark.policy.starters import STARTERS
from hark.policy.surprises import surprises

NEEDED = {
    "claude-code": ("api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY"),
    "codex": ("api.openai.com", "/v1/responses", "CODEX_API_KEY"),
    "gemini": (
        "generativelanguage.googleapis.com",
        "/v1beta/models/x:streamGenerateContent",
        "GEMINI_API_KEY",
    ),
    "aider": ("api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY"),
    "python": ("api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY"),
    "node": ("api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY"),
}
NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_allows_what_its_agent_asks_for_and_binds_its_key_there(name):
    starter = STARTERS[name]
    policy = parse_policy(starter.text.encode(), name)
    host, path, secret = NEEDED[name]
    assert isinstance(decide_request(policy, host, 443, "POST", path, now=NOW), Allow)
    (spec,) = policy.secrets
    assert (spec.name, spec.env, [rule.host for rule in spec.hosts]) == (secret, starter.variable, [host])
    assert list(surprises(policy, NOW)) == []


def test_claude_codes_first_start_may_ask_what_it_asks_and_no_more():
    policy = parse_policy(STARTERS["claude-code"].text.encode(), "claude")
    hello = decide_request(policy, "platform.claude.com", 443, "GET", "/v1/oauth/hello", now=NOW)
    other = decide_request(policy, "platform.claude.com", 443, "POST", "/v1/oauth/token", now=NOW)
    assert isinstance(hello, Allow)
    assert not isinstance(other, Allow)


def test_the_gemini_cli_trusts_the_directory_that_it_is_run_in():
    assert parse_policy(STARTERS["gemini"].text.encode(), "g").env_set["GEMINI_CLI_TRUST_WORKSPACE"] == "true"


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini"])
def test_what_keeps_an_agents_settings_may_be_switched_on(name):
    text = STARTERS[name].text
    on = re.sub(r"(?m)^# (write_paths = .*agents|\w+ = \"/home/YOU|\[env.set\])", r"\1", text)
    grant = re.search(r"(?m)^write_paths = .*agents.*$", on)
    assert grant is not None
    policy = parse_policy((grant[0] + "\n" + on.replace(grant[0], "", 1)).encode(), name)
    (path,) = policy.write_paths
    assert path.replace("~", "/home/YOU") in policy.env_set.values()


@pytest.mark.parametrize("name", STARTERS)
def test_what_a_starter_names_in_comments_may_be_switched_on(name):
    lines = STARTERS[name].text.splitlines()
    on = [line.replace("# ", "", 1) if line.startswith('    # "') else line for line in lines]
    assert len(parse_policy("\n".join(on).encode(), name).allow_hosts) > 1


def test_there_is_a_starter_for_every_agent_that_is_tested():
    assert set(STARTERS) == set(NEEDED)

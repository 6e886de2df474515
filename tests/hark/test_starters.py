"""Policies to start from are policies, say no more than their agent needs, and surprise nobody."""

from datetime import UTC, datetime

import pytest

from hark.policy.decide import Allow, decide_request
from hark.policy.parse import parse_policy
from hark.policy.surprises import surprises
from hark.starters import STARTERS

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


@pytest.mark.parametrize("name", STARTERS)
def test_what_a_starter_names_in_comments_may_be_switched_on(name):
    lines = STARTERS[name].text.splitlines()
    on = [line.replace("# ", "", 1) if line.startswith('    # "') else line for line in lines]
    assert len(parse_policy("\n".join(on).encode(), name).allow_hosts) > 1


def test_there_is_a_starter_for_every_agent_that_is_tested():
    assert set(STARTERS) == set(NEEDED)

"""Policies from text, and the sentence that a text is refused with."""

import pytest

from hark.errors import PolicyError
from hark.policy.model import Policy
from hark.policy.parse import parse_policy


def read(text: str) -> Policy:
    """Read a policy that must be one."""
    return parse_policy(text.encode(), "p.toml")


def refused(text: str) -> str:
    """Return the sentence that a text is refused with, without its file, which it must begin with."""
    with pytest.raises(PolicyError) as caught:
        read(text)
    assert caught.value.exit_code == 125
    assert str(caught.value).startswith("p.toml:")
    return str(caught.value).removeprefix("p.toml:")

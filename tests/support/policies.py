"""Policies from text, and the sentence that a text is refused with."""

from datetime import UTC, datetime
from typing import Final

import pytest

from hark.errors import PolicyError
from hark.policy.model import Policy
from hark.policy.parse import parse_policy

NOON: Final = datetime(2030, 6, 3, 12, tzinfo=UTC)
"""A moment for decisions to which it does not matter."""


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

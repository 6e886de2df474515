"""Names of protocols that a rule may let a connection switch to, and those that it may not."""

import pytest

from hark.policy.upgrades import no_upgrade


@pytest.mark.parametrize("name", ["tcp", "spdy/3.1", "irc/6.9", "my-own.1", "hosts", "connect-x"])
def test_the_control_a_protocol_of_its_own_may_be_named(name: str) -> None:
    assert no_upgrade(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "h2c",
        "h2",
        "h2c-14",
        "h2-16",
        "h3",
        "http",
        "http/2.0",
        "http/1.1",
        "https",
        "tls",
        "tls/1.2",
        "ssl/3",
    ],
)
def test_what_wraps_requests_may_not(name: str) -> None:
    assert "wraps requests" in no_upgrade(name)


@pytest.mark.parametrize("name", ["", "a b", "tcp/", "a/b/c", "x\0", "a,b", "x" * 41, "é"])
def test_what_is_no_name_may_not(name: str) -> None:
    assert "no name of a protocol" in no_upgrade(name)


@pytest.mark.parametrize("name", ["websocket", "websocket/13"])
def test_a_websocket_needs_no_naming(name: str) -> None:
    assert "without being named" in no_upgrade(name)

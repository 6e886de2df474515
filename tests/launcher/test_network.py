"""The two namespaces as the agent and the mediator meet them."""

import pytest

from launcher import network
from tests.launcher.rig import WHO, python, shell, without

pytestmark = pytest.mark.attack


@pytest.mark.parametrize("who", WHO)
def test_the_agent_has_two_interfaces_fixed_addresses_and_default_routes(who: str) -> None:
    script = "ls /proc/sys/net/ipv4/conf; cat /proc/net/if_inet6; cat /proc/net/route | wc -l"
    out = shell(script, who=who).out
    assert {"ag0", "lo"} <= set(out.split())
    assert "gw0" not in out
    assert "fd006861726b00000000000000000002" in out
    assert "fe80" not in out


def test_refusals_come_for_every_packet_of_many() -> None:
    program = """
import socket
refused = 0
for n in range(200):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60)
    s.connect((f"198.51.100.{n}", 443)); s.send(b"x")
    try: s.recv(1)
    except TimeoutError: pass
    except OSError: refused += 1
print(refused)
"""
    assert python(program).out == "200\n"


def test_every_port_and_both_families_lead_to_the_gateway_with_the_address_that_was_meant() -> None:
    program = """
import socket
for host, port in (("203.0.113.5", 1), ("203.0.113.5", 65535), ("2001:db8::5", 22), ("10.200.1.1", 18080)):
    print(socket.create_connection((host, port), 60).recv(100).decode().strip())
"""
    assert python(program).out.splitlines() == [
        "gateway 203.0.113.5 1",
        "gateway 203.0.113.5 65535",
        "gateway 2001:db8::5 22",
        "gateway 10.200.1.1 18080",
    ]


def test_dns_is_answered_whatever_resolver_is_asked() -> None:
    program = """
import socket
query = b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\1a\\7allowed\\4test\\0\\0\\1\\0\\1"
for family, host in ((socket.AF_INET, "9.9.9.9"), (socket.AF_INET6, "2001:db8::53")):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(60)
    s.sendto(query, (host, 53)); data, sender = s.recvfrom(512)
    print(data[-4:] == bytes([198, 18, 0, 7]), sender[0])
"""
    assert python(program).out.splitlines() == ["True 9.9.9.9", "True 2001:db8::53"]


def test_the_packet_socket_sees_what_is_rejected_and_no_tcp() -> None:
    program = """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for family, host in ((socket.AF_INET, "203.0.113.5"), (socket.AF_INET6, "2001:db8::5")):
        s = socket.socket(family, kind); s.settimeout(60)
        try: s.connect((host, 777)); s.send(b"x"); s.recv(10)
        except OSError: pass
"""
    seen = python(program).seen
    assert ("ip17", "203.0.113.5", 777) in seen
    assert ("ip17", "2001:db8::5", 777) in seen
    assert [entry for entry in seen if entry[0] == "ip6"] == []
    assert ("tcp", "2001:db8::5", 777) in seen


def test_settings_that_a_kernel_does_not_have_are_reported() -> None:
    unknown = {"net/ipv4/no_such_setting": "1"}
    result = shell("true", change=without(network, "_GATEWAY_SETTINGS", unknown))
    assert result.facts is not None
    assert result.facts.settings_unset == ("net/ipv4/no_such_setting",)

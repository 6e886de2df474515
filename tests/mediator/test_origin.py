"""The original destination is read as the kernel lays it out, and only the kernel is asked."""

import socket
import struct

import pytest

from mediator.origin import original_destination


class Redirected:
    """A socket as connection tracking knows it."""

    def __init__(self, family: int, level: int, raw: bytes) -> None:
        self.family = family
        self._expected = (level, 80, len(raw))
        self._raw = raw

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        """As of a socket."""
        assert (level, option, size) == self._expected
        return self._raw


def test_an_ipv4_destination_is_read() -> None:
    raw = struct.pack("=H", socket.AF_INET) + struct.pack("!H", 443) + bytes((198, 18, 0, 1)) + bytes(8)
    assert original_destination(Redirected(socket.AF_INET, socket.IPPROTO_IP, raw)) == ("198.18.0.1", 443)


def test_an_ipv6_destination_is_read() -> None:
    address = socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    raw = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", 8443, 0) + address + bytes(4)
    redirected = Redirected(socket.AF_INET6, socket.IPPROTO_IPV6, raw)
    assert original_destination(redirected) == ("2001:db8::1", 8443)


def test_a_connection_that_was_not_redirected_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted, pytest.raises(OSError, match=r"."):
            original_destination(accepted)

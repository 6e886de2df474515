"""First bytes: fed whole, byte by byte and with more behind them, they are the same thing."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mediator.sniff import MAX_HELLO, Http, More, Sniffed, Tls, Unknown, sniff


def hello(sni: str | None = "api.example.test", *alpn: str) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    if alpn:
        context.set_alpn_protocols(list(alpn))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=sni)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def record(body: bytes) -> bytes:
    return b"\x16\x03\x01" + len(body).to_bytes(2) + body


def crafted(extensions: bytes) -> bytes:
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    body += len(extensions).to_bytes(2) + extensions
    return record(b"\x01" + len(body).to_bytes(3) + body)


def extension(kind: int, value: bytes) -> bytes:
    return kind.to_bytes(2) + len(value).to_bytes(2) + value


def server_name(name: bytes, kind: int = 0) -> bytes:
    entry = bytes((kind,)) + len(name).to_bytes(2) + name
    return extension(0, len(entry).to_bytes(2) + entry)


REAL = hello("api.example.test", "h2", "http/1.1")
TWICE = Unknown("tls", "its ClientHello has an extension twice")
MESSAGES: list[tuple[bytes, Sniffed]] = [
    (REAL, Tls(b"api.example.test", (b"h2", b"http/1.1"))),
    (hello(None), Tls(None, ())),
    (crafted(server_name(b"evil\0.allowed.com")), Tls(b"evil\0.allowed.com", ())),
    (crafted(b""), Tls(None, ())),
    (b"GET / HTTP/1.1\r\n", Http()),
    (b"POST http://api.example.test/x HTTP/1.1\r\n", Http()),
    (b"GET HTTPS://api.example.test/x HTTP/1.1\r\n", Http()),
    (b"OPTIONS * HTTP/1.1\r\n", Http()),
    (b"CONNECT api.example.test:443 HTTP/1.1\r\n", Http()),
    (b"M-SEARCH * HTTP/1.1\r\n", Http()),
    (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", Unknown("ssh", "SSH is not passed")),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Unknown("h2c", "HTTP/2 without TLS is not passed")),
    (b"\0\0\0\x08\x04\xd2\x16\x2f", Unknown("tcp", "it is neither TLS nor HTTP")),
    (b"EHLO client.example\r\n", Unknown("tcp", "it is neither TLS nor HTTP")),
    (b"averyveryverylongword and more", Unknown("tcp", "it is neither TLS nor HTTP")),
    (
        crafted(server_name(b"a") + server_name(b"b")),
        Unknown("tls", "its ClientHello has an extension twice"),
    ),
    (crafted(server_name(b"a", kind=1)), Unknown("tls", "its server name is of an unknown kind")),
    (crafted(server_name(b"")), Unknown("tls", "its ClientHello has not exactly one server name")),
    (record(b"\x02\0\0\0"), Unknown("tls", "its first message is not a ClientHello")),
    (record(b""), Unknown("tls", "it begins with an empty record")),
    (b"\x16\x02\0\0\0", Unknown("tls", "its first records are not a handshake")),
    (crafted(b"\0\0\xff\xff"), Unknown("tls", "its ClientHello contradicts its own lengths")),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES, ids=map(str, range(len(MESSAGES))))
def test_a_message_is_read_whole_byte_by_byte_and_with_more_behind_it(
    message: bytes, expected: Sniffed
) -> None:
    assert sniff(message) == expected
    assert sniff(message + b"\x17\x03\x03 more") == expected
    steps = [sniff(message[:size]) for size in range(len(message) + 1)]
    first = next(number for number, step in enumerate(steps) if not isinstance(step, More))
    assert set(map(str, steps[first:])) == {str(expected)}


def test_a_hello_in_many_records_reads_as_one() -> None:
    message = REAL[5:]
    pieces = b"".join(record(message[at : at + 7]) for at in range(0, len(message), 7))
    assert sniff(pieces) == Tls(b"api.example.test", (b"h2", b"http/1.1"))


def test_a_hello_that_never_ends_is_refused_and_not_kept() -> None:
    assert isinstance(sniff(record(b"\x01\xff\xff\xff" + bytes(100))), Unknown)
    endless = record(b"\x01\x00\xff\x00" + bytes(40)) + record(b"x") * (MAX_HELLO // 6)
    assert isinstance(sniff(endless), Unknown | More)
    assert isinstance(sniff(b"\x16\x03\x01\xff\xff" + b"\x01\x00\xfe\x00" + bytes(MAX_HELLO)), Unknown | Tls)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value(data: bytes) -> None:
    sniff(data)
    sniff(REAL[:60] + data)
    sniff(crafted(data))

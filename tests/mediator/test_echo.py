"""Answers that give a credential back are cut, plain or compressed; all others pass byte for byte."""

import gzip
import zlib

import pytest

from mediator.credentials import Broker
from mediator.echo import EchoScan
from mediator.scan import FoundError
from tests.mediator.rig import secret

VALUE = "sk-real-5e884898da280471"
TEXT = b'{"echo": "%s"}' % VALUE.encode()


def scan(*, encoding: bytes = b"") -> EchoScan:
    found = EchoScan(Broker([secret(VALUE, "api.example.test")]))
    found.head(((b"Content-Encoding", encoding),) if encoding else ())
    return found


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [(b"", bytes), (b"gzip", gzip.compress), (b"deflate", zlib.compress), (b"X-GZIP", gzip.compress)],
)
def test_a_value_is_found_however_it_is_packed_and_cut(encoding: bytes, pack: type[bytes], size: int) -> None:
    looking = scan(encoding=encoding)
    packed = pack(TEXT * 3)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    with pytest.raises(FoundError):
        list(map(looking.body, pieces))


def test_a_value_in_a_header_is_found() -> None:
    with pytest.raises(FoundError):
        scan().head(((b"X-Echo", VALUE.encode()),))


def test_the_control_a_harmless_answer_passes_byte_for_byte() -> None:
    looking = scan(encoding=b"gzip")
    packed = gzip.compress(b"harmless " * 1000)
    passed = b"".join(looking.body(packed[at : at + 9]) for at in range(0, len(packed), 9)) + looking.finish()
    assert passed == packed


def test_a_bomb_is_unpacked_in_pieces() -> None:
    looking = scan(encoding=b"gzip")
    bomb = gzip.compress(bytes(200 << 20), 9)
    assert looking.body(bomb) + looking.finish() == bomb


def test_what_is_not_what_it_says_passes_as_it_is() -> None:
    looking = scan(encoding=b"gzip")
    assert looking.body(b"not gzip at all") == b"not gzip at all"
    assert looking.body(b", still") == b", still"

"""What wraps a text goes, the text stays, wherever the stream is cut."""

import json

import pytest

from mediator.squeeze import Squeeze, squeezed

WRAPPED = b"AB\r\n C\tD\\nE\\\\r\\\\nF\\/G\\"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_blanks_and_escapes_go_however_the_stream_is_cut(size: int) -> None:
    squeeze = Squeeze()
    got = b"".join(squeeze.feed(WRAPPED[at : at + size]) for at in range(0, len(WRAPPED), size))
    assert got == b"ABCDEF/G"


def test_a_text_in_json_in_json_reads_like_itself() -> None:
    text = "one\ntwo\nthree"
    assert squeezed(json.dumps(json.dumps(text)).encode()) == b'""onetwothree""'


def test_the_control_other_bytes_stay() -> None:
    assert squeezed(bytes(range(0x21, 0x5C))) == bytes(range(0x21, 0x5C))

"""Lines out of pieces."""

import pytest

from mediator.mcp.lines import LineError, Lines


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_come_whole_however_they_are_cut(size: int) -> None:
    stream = b'{"a":1}\r\n\n  \n{"b":2}\n{"c"'
    lines = Lines(100)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [line for piece in pieces for line in lines.feed(piece)] == [b'{"a":1}', b'{"b":2}']
    assert lines.unfinished


def test_a_line_at_the_ceiling_passes_and_one_more_byte_does_not() -> None:
    assert Lines(5).feed(b"12345\n") == [b"12345"]
    for pieces in ([b"123456"], [b"12345", b"6"], [b"123456\n"]):
        with pytest.raises(LineError, match="5 bytes"):
            _feed(pieces)


def _feed(pieces: list[bytes]) -> None:
    lines = Lines(5)
    for piece in pieces:
        lines.feed(piece)

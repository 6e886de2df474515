"""Pieces are values: two of the same are one, and a part keeps where it was recorded."""

from hark.replay.pieces import Data, Message, Part


def test_parts_are_compared_by_what_they_are() -> None:
    assert Part(1, 2, Data(b"x")) == Part(1, 2, Data(b"x"), sent=0)
    assert Message("text", b"x", more=False) != Message("text", b"x", more=True)

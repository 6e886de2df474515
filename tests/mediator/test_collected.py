"""A text is given on when it is whole, within a bound of its own length."""

import pytest

from mediator.codings import PackedError
from mediator.collected import MAX_TEXT, Collected
from mediator.held import Room


class Doubling:
    """A text that grows as it is turned."""

    def feed(self, data: bytes) -> bytes:
        return data * 2

    def finish(self) -> bytes:
        return b"."


def test_a_text_comes_at_its_end() -> None:
    text = Collected(Doubling(), Room())
    assert [text.feed(b"a"), text.feed(b"b"), text.finish()] == [b"", b"", b"aabb."]


@pytest.mark.parametrize("size", [MAX_TEXT // 2 + 1, MAX_TEXT + 1])
def test_neither_what_came_nor_what_became_of_it_is_longer(size: int) -> None:
    text = Collected(Doubling(), Room())
    with pytest.raises(PackedError, match="8 MiB of text"):
        text.feed(bytes(size))


def test_without_room_for_all_of_it_nothing_is_begun() -> None:
    with pytest.raises(PackedError, match="too many such answers"):
        Collected(Doubling(), Room(MAX_TEXT - 1))

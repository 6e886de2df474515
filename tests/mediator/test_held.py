"""All bodies that are held share one room."""

import pytest

from mediator.held import Held, Room


def test_bodies_share_a_room_and_give_back_what_they_took() -> None:
    room = Room(10)
    one, other = Held(room), Held(room)
    assert one.expect(6)
    assert not other.expect(5)
    assert other.expect(4)
    one.add(b"123")
    one.add(b"456")
    assert room.left == 0
    assert one.out() == b"123456"
    assert room.left == 6
    assert (one.out(), room.left) == (b"", 6)
    other.add(b"1")
    assert (other.out(), room.left) == (b"1", 10)


def test_no_more_is_held_than_there_was_room_for() -> None:
    held = Held(Room(10))
    assert held.expect(4)
    with pytest.raises(RuntimeError, match="announced"):
        held.add(b"12345")

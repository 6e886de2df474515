"""All bodies that are held share one room."""

from mediator.held import Held, Room


def test_bodies_share_a_room_and_give_back_what_they_took() -> None:
    room = Room(10)
    one, other = Held(room), Held(room)
    assert one.add(b"123456")
    assert not other.add(b"12345")
    assert other.add(b"1234")
    assert (len(one), len(other), room.left) == (6, 4, 0)
    assert one.out() == b"123456"
    assert other.add(b"56")
    assert other.out() == b"123456"
    assert room.left == 10
    assert (one.out(), room.left) == (b"", 10)

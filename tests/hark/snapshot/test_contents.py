"""What changed files held, kept by hash: each once, as long as there is room."""

from blake3 import blake3

from hark.snapshot.archive import Reader
from hark.snapshot.contents import MAX_ALL, NAME, Contents
from hark.snapshot.unpack import Unpacking


def kept(most: int, *held: bytes) -> dict[str, bytes]:
    contents = Contents(most)
    for data in held:
        contents.take(blake3(data).digest(), data)
    events = list(contents.events())
    if not events:
        return {}
    assert [event.name for event in events] == [NAME] * len(events)
    archive = Unpacking(b"".join(event.data for event in events))
    found = {entry.path.decode(): entry.data for entry in Reader(archive, MAX_ALL)}
    assert archive.finish() == events[0].hash
    return found


def test_each_content_is_kept_once_under_its_hash():
    assert kept(1000, b"one", b"", b"one") == {blake3(data).hexdigest(): data for data in (b"one", b"")}


def test_what_has_no_room_is_left_out_and_what_is_smaller_is_not():
    assert list(kept(1000, b"x" * 900, b"small").values()) == [b"small"]
    assert kept(0, b"one") == {}

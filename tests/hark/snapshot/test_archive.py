"""The archive: one spelling of a tree, and nothing else is read."""

import pytest

from hark.bundle import cbor
from hark.errors import BundleError
from hark.snapshot.archive import FILE, FOLDER, LINK, MAGIC, SAME, Entry, Reader, Source, packed

TREE = [
    Entry(FILE, b"a", 0o644, 5, b"text"),
    Entry(FILE, b"\xff", 0, -1, b""),
    Entry(FOLDER, b"d", 0o755, 1 << 62),
    Entry(FILE, b"d/b", 0o700, 0, b"x" * 1000),
    Entry(LINK, b"d/l", 0, 7, b"../../etc/passwd"),
    Entry(SAME, b"d/s", 0, 0, b"a"),
    Entry(FOLDER, b"d/empty", 0, 0),
]


class Bytes(Source):
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken


def written(entries: list[Entry]) -> bytes:
    return MAGIC + b"".join(piece for entry in entries for piece in packed(entry))


def read(data: bytes, most: int = 1 << 20) -> list[Entry]:
    return list(Reader(Bytes(data), most))


def raw(*head: object, data: bytes = b"") -> bytes:
    packed_head = cbor.encode(list(head))
    return MAGIC + len(packed_head).to_bytes(4) + packed_head + data


def test_what_is_written_is_read():
    assert read(written(TREE)) == TREE
    assert read(MAGIC) == []


def test_it_breaks_off_nowhere():
    whole = written(TREE)
    ends = {len(written(TREE[:count])) for count in range(len(TREE) + 1)}
    for size in range(len(whole)):
        if size not in ends:
            with pytest.raises(BundleError):
                read(whole[:size])


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([Entry(FILE, b"/etc/x")], "outside"),
        ([Entry(FILE, b"../x")], "outside"),
        ([Entry(FOLDER, b"a"), Entry(FILE, b"a/../../x")], "outside"),
        ([Entry(FILE, b"a\0b")], "outside"),
        ([Entry(FILE, b"")], "outside"),
        ([Entry(FILE, b"x" * 5000)], "outside"),
        ([Entry(FILE, b"a"), Entry(FILE, b"a")], "twice"),
        ([Entry(FILE, b"a/b")], "no folder"),
        ([Entry(LINK, b"a", data=b"/etc"), Entry(FILE, b"a/b")], "no folder"),
        ([Entry(FILE, b"a"), Entry(FILE, b"a/b")], "no folder"),
        ([Entry(FOLDER, b"a", data=b"x")], "content"),
        ([Entry(LINK, b"a")], "content"),
        ([Entry(LINK, b"a", data=b"x" * 5000)], "content"),
        ([Entry(LINK, b"a", data=b"x\0y")], "no path"),
        ([Entry(SAME, b"a", data=b"b")], "no file"),
        ([Entry(LINK, b"b", data=b"/etc/passwd"), Entry(SAME, b"a", data=b"b")], "no file"),
        ([Entry(FILE, b"a", 0o4755)], "none"),
        ([Entry(4, b"a")], "none"),
        ([Entry(FILE, b"a", -1)], "none"),
        ([Entry(FILE, b"a", 0, 1 << 63)], "none"),
    ],
)
def test_a_hostile_entry_is_refused(entries: list[Entry], why: str):
    with pytest.raises(BundleError, match=why):
        read(written(entries))


def test_heads_of_another_shape_are_refused():
    for data in (raw(1, b"a", 0, 0), raw(1, "a", 0, 0, 0), raw(True, b"a", 0, 0, 0), raw(1, b"a", 0, 0, -1)):
        with pytest.raises(BundleError):
            read(data)
    assert read(raw(1, b"a", 0, 0, 1, data=b"x")) == [Entry(FILE, b"a", 0, 0, b"x")]
    with pytest.raises(BundleError, match="head takes"):
        read(MAGIC + (1 << 30).to_bytes(4))
    with pytest.raises(BundleError, match="begin"):
        read(b"HARKTREE2\n")


def test_more_than_is_allowed_is_not_asked_for():
    with pytest.raises(BundleError, match="larger than 4096"):
        read(raw(1, b"a", 0, 0, 1 << 60), most=4096)
    whole = written(TREE)
    assert len(read(whole, most=len(whole))) == len(TREE)
    with pytest.raises(BundleError, match="larger"):
        read(whole, most=len(whole) - 1)

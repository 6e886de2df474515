"""Mounted files on the record: back as they were, and nothing that is not one."""

import pytest

from hark.bundle.events import Snapshot, decode, encode
from hark.bundle.hashing import content_hash
from hark.plan.remounting import MAX_BYTES, events_of, recorded

FILES = {"/home/ann/.netrc": b"machine a login me password sk-live-hark", "/home/ann/b.json": b"{}"}


def test_files_come_back_from_the_record_as_they_were() -> None:
    kept = [decode(38, encode(event)) for event in events_of(FILES)]
    assert (
        dict(found for event in kept if isinstance(event, Snapshot) and (found := recorded(event))) == FILES
    )


def test_a_path_that_is_no_utf_8_is_left_out() -> None:
    assert list(events_of({"/home/ann/\udcff": b"x"})) == []


@pytest.mark.attack
@pytest.mark.parametrize(
    "event",
    [
        Snapshot("project", content_hash(b"x"), 0, b"x", last=True),
        Snapshot("mounted /a", content_hash(b"y"), 0, b"x", last=True),
        Snapshot("mounted /a", content_hash(b"x"), 1, b"x", last=True),
        Snapshot("mounted /a", content_hash(b"x"), 0, b"x"),
        Snapshot("mounted /a", content_hash(bytes(MAX_BYTES + 1)), 0, bytes(MAX_BYTES + 1), last=True),
    ],
    ids=["another", "hash", "part", "no end", "large"],
)
def test_what_is_none_is_passed_over(event: Snapshot) -> None:
    assert recorded(event) is None

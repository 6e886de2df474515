"""Reading while checking: what is handed out held, and the first thing that does not hold ends it."""

import pytest

from hark.bundle import frame
from hark.bundle.walk import BundleFile
from hark.inspect import BROKEN, KILLED, RUNNING, SEALED, Reading
from tests.hark.cli import sample


def read(path, **options):
    with BundleFile(str(path)) as file:
        reading = Reading(file, **options)
        return [seen.seq for seen in reading], reading.end, reading.fault


@pytest.fixture
def bundle(tmp_path):
    return sample.write(tmp_path / "a.hark")


def starts(path):
    with BundleFile(str(path)) as file:
        return [placed.offset for placed in file.frames()]


def test_a_sealed_bundle_is_read_to_its_end(bundle):
    assert read(bundle) == (list(range(13)), SEALED, "")


def test_a_bundle_cut_at_any_byte_gives_the_events_before_the_cut(bundle):
    data, places = bundle.read_bytes(), starts(bundle)
    end_of_last = data.rindex(frame.LENGTH.pack(frame.FOOTER_SENTINEL))
    ends = [*places[1:], end_of_last]
    for size in range(places[0], len(data), 7):
        bundle.write_bytes(data[:size])
        seqs, end, fault = read(bundle)
        assert (len(seqs), end, fault) == (sum(stop <= size for stop in ends), KILLED, "")


def test_a_bit_flipped_in_any_part_of_a_frame_is_a_fault_of_that_event(bundle):
    data, places = bundle.read_bytes(), starts(bundle)
    head = frame.FRAME_HEAD.size
    for at, seen_before in (
        (places[4] + 12, 4),
        (places[4] + 30, 4),
        (places[4] + head, 4),
        (places[5] - 1, 4),
    ):
        bundle.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        seqs, end, fault = read(bundle)
        assert (len(seqs), end) == (seen_before, BROKEN)
        assert fault.startswith("event 4")


def test_an_event_taken_out_or_put_twice_is_called_a_splice(bundle):
    data, places = bundle.read_bytes(), starts(bundle)
    for spliced in (data[: places[4]] + data[places[5] :], data[: places[5]] + data[places[4] :]):
        bundle.write_bytes(spliced)
        _, end, fault = read(bundle)
        assert end == BROKEN
        assert "does not follow the one before it" in fault


def test_a_length_that_format_1_forbids_is_a_fault(bundle):
    data, places = bundle.read_bytes(), starts(bundle)
    bundle.write_bytes(data[: places[4]] + frame.LENGTH.pack(frame.MAX_PAYLOAD + 1) + data[places[4] + 4 :])
    seqs, end, fault = read(bundle)
    assert (len(seqs), end) == (4, BROKEN)
    assert "67108865 bytes" in fault


def test_a_footer_that_cannot_be_read_or_counts_wrong_is_a_fault(bundle):
    data = bundle.read_bytes()
    at = data.rindex(frame.LENGTH.pack(frame.FOOTER_SENTINEL)) + 8
    assert 0xA5 <= data[at] <= 0xA8  # a map: a signed run's has anchors and a checkpoint too
    assert data[at + 1 : at + 3] == b"\x01\x0d"
    for changed, words in ((b"\xff", "cannot be read"), (data[at : at + 2] + b"\x0c", "speaks of 12 events")):
        bundle.write_bytes(data[:at] + changed + data[at + len(changed) :])
        _, end, fault = read(bundle)
        assert end == BROKEN
        assert words in fault


def test_following_waits_for_more_until_the_writer_is_gone(tmp_path):
    writer = sample.opened(tmp_path / "w.hark")
    assert read(tmp_path / "w.hark")[1] == RUNNING
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            writer.append(sample.EVENTS[2])
        if len(waits) == 5:
            writer.close()

    seqs, end, _ = read(tmp_path / "w.hark", follow=True, wait=wait)
    assert (len(seqs), end) == (len(sample.EVENTS) + 1, KILLED)
    assert len(waits) == 5


def test_following_ends_at_the_seal(tmp_path):
    writer = sample.opened(tmp_path / "w.hark")

    def seal(_seconds):
        writer.seal("exit")
        writer.close()

    seqs, end, _ = read(tmp_path / "w.hark", follow=True, wait=seal)
    assert (len(seqs), end) == (len(sample.EVENTS) + 1, SEALED)

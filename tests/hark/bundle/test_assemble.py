import pytest
from blake3 import blake3

from hark.bundle import cbor, frame
from hark.bundle.assemble import Assembler
from hark.bundle.events import Input, RunEnd, RunStart, Seal, Unknown, decode_exactly
from hark.bundle.header import encode_header
from hark.errors import RecordError
from tests.hark.bundle.bundles import HEADER, KEY


def test_run_start_gets_the_hash_of_the_header_that_the_file_begins_with():
    assembler = Assembler(HEADER, b"secret")
    start = frame.unpack(assembler.add(RunStart(run_id=HEADER.run_id), 0))
    assert decode_exactly(1, start.payload).header_hash == blake3(encode_header(HEADER)).digest()
    assert assembler.preamble.endswith(encode_header(HEADER))


def test_times_never_go_backwards():
    assembler = Assembler(HEADER, b"secret")
    times = [frame.unpack(assembler.add(RunEnd(), time)).time for time in (5, 3, 9)]
    assert times == [5, 5, 9]


def test_salts_differ_by_event_and_by_secret_and_repeat_for_the_same():
    def salts(secret):
        assembler = Assembler(HEADER, secret)
        return [cbor.decode(frame.unpack(assembler.add(RunEnd(), 0)).payload)[63] for _ in range(3)]

    assert salts(b"one") == salts(b"one")
    assert len({*salts(b"one"), *salts(b"two")}) == 6
    assert all(len(salt) == 16 for salt in salts(b"one"))


def test_a_refused_event_changes_nothing():
    def guard(payload):
        if b"hunter2" in payload:
            raise PermissionError("a credential")

    assembler, untouched = Assembler(HEADER, b"s", guard), Assembler(HEADER, b"s")
    with pytest.raises(PermissionError):
        assembler.add(Input("stdin", b"hunter2"), 50)
    with pytest.raises(RecordError, match="larger than format 1 allows"):
        assembler.add(Input("stdin", bytes(frame.MAX_PAYLOAD)), 50)
    with pytest.raises(RecordError):
        assembler.add(Input("stdin", "text"), 50)
    assert assembler.count == 0
    assert assembler.add(RunEnd(), 7) == untouched.add(RunEnd(), 7)


@pytest.mark.parametrize("event", [Seal(), Unknown(32, b"\xa0")])
def test_only_sealing_writes_a_seal(event):
    with pytest.raises(RecordError, match="only sealing"):
        Assembler(HEADER, b"s").add(event, 0)


def test_the_seal_covers_kinds_and_times_of_all_before_it_and_its_own_time():
    assembler = Assembler(HEADER, b"s")
    first = assembler.add(RunStart(), 3)
    second = assembler.add(RunEnd(), 8)
    end, sealed = assembler.seal("exit", 11, 77, KEY)
    last = frame.unpack(end)
    seal = decode_exactly(32, last.payload)
    assert seal.frames_hash == blake3(first[frame.SEALED_PART] + second[frame.SEALED_PART]).digest()
    assert (seal.counts, seal.outcome, seal.own_time, last.time) == ({1: 1, 16: 1}, "exit", 11, 11)
    assert (sealed.leaf_count, sealed.tree_head.signed_at) == (3, 77)

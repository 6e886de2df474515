"""Who a program is, from a log that the agent writes, and the refreshes that process 1 keeps."""

import os
import struct

from hark.replay import clocklog
from launcher import pages
from launcher.rows import Recorded, Rows


def rows() -> tuple[Rows, int, int]:
    log, own = os.memfd_create("log"), os.memfd_create("own")
    os.ftruncate(log, pages.LOG_BYTES)
    return Rows(log, own), log, own


def test_a_program_is_who_its_process_was_and_what_it_starts_descends_from_it() -> None:
    first, log, _own = rows()
    os.pwrite(log, struct.pack("=II16s", 7, 3, b"p" * 16), pages.PROCESSES_AT + 24 * 7)
    lineage = first.become(7, 1)
    number, strays, noted = struct.unpack("=II16s", os.pread(log, 24, pages.PROCESSES_AT + 24 * 7))
    assert (number, strays, noted) == (7, 0, lineage)
    assert first.become(7, 1) != lineage  # another program of the same process
    second, log, _own = rows()
    os.pwrite(log, struct.pack("=II16s", 9, 0, b"p" * 16), pages.PROCESSES_AT + 24 * 9)
    assert second.become(9, 1) == lineage  # its number does not matter


def test_children_of_a_parent_without_a_shim_are_numbered_as_they_start() -> None:
    one, two = rows()[0], rows()[0]
    assert [one.become(5, 2), one.become(6, 2)] == [two.become(8, 2), two.become(5, 2)]
    assert one.become(20, 3) != two.become(30, 2)


def test_a_log_that_was_cut_off_is_no_fault() -> None:
    one, log, _own = rows()
    os.ftruncate(log, 0)
    assert len(one.become(5, 2)) == 16


def test_refreshes_are_kept_while_there_is_room() -> None:
    one, _log, own = rows()
    one.write_down(b"a" * 16, 5, 6)
    assert os.pread(own, 64, 0) == clocklog.RECORD.pack(b"a" * 16, 5, 6)
    one._written = pages.KERNEL_RECORDS
    one.write_down(b"b" * 16, 5, 6)
    assert os.fstat(own).st_size == 32


def test_recorded_refreshes_are_found_by_lineage_and_number() -> None:
    records = [(b"a" * 16, 4 << 56 | 3, 10), (b"a" * 16, 4 << 56 | 9, 11), (b"b" * 16, 1 << 56, 12)]
    file = clocklog.replayed(b"".join(clocklog.RECORD.pack(*one) for one in records))
    found = Recorded(file)
    assert found.find(b"a" * 16, 4 << 56) == (4 << 56 | 3, 10)
    assert found.find(b"a" * 16, 4 << 56 | 4) == (4 << 56 | 9, 11)
    assert found.find(b"a" * 16, 4 << 56 | 10) is None
    assert found.find(b"a" * 16, 1 << 56) is None  # of another kind
    assert found.find(b"b" * 16, 1 << 56) == (1 << 56, 12)
    for nothing in (b"", b"HARKCK1\0", b"x" * 100, file[:20]):
        assert Recorded(nothing).find(b"a" * 16, 0) is None

"""The page as the shims read it, and the log whatever the agent has made of it."""

import mmap
import os
import struct

import pytest

from launcher import pages
from launcher.pages import Log, Page


def memory(length: int = pages.PAGE_BYTES) -> int:
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, length)
    return descriptor


def test_the_page_has_the_layout_that_the_shims_read():
    descriptor = memory()
    Page(descriptor).begin(5, bytes(range(32)), pages.SEEDED | pages.CLOCKED)
    content = os.pread(descriptor, 64, 0)
    assert content[:32] == b"HARKPG1\0" + struct.pack("=QqII", 5, 0, 3, 0)
    assert content[32:] == bytes(range(32))


def test_no_clock_runs_backwards():
    descriptor = memory()
    page = Page(descriptor)
    page.begin(100, bytes(32), 0)
    for ns in (200, 150):
        page.set_wall(ns)
    for ns in (7, -5):
        page.move_monotonic(ns)
    assert page.wall_ns == 200
    assert struct.unpack("=Qq", os.pread(descriptor, 16, 8)) == (200, 7)


def test_a_clock_that_is_moved_beyond_what_it_holds_stays_at_its_end():
    descriptor = memory()
    page = Page(descriptor)
    page.begin(100, bytes(32), 0)
    for _ in range(4):
        page.move_monotonic((1 << 63) - 1)
    assert struct.unpack("=q", os.pread(descriptor, 8, 16)) == (1 << 62,)


def test_a_seed_of_another_length_is_refused():
    with pytest.raises(ValueError, match="32 bytes, not 3"):
        Page(memory()).begin(0, b"abc", 0)


def log_of(records: bytes = b"", paths: bytes = b"", taken: int | None = None) -> Log:
    descriptor = memory(pages.LOG_BYTES)
    os.pwrite(descriptor, struct.pack("=QQ", len(records) // 32 if taken is None else taken, len(paths)), 8)
    os.pwrite(descriptor, paths, pages._PATHS_AT)
    os.pwrite(descriptor, records, pages._RECORDS_AT)
    return Log(descriptor)


def test_what_was_logged_is_read_back():
    log = log_of(b"r" * 64, b"/bin/a\0/bin/b\0/bin/a\0")
    assert log.records() == (b"r" * 64, 0)
    assert log.programs() == ["/bin/a", "/bin/b"]


def test_the_log_is_read_from_a_number_on_and_so_far():
    log = log_of(b"a" * 32 + b"b" * 32 + b"c" * 32)
    assert log.records(1) == (b"b" * 32 + b"c" * 32, 0)
    assert log.records(1, 1) == (b"b" * 32, 0)
    assert log.records(7) == (b"", 0)


def test_numbers_beyond_the_room_are_counted_and_read_no_more():
    log = log_of(taken=(1 << 64) - 1)
    data, dropped = log.records()
    assert len(data) == 32 << 18
    assert dropped == (1 << 64) - 1 - (1 << 18)


def test_what_is_no_path_is_no_program():
    assert log_of(paths=b"relative\0\0/ok\0").programs() == ["/ok"]


def test_a_log_that_the_agent_cut_short_reads_as_zeros():
    log = log_of(b"r" * 32)
    os.ftruncate(log._descriptor, 0)
    assert log.records() == (b"", 0)
    assert log.programs() == []


def test_each_epoch_has_a_seed_that_stays_where_it_is():
    descriptor = memory()
    page = Page(descriptor)
    page.begin(5, b"0" * 32, 7)
    page.draw_from(b"1" * 32)
    page.draw_from(b"2" * 32)
    content = os.pread(descriptor, pages.PAGE_BYTES, 0)
    assert pages.epoch_in(content) == (2, b"2" * 32)
    assert content[32:128] == b"0" * 32 + b"1" * 32 + b"2" * 32
    with pytest.raises(ValueError, match="3 bytes"):
        page.draw_from(b"abc")


def test_no_seed_is_written_beyond_the_last():
    descriptor = memory()
    page = Page(descriptor)
    page.begin(5, bytes(32), 7)
    for number in range(1, pages.EPOCHS):
        page.draw_from(bytes([number]) * 32)
    page.go_live(3)
    with pytest.raises(ValueError, match="no seed"):
        page.draw_from(b"x" * 32)
    content = os.pread(descriptor, pages.PAGE_BYTES, 0)
    assert pages.epoch_in(content) == (pages.EPOCHS - 1, bytes([pages.EPOCHS - 1]) * 32)
    assert content[4064:] == struct.pack("=q", 3) + bytes(24)


def test_a_page_says_when_what_comes_in_next_came_in():
    descriptor = memory()
    page = Page(descriptor)
    said = []
    for at in (5, 0, None):
        page.set_next(at)
        said += struct.unpack_from("=Q", os.pread(descriptor, pages.PAGE_BYTES, 0), 4072)
    assert said == [5, 1, 1 << 62]  # never 0, which says that it is not known


def test_a_page_that_goes_live_is_no_replays_any_more():
    descriptor = memory()
    page = Page(descriptor)
    page.begin(5, bytes(32), pages.SEEDED | pages.CLOCKED | pages.REPLAYED)
    page.go_live(-7)
    content = os.pread(descriptor, pages.PAGE_BYTES, 0)
    assert struct.unpack_from("=II", content, 24) == (pages.SEEDED | pages.CLOCKED, 0)
    assert struct.unpack_from("=q", content, 4064) == (-7,)


def test_process_1_reads_what_the_supervisor_says() -> None:
    descriptor = memory()
    page = Page(descriptor)
    page.begin(5, bytes(32), pages.CLOCKED | pages.REPLAYED)
    shown = pages.Shown(mmap.mmap(descriptor, pages.PAGE_BYTES, prot=mmap.PROT_READ))
    assert (shown.wall_ns, shown.flags) == (5, pages.CLOCKED | pages.REPLAYED)
    page.set_wall((1 << 64) - 1)
    page.go_live(-3)
    assert (shown.wall_ns, shown.wall_offset_ns, shown.flags) == (1 << 62, -3, pages.CLOCKED)


def test_what_process_1_keeps_is_read_in_whole_records() -> None:
    kept = memory(0)
    log = Log(memory(pages.LOG_BYTES), kept)
    assert log.kernel_records() == (b"", False)
    os.pwrite(kept, bytes(range(70)), 0)
    assert log.kernel_records() == (bytes(range(64)), False)
    assert log.kernel_records(1) == (bytes(range(32, 64)), False)
    os.ftruncate(kept, pages.KERNEL_LOG_BYTES)
    assert log.kernel_records(since=pages.KERNEL_RECORDS) == (b"", True)
    log.close()
    log.close()
    assert Log(memory(pages.LOG_BYTES)).kernel_records() == (b"", False)

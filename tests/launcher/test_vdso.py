"""The vDSO as this kernel has it, and what is written over it."""

import ctypes
import mmap
import os
import struct
import time

import pytest

from launcher import vdso

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="of x86-64 alone")


def changed(image: vdso.Image, key: int) -> bytes:
    data = bytearray(image.data)
    for offset, new in image.changes(key, clock=True, draws=True):
        data[offset : offset + len(new)] = new
    return bytes(data)


def test_every_name_of_a_clock_leads_to_the_code_and_other_clocks_go_on() -> None:
    image = vdso.own()
    again = vdso.Image.parse(changed(image, 7))
    start, room = image.functions["gettimeofday"]
    for name in ("clock_gettime", "gettimeofday", "time"):
        assert len(image.symbols[name]) == 2  # with and without __vdso_
        assert start <= again.functions[name][0] < start + room
    at, length = image.functions["clock_gettime"]
    assert again.data[at : at + length] == image.data[at : at + length]


@pytest.mark.parametrize("clock", [time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_PROCESS_CPUTIME_ID])
def test_a_jump_to_the_kernels_own_function_arrives(clock: int) -> None:
    """By running a copy: what is a wall clock makes the system call, which nobody notifies of here."""
    image = vdso.own()
    at = vdso.Image.parse(changed(image, 7)).functions["clock_gettime"][0]
    tests = image.changes(7, clock=True, draws=False)[0][1][vdso.CALL_BYTES :]
    jump = tests.index(b"\xe9")
    (distance,) = struct.unpack_from("<i", tests, jump + 1)
    assert at + jump + 5 + distance == image.functions["clock_gettime"][0]
    room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(tests[:jump] + b"\xe9" + struct.pack("<i", 64) + tests[jump + 5 :])
    room[jump + 5 + 64 : jump + 5 + 70] = b"\xb8\x05\x00\x00\x00\xc3"  # mov eax, 5; ret
    place = ctypes.addressof(ctypes.c_char.from_buffer(room))
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(place)
    spot = (ctypes.c_int64 * 2)()
    assert function(clock, ctypes.addressof(spot)) == 5
    for wall in (time.CLOCK_REALTIME, time.CLOCK_TAI):
        assert function(wall, ctypes.addressof(spot)) == 0
        assert abs(spot[0] - time.time()) < 60


def test_the_key_is_read_back_and_nothing_else_is_one() -> None:
    image = vdso.own()
    place = image.code_at
    assert vdso.key_in(changed(image, 0xFFFFFFFF)[place : place + vdso.CALL_BYTES]) == 0xFFFFFFFF
    assert vdso.key_in(image.data[place : place + vdso.CALL_BYTES]) is None
    assert vdso.key_in(b"") is None


def test_an_image_that_cannot_be_read_is_none() -> None:
    image = vdso.own().data
    for data in (b"", image[:40], image[:200], b"\x7fELF\x01" + image[5:], bytes(8192)):
        with pytest.raises(vdso.NoImageError):
            vdso.Image.parse(data)
    for at in range(64):  # its header, a byte at a time
        broken = image[:at] + bytes([image[at] ^ 0xFF]) + image[at + 1 :]
        try:
            vdso.Image.parse(broken)
        except vdso.NoImageError:
            continue


def test_a_function_without_room_is_refused_and_not_run_over() -> None:
    image = vdso.own()
    small = vdso.Image(image.data, image.symbols, {**image.functions, "gettimeofday": (image.code_at, 20)})
    with pytest.raises(vdso.NoImageError):
        small.changes(1, clock=True, draws=False)
    assert small.changes(1, clock=False, draws=False) == []

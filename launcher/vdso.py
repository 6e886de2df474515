"""What a program without a shim finds in its vDSO instead of the functions that read the wall clock.

The vDSO is code that the kernel maps into each program, so that a read of the clock is no system call. A
static program and Go look its functions up in the symbol table of that image, after they have set up the base
of their thread-local storage. Until then process 1 can have the table lead elsewhere: to a few instructions,
written over the function for `gettimeofday`, that make the system call, which the filter notifies of. They go
to the kernel's own function for every clock but the wall clock, so the monotonic ones cost what they did.

Only this process's own image is parsed, and a write goes nowhere unless the bytes there equal it (who calls
this compares). x86-64 alone: on arm64 no system call tells of a program's start. The layout is ELF's (System
V gABI, chapters 4 and 5); the vDSO's names and its one load segment at 0 are in vdso(7) and
arch/x86/entry/vdso.
"""

import ctypes
import errno
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from launcher.numbers import NUMBERS, X86_64

SET_FS: Final = 0x1002
"""ARCH_SET_FS (asm/prctl.h)."""
MARK: Final = 0x6B726168
"""In the third argument of a call that comes from here; the fourth is the key of the program."""
WALL_CLOCKS: Final = (0, 5, 8, 11)
"""CLOCK_REALTIME, _COARSE, _ALARM and CLOCK_TAI (linux/time.h)."""

IMAGE_BYTES: Final = 1 << 16  # several times any kernel's
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_VALUE_IN_SYMBOL: Final = 8
_DYNSYM: Final = 11
_JUMP_BYTES: Final = 5
_CLOCKS: Final = ("gettimeofday", "clock_gettime", "time")  # the first one is where the code goes
_NAMES: Final = (*_CLOCKS, "getrandom")
_NO_RANDOM: Final = b"\xb8" + struct.pack("<i", -errno.ENOSYS) + b"\xc3"
"""mov eax, -ENOSYS; ret: libc and Go then make the system call."""


class NoImageError(Exception):
    """This kernel's vDSO is none that can be led elsewhere; the words say why."""


@dataclass(frozen=True, slots=True)
class Image:
    """This kernel's vDSO: its bytes, and where its functions and their symbols are."""

    data: bytes
    symbols: Mapping[str, tuple[int, ...]]
    """By name without `__vdso_`: where their addresses stand in the table."""
    functions: Mapping[str, tuple[int, int]]
    """Address and length."""

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a vDSO. Raises NoImageError."""
        symbols: dict[str, tuple[int, ...]] = {}
        functions: dict[str, tuple[int, int]] = {}
        try:
            for name, at, address, length in _functions(data):
                plain = name.removeprefix("__vdso_")
                if plain in _NAMES:
                    symbols[plain] = (*symbols.get(plain, ()), at + _VALUE_IN_SYMBOL)
                    functions[plain] = address, length
        except (struct.error, IndexError, ValueError, OverflowError):
            raise NoImageError("this kernel's vDSO cannot be read") from None
        if not {"clock_gettime", "gettimeofday"} <= functions.keys():
            raise NoImageError("this kernel's vDSO has no functions for the clock")
        return cls(data, symbols, functions)

    @property
    def code_at(self) -> int:
        """Where the first call of a program that was led elsewhere is."""
        return self.functions["gettimeofday"][0]

    def changes(self, key: int, *, clock: bool, draws: bool) -> list[tuple[int, bytes]]:
        """Offset and bytes of each change for the program known by `key`. Raises NoImageError."""
        found: list[tuple[int, bytes]] = []
        if draws and "getrandom" in self.functions:
            found.append((self.functions["getrandom"][0], _NO_RANDOM))
        if not clock:
            return found
        start, room = self.code_at, self.functions["gettimeofday"][1]
        code = b""
        for name in (name for name in _CLOCKS if name in self.functions):
            entry = start + len(code)
            code += self._clock(name, entry, key)
            found += [(at, struct.pack("<Q", entry)) for at in self.symbols[name]]
        if len(code) > room:
            raise NoImageError("this kernel's vDSO has no room for another clock")
        return [(start, code), *found]

    def _clock(self, name: str, at: int, key: int) -> bytes:
        call = _call(NUMBERS[name][X86_64] or 0, key)
        if name != "clock_gettime":
            return call
        # cmp edi, clock; je call, for each; jmp to the kernel's own.
        tests = b""
        for left, clock in zip(reversed(range(len(WALL_CLOCKS))), WALL_CLOCKS, strict=True):
            tests += bytes((0x83, 0xFF, clock, 0x74, 5 * left + _JUMP_BYTES))
        after = at + len(tests) + _JUMP_BYTES
        return tests + b"\xe9" + struct.pack("<i", self.functions[name][0] - after) + call


_CALL: Final = struct.Struct("<BIBIHI3s")
CALL_BYTES: Final = _CALL.size


def _call(number: int, key: int) -> bytes:
    """mov eax, number; mov edx, MARK; mov r10d, key; syscall; ret: a function may change all of these."""
    return _CALL.pack(0xB8, number, 0xBA, MARK, 0xBA41, key, b"\x0f\x05\xc3")


def key_in(data: bytes) -> int | None:
    """The key in what stands at `Image.code_at` of a program; None where that is none of ours."""
    if len(data) != CALL_BYTES:
        return None
    _mov, number, _mov, mark, _mov, key, _rest = _CALL.unpack(data)
    return key if mark == MARK and data == _call(number, key) else None


def _functions(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Name, place in the table, address and length of each symbol that has an address."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise NoImageError("this kernel has no vDSO")
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [_SECTION.unpack_from(data, sections + size * index) for index in range(min(count, 64))]
    for _name, kind, _flags, _address, offset, length, link, *_rest in headers:
        if kind != _DYNSYM:
            continue
        strings = headers[link][4]
        for at in range(offset, offset + length, _SYMBOL.size):
            name, _info, _other, _section, address, bytes_long = _SYMBOL.unpack_from(data, at)
            if address and bytes_long:
                end = data.index(b"\0", strings + name)
                yield data[strings + name : end].decode(), at, address, bytes_long


def own() -> Image:
    """The image that this process has. Raises NoImageError."""
    with open("/proc/self/maps", "rb") as file:
        for line in file:
            if line.rstrip().endswith(b"[vdso]"):
                start, end = (int(part, 16) for part in line.split()[0].split(b"-"))
                return Image.parse(ctypes.string_at(start, min(end - start, IMAGE_BYTES)))
    raise NoImageError("this kernel has no vDSO")

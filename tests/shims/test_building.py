"""The preload builds for the other architecture that hark knows, and says what this host's does.

Needs a cross compiler: `apt-get install gcc-aarch64-linux-gnu`. What is built is not run here. Not for musl: the
preload replaces functions of glibc's, and what musl links is reached by the kernel's notification alone.
"""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from hark.repeatable.shim_library import _FLAGS, _LIBRARIES, source_folder, sources
from tests.support.preload import built

NAMES = ("aarch64-linux-gnu-gcc", *(f"aarch64-linux-gnu-gcc-{version}" for version in range(15, 9, -1)))
CROSS = next((found for name in NAMES if (found := shutil.which(name))), None)
AARCH64 = 183  # elf.h: EM_AARCH64

needed = pytest.mark.skipif(CROSS is None, reason="needs gcc-aarch64-linux-gnu")


def compiled(folder: Path, parts: dict[str, bytes]) -> subprocess.CompletedProcess[bytes]:
    for name, content in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    argv = [str(CROSS), "-Wall", "-Wextra", "-Werror", *_FLAGS, "-o", "preload.so", "preload.c", *_LIBRARIES]
    return subprocess.run(argv, cwd=folder, capture_output=True, check=False)


def exported(library: bytes) -> set[bytes]:
    """The names that a library defines for others, by its section .dynsym."""
    at, size, count = struct.unpack_from("<Q", library, 40)[0], *struct.unpack_from("<HH", library, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, at + number * size) for number in range(count)]
    (symbols,) = [section for section in sections if section[1] == 11]  # SHT_DYNSYM
    names = library[sections[symbols[6]][4] :]
    found = set()
    for entry in range(symbols[4], symbols[4] + symbols[5], symbols[9]):
        name, _info, _other, section = struct.unpack_from("<IBBH", library, entry)
        if section and name:
            found.add(names[name : names.index(b"\0", name)])
    return found


@needed
def test_it_builds_for_arm64_without_a_warning_and_replaces_the_same_functions(tmp_path: Path) -> None:
    done = compiled(tmp_path, sources(source_folder()))
    assert done.returncode == 0, done.stderr.decode()
    library = (tmp_path / "preload.so").read_bytes()
    assert struct.unpack_from("<H", library, 18) == (AARCH64,)
    assert exported(library) == exported(built()[1])
    assert {b"clock_gettime", b"getrandom"} <= exported(library)


@needed
def test_without_the_numbers_of_that_architecture_it_does_not_build(tmp_path: Path) -> None:
    parts = sources(source_folder())
    ground = parts["preload/ground.h"]
    assert b"defined(__aarch64__)" in ground
    parts["preload/ground.h"] = ground.replace(b"defined(__aarch64__)", b"defined(__no_such__)")
    assert compiled(tmp_path, parts).returncode != 0

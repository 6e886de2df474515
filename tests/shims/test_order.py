"""What the preload makes the same beside clock and chance: the order of directories, and names of files."""

import pytest

from tests.shims.rig import SEED, python, shell

pytestmark = pytest.mark.attack

STREAM = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = libc.readdir64.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
for name in ("readdir", "readdir64", "rewinddir", "closedir", "telldir"):
    getattr(libc, name).argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
os.mkdir("many")
for number in range(300):
    open(f"many/{(number * 7919) % 300:03}", "w").close()
def named(entry):
    return ctypes.string_at(entry + 19).decode() if entry else None
"""
"""19 is where the name stands in the structure on 64 bits."""


def test_a_directory_is_listed_by_name() -> None:
    """In the order of the file system it is not, which the control shows."""
    program = f"{STREAM}\nprint(os.listdir('many') == sorted(os.listdir('many')))"
    assert python(program).out == "True\n"
    assert python(f"{program}", env={"LD_PRELOAD": ""}).out == "False\n"


def test_a_stream_can_be_told_sought_and_rewound() -> None:
    program = f"""{STREAM}
stream = libc.opendir(b"many")
first = [named(libc.readdir(stream)) for _ in range(10)]
place = libc.telldir(stream)
rest = [named(libc.readdir64(stream)) for _ in range(292)]
print(first[:3], len(first + rest), rest[-1], named(libc.readdir(stream)))
libc.seekdir(stream, place)
print(named(libc.readdir(stream)) == rest[0])
open("many/000-new", "w").close()
libc.rewinddir(stream)
print([named(libc.readdir(stream)) for _ in range(4)])
libc.closedir(stream)
"""
    said = python(program).out.splitlines()
    assert said == ["['.', '..', '000'] 302 299 None", "True", "['.', '..', '000', '000-new']"]


def test_more_streams_than_there_is_room_for_are_read_all_the_same() -> None:
    program = f"""{STREAM}
streams = [libc.opendir(b"many") for _ in range(400)]
for stream in streams:
    libc.readdir(stream)
counts = set()
for stream in streams:
    count = 1
    while libc.readdir(stream): count += 1
    counts.add(count)
    libc.closedir(stream)
print(counts, os.listdir("many") == sorted(os.listdir("many")))
"""
    assert python(program).out == "{302} True\n"


def test_what_the_kernel_lists_keeps_its_order() -> None:
    program = "import os; found = [int(n) for n in os.listdir('/proc') if n.isdigit()]; print(found == sorted(found))"
    assert (
        shell(f'for n in 1 2 3 4 5 6 7 8 9 10 11; do sleep 5 & done; python3 -c "{program}"').out == "True\n"
    )


def test_names_that_mktemp_makes_are_the_seeds() -> None:
    script = "mktemp -u XXXXXXXX; mktemp XXXXXXXX; mktemp -d XXXXXXXX; mktemp -d XXXXXXXX"
    first = shell(script).out.split()
    assert shell(script).out.split() == first
    assert len(set(first)) == 4
    assert shell(script, seed=SEED[::-1]).out.split() != first

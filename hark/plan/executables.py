"""The programs that `exec` names, as files: what the kernel is told that may be executed, and nothing else.

An entry is a path, a name that is looked up in the agent's PATH as its shell would, or a path whose last
part has a `*` in it. A program's loader (the ELF interpreter) is added, since the kernel executes it too; the
interpreter that a script names is not, so it must stand in the list as well. The command that the operator
gave is theirs to start: its whole chain is added.

Not prevented by the list: that an allowed interpreter or loader runs what it can read. Programs in `bin`,
`sbin`, `games` and `libexec` that are not listed cannot be read either (launcher.landlock); what the agent
writes itself can.
"""

import glob
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from hark.bundle.regular import open_regular
from hark.errors import PolicyError
from hark.places import expanded, within
from hark.plan.command import CommandError, find_command
from hark.shebang import behind_env, shebang
from launcher.plan import Grant

MAX_PROGRAMS: Final = 4096  # each is a rule that the kernel walks through
_MAX_CHAIN: Final = 5  # scripts that interpret scripts; the kernel stops there
_HEAD_BYTES: Final = 1 << 12  # the program headers follow the ELF header in everything that linkers write
_ELF64_LITTLE: Final = b"\x7fELF\x02\x01"  # both architectures that hark knows
_PT_INTERP: Final = 3


def resolve(
    entries: Iterable[str], command: str, path: str, home: str, grants: Iterable[Grant]
) -> tuple[str, ...]:
    """Every file that may be executed, canonical. Raises PolicyError for an entry that stands for none.

    `command` is the absolute path of what the operator starts, `path` the agent's PATH.
    """
    seen = [os.path.realpath(grant.path) for grant in grants]
    found: dict[str, None] = {}
    for program in _chain(command, path):
        found |= dict.fromkeys(_with_loader(program))
    for entry in entries:
        for program in programs(entry, path, home):
            if not within(program, seen):
                raise PolicyError(
                    f"exec names {program}, which the agent does not see; show it with read_paths"
                )
            found |= dict.fromkeys(_with_loader(program))
    if len(found) > MAX_PROGRAMS:
        raise PolicyError(f"exec stands for {len(found)} programs, more than {MAX_PROGRAMS}; name fewer")
    return tuple(sorted(found))


def programs(entry: str, path: str, home: str) -> list[str]:
    """Return what one entry stands for. Raises PolicyError where that is nothing."""
    if "/" not in entry:
        if "*" in entry:
            raise PolicyError(
                f'exec names "{entry}", a pattern without its directory; write the directory too'
            )
        try:
            return [os.path.realpath(find_command(entry, "/", path, home, {}).executable)]
        except CommandError as error:
            raise PolicyError(f"exec names {error}; correct the name, or write its path") from None
    where = expanded(entry, home)
    folder, _, name = where.rpartition("/")
    if "*" in folder:
        raise PolicyError(f'exec names "{entry}": a * may stand in the last part of a path only')
    found = glob.glob(f"{glob.escape(folder)}/{name}") if "*" in name else [where]
    usable = [os.path.realpath(file) for file in sorted(found) if _is_program(file)]
    if not usable:
        raise PolicyError(f"exec names {entry}, which is no executable file; correct it or leave it out")
    return usable


def _is_program(file: str) -> bool:
    try:
        status = os.stat(file)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o111)


def _chain(command: str, path: str) -> Iterator[str]:
    """The command's file, the interpreter that its first line names, and so on; behind env(1), both."""
    program = command
    for _ in range(_MAX_CHAIN):
        program = os.path.realpath(program)
        yield program
        words = shebang(_head(program))
        if not words:
            return
        program = words[0]
        if (named := behind_env(words)) is not None:
            yield os.path.realpath(program)
            program = find_command(named, "/", path, "/", {}).executable


def _head(program: str) -> bytes:
    try:
        with open(open_regular(program), "rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""  # it can be executed without being readable, and then has no loader that we could see


def _with_loader(program: str) -> Iterator[str]:
    yield program
    loader = elf_interpreter(_head(program))
    if loader and os.path.isfile(loader):
        yield os.path.realpath(loader)


def elf_interpreter(head: bytes) -> str:
    """The path in an ELF file's PT_INTERP, or nothing; `head` is the file's beginning and may be hostile."""
    if not head.startswith(_ELF64_LITTLE):
        return ""
    try:
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for number in range(count):
            kind, _flags, offset = struct.unpack_from("<IIQ", head, table + number * size)
            if kind == _PT_INTERP:
                (length,) = struct.unpack_from("<Q", head, table + number * size + 32)
                return os.fsdecode(head[offset : offset + length].split(b"\0")[0])
    except (struct.error, OverflowError):
        return ""
    return ""

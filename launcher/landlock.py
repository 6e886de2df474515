"""Landlock: the agent may read and write what the view's layers say, and nothing else that is mounted.

Where the plan names executables, the right to execute is theirs alone: it governs execve and the loader that
the kernel executes for it, not the mapping of libraries. The kernel tells of a refusal by EACCES and in the
host's audit log, so hark does not hear of it.

File rules come from the landlock package; scopes (signals and abstract sockets stay inside the agent's tree)
are beyond it and go by an own ruleset where the kernel has them (ABI 6). There are no TCP rules: a refused
connect would never reach the gateway, where attempts are judged and recorded.
"""

import ctypes
import fcntl
import os
import stat
import struct
from typing import Final

from landlock import FSAccess, Ruleset, landlock_abi_version  # type: ignore[import-untyped]

from launcher import kernel
from launcher.intake import is_copy
from launcher.pages import LOG
from launcher.view import Kind, View

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_PATH_BENEATH: Final = 1
SCOPES_ABI: Final = 6  # Linux 6.12
_SCOPE_ABSTRACT_SOCKETS: Final = 1
_SCOPE_SIGNALS: Final = 2

_READ: Final = FSAccess.READ_FILE | FSAccess.READ_DIR | FSAccess.EXECUTE
_LIST: Final = FSAccess.READ_DIR
_PROGRAM_FOLDERS: Final = ("bin", "sbin", "games", "libexec")
_NO_DEVICES: Final = FSAccess.MAKE_CHAR | FSAccess.MAKE_BLOCK


def abi() -> int:
    """The kernel's Landlock ABI; raises OSError where it has none or it is switched off."""
    ctypes.set_errno(0)  # the package takes any errno left over for its own failure
    return int(landlock_abi_version())


def _write() -> FSAccess:
    return FSAccess.all() & ~_NO_DEVICES


def _fixed() -> dict[str, FSAccess]:
    """What the launcher itself puts into every view."""
    device = FSAccess.all_file() & ~FSAccess.EXECUTE
    return {
        "/": _LIST,
        "/etc": _READ,
        "/run": _READ,
        "/proc": FSAccess.READ_FILE | FSAccess.READ_DIR | FSAccess.WRITE_FILE,
        "/dev": device | _LIST,
        "/dev/shm": _write(),  # noqa: S108  (the agent's own)
    }


def _rules(view: View, shown: list[str]) -> dict[str, FSAccess]:
    rules = _fixed()
    for layer in view.layers:
        rules[layer.path] = _READ if layer.kind is Kind.READ else _write()
    for path in shown:
        rules.setdefault(path, _READ)
    if os.path.exists(LOG):
        rules[LOG] = FSAccess.READ_FILE | FSAccess.WRITE_FILE
    return rules


def _executing_only(executables: tuple[str, ...], view: View, shown: list[str]) -> dict[str, FSAccess]:
    """The same, where only `executables` and what the launcher wrote may be executed.

    Other programs may not even be read: a loader or an interpreter that is listed would run them.
    """
    kept = {path: rights & ~FSAccess.EXECUTE for path, rights in _rules(view, []).items()}
    for layer in view.layers:
        if layer.kind is Kind.READ:
            kept |= _but_programs(layer.path)
    for path in executables:
        kept[path] = kept.get(path, FSAccess(0)) | FSAccess.READ_FILE | FSAccess.EXECUTE
    return kept | dict.fromkeys(shown, _READ)


def _but_programs(path: str) -> dict[str, FSAccess]:
    """Rules that read what is at and below `path`, except for the files in folders of programs."""
    if os.path.basename(path) in _PROGRAM_FOLDERS:
        return {path: _LIST}
    inner = [entry.path for entry in _entries(path) if _holds_programs(entry)]
    if not inner:
        return {path: _READ & ~FSAccess.EXECUTE}
    rules = {path: _LIST}
    for entry in _entries(path):
        if entry.path in inner:
            rules |= _but_programs(entry.path)
        elif not entry.is_symlink():  # what a link leads to has its own rule
            rules[entry.path] = _READ & ~FSAccess.EXECUTE
    return rules


def _holds_programs(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder of programs, or has one in it as /usr/local has."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    below = [entry, *(inner for inner in _entries(entry.path) if inner.is_dir(follow_symlinks=False))]
    return any(folder.name in _PROGRAM_FOLDERS for folder in below)


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(path))
    except OSError:
        return []  # a single file, or what the agent cannot list either


def _standard_streams() -> dict[int, FSAccess]:
    """Files given as standard streams may be opened again by /dev/stdout, as far as they were open."""
    by_mode = {
        os.O_RDONLY: FSAccess.READ_FILE,
        os.O_WRONLY: FSAccess.WRITE_FILE | FSAccess.TRUNCATE,
        os.O_RDWR: FSAccess.READ_FILE | FSAccess.WRITE_FILE | FSAccess.TRUNCATE,
    }
    rights = {}
    for descriptor in range(3):
        if is_copy(descriptor):
            continue  # on no mount of ours: there is no rule for it, and none is needed
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind in (stat.S_IFREG, stat.S_IFCHR):
            mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
            rights[descriptor] = by_mode[mode] & FSAccess.all_file()
    return rights


def restrict(
    view: View, shown: list[str], *, nested: bool = False, executables: tuple[str, ...] | None = None
) -> None:
    """Confine the calling process for good; `shown` are single files that the launcher wrote for it.

    Under file rules the kernel refuses every mount, in namespaces of the agent's own too: `nested` leaves
    the files to the mounts alone.
    """
    supports_scopes = abi() >= SCOPES_ABI
    if not nested:
        _restrict_files(view, shown, executables)
    if supports_scopes:
        _restrict_scopes(FSAccess(0) if nested else FSAccess.REFER)


def _restrict_files(view: View, shown: list[str], executables: tuple[str, ...] | None) -> None:
    rules = _rules(view, shown) if executables is None else _executing_only(executables, view, shown)
    ruleset = Ruleset()
    files = FSAccess.all_file()
    for path, rights in rules.items():
        allowed = rights if os.path.isdir(path) else rights & files
        ruleset.allow(path, rules=allowed)
    for descriptor, rights in _standard_streams().items():
        ruleset.allow(f"/proc/self/fd/{descriptor}", rules=rights)
    ruleset.apply()


def _restrict_scopes(moves: FSAccess) -> None:
    # A ruleset that does not mention moves between folders forbids them where there are file rules, so
    # this one then allows them everywhere and leaves the decision to those.
    attributes = struct.pack("QQQ", moves, 0, _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    ruleset = kernel.syscall(_CREATE_RULESET, "landlock_create_ruleset", attributes, len(attributes), 0)
    if moves:
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", moves, root)
        kernel.syscall(_ADD_RULE, "landlock_add_rule", ruleset, _PATH_BENEATH, rule, 0)
        os.close(root)
    kernel.syscall(_RESTRICT_SELF, "landlock_restrict_self", ruleset, 0)
    os.close(ruleset)

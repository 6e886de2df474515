"""Hosts that cannot confine an agent, made from this one: each in a process of its own, for real.

A condition is a function that changes the calling process (and nothing else) into one on such a host: with
a system call filter as a container's, settings of its own namespaces, another /proc or /sys, or lower limits.
It is called as whoever runs the tests, root or not, and leaves an ordinary user.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from launcher import kernel
from tests.launcher.rig import become_ordinary

type Condition = Callable[[], None]

_X86: Final = platform.machine() == "x86_64"
NUMBERS: Final = {
    "mount": 165 if _X86 else 40,
    "umount2": 166 if _X86 else 39,
    "pivot_root": 155 if _X86 else 41,
    "setns": 308 if _X86 else 268,
    "unshare": 272 if _X86 else 97,
    "clone": 56 if _X86 else 220,
    "socket": 41 if _X86 else 198,
    "seccomp": 317 if _X86 else 277,
    "keyctl": 250 if _X86 else 219,
    "bpf": 321 if _X86 else 280,
    "open_tree": 428,
    "move_mount": 429,
    "mount_setattr": 442,
    "clone3": 435,
    "pidfd_open": 434,
    "landlock_create_ruleset": 444,
}
_LOAD, _EQUAL, _BITS, _GIVE = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000

type Rule = tuple[str, int, tuple[tuple[int, str, int], ...]]
"""A call, the error it is answered with, and what must hold of its arguments: index, `=` or `&`, value."""


def refuse(*rules: Rule) -> None:
    """Have the kernel answer these calls of this process, and of all it starts, with an error."""
    block = [(_LOAD, 0, 0, 0)]
    for name, number, conditions in rules:
        tests = []
        for position, (index, how, value) in enumerate(conditions):
            left = 2 * (len(conditions) - position - 1) + 1
            tests += [(_LOAD, 0, 0, 16 + 8 * index), (_EQUAL if how == "=" else _BITS, 0, left, value)]
        body = [*tests, (_GIVE, 0, 0, _ERRNO | number)]
        block += [(_EQUAL, 0, len(body) + 1, NUMBERS[name]), *body, (_LOAD, 0, 0, 0)]
    block.append((_GIVE, 0, 0, _ALLOW))
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in block)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(block), ctypes.addressof(buffer))
    kernel.no_new_privileges()
    kernel.prctl("PR_SET_SECCOMP", 22, 2, ctypes.create_string_buffer(header))


def refusing(*rules: Rule) -> Condition:
    """As an ordinary user on a host whose kernel or filter answers so."""

    def make() -> None:
        become_ordinary()
        refuse(*rules)

    return make


NAMESPACES: Final = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET."""


def docker_filter() -> None:
    """What Docker's default profile forbids a process without CAP_SYS_ADMIN, of the calls that matter here.

    moby/profiles, seccomp/default.json: these calls and clone's namespace flags are allowed with
    CAP_SYS_ADMIN alone; all others get EPERM, clone3 gets ENOSYS.
    """
    calls = (
        "mount",
        "umount2",
        "pivot_root",
        "setns",
        "unshare",
        "open_tree",
        "move_mount",
        "mount_setattr",
        "bpf",
    )
    refuse(
        *((name, errno.EPERM, ()) for name in (*calls, "keyctl")),
        *(("clone", errno.EPERM, ((0, "&", flag),)) for flag in NAMESPACES),
        ("clone3", errno.ENOSYS, ()),
    )


def docker_default() -> None:
    """As an ordinary user in a container with Docker's default profile."""
    become_ordinary()
    docker_filter()


DOCKER_CAPABILITIES: Final = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
"""chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod
audit_write setfcap: moby, oci/caps/defaults.go."""


def keep_capabilities(kept: Iterable[int]) -> None:
    """Root without the others, as a container's root."""
    allowed = set(kept)
    for capability in range(64):
        if capability not in allowed:
            kernel._libc.prctl(24, ctypes.c_ulong(capability), 0, 0, 0)
    low = sum(1 << number for number in allowed)
    header = struct.pack("Ii", 0x20080522, 0)
    kernel._check(kernel._libc.capset(header, struct.pack("IIIIII", low, low, low, 0, 0, 0)), "capset")


def docker_root(*more: int) -> Condition:
    """As root in a container without a filter, with Docker's default capabilities and these."""
    return lambda: keep_capabilities((*DOCKER_CAPABILITIES, *more))


def docker_user() -> None:
    """As an ordinary user in a container without a filter: what Docker leaves of capabilities is root's."""
    for capability in set(range(64)) - set(DOCKER_CAPABILITIES):
        kernel._libc.prctl(24, ctypes.c_ulong(capability), 0, 0, 0)
    become_ordinary()


def own_mounts() -> None:
    """A mount namespace of this process's own, as root or through a user namespace."""
    if os.geteuid() == 0:
        kernel.unshare(os.CLONE_NEWNS, "mounts")
    else:
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS, "mounts")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(text)
    kernel.mount("", "/", kernel.MS_REC | kernel.MS_PRIVATE)


def bind(source: str, target: str) -> None:
    result = kernel._libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(0x1000), None)
    kernel._check(result, f"bind {target}")


def covering(path: str, *, files: dict[str, str] | None = None) -> Condition:
    """As an ordinary user where `path` is covered, by nothing or by a directory with these files."""

    def make() -> None:
        own_mounts()
        if files is None:
            bind("/dev/null", path)
        else:
            kernel.mount("tmpfs", path, 0, "mode=755")
            for name, text in files.items():
                Path(path, name).parent.mkdir(parents=True, exist_ok=True)
                Path(path, name).write_text(text)
        become_ordinary()

    return make


def masked_proc() -> None:
    """As an ordinary user in a container: Docker covers parts of /proc and makes others read-only."""
    own_mounts()
    for name in ("kcore", "keys", "timer_list"):
        if os.path.exists(f"/proc/{name}"):
            bind("/dev/null", f"/proc/{name}")
    become_ordinary()


def proc_with(options: str) -> Condition:
    """As an ordinary user under a /proc with these mount options. Only root can make one."""

    def make() -> None:
        own_mounts()
        kernel.mount("proc", "/proc", 0, options)
        become_ordinary()

    return make


def without_proc() -> None:
    """As an ordinary user where nothing is mounted on /proc."""
    own_mounts()
    kernel.mount("tmpfs", "/proc", 0, "mode=755")
    become_ordinary()


def namespace_limit(kind: str) -> Condition:
    """As an ordinary user where no namespace of this kind may be made, by a user namespace around us."""

    def make() -> None:
        become_ordinary()
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(os.CLONE_NEWUSER, "user")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(text)
        Path(f"/proc/sys/user/max_{kind}_namespaces").write_text("0")

    return make


def root_alone() -> None:
    """Root of a user namespace that maps no other id, as in a container without subordinate ids."""
    uid, gid = os.getuid(), os.getgid()
    os.unshare(os.CLONE_NEWUSER)
    for name, value in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        Path(f"/proc/self/{name}").write_text(value)


def limited(what: int, value: int) -> Condition:
    """As an ordinary user with a lower resource limit."""

    def make() -> None:
        become_ordinary()
        resource.setrlimit(what, (value, value))

    return make


def settings(**values: str) -> dict[str, str]:
    """A /proc/sys/kernel with these files in it."""
    return {name: f"{value}\n" for name, value in values.items()}


def apparmor() -> None:
    """As an ordinary user on Ubuntu 24.04: the namespace is made, and every use of it is refused."""
    covering("/proc/sys/kernel", files=settings(apparmor_restrict_unprivileged_userns="1"))()
    refuse(
        ("unshare", errno.EACCES, ((0, "&", os.CLONE_NEWUTS),)),
        ("unshare", errno.EACCES, ((0, "&", os.CLONE_NEWNET),)),
    )

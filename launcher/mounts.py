"""The agent's file tree, built from nothing and pivoted into.

The root is an empty tmpfs that ends up read-only. The trees of the grants were taken before
(`launcher.trees`), so one pivot is enough: nothing below the old root is needed when the new one covers it.
When `build` returns, the host's tree is gone from this mount namespace.

What is replaced from outside while the agent runs is covered again by `launcher.covers`.

What cannot hold, and is reported rather than promised: a `masked`, `protected` or `hidden` path that does
not exist yet has nothing to mount on; a `protected` symbolic link could be replaced. Not reported: a file
that has another name inside a grant (a hard link, a bind mount of the host's) is not covered there.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from hark.errors import ConfinementError
from launcher import kernel
from launcher.ceilings import scratch_options
from launcher.covers import Covers
from launcher.etc import generated
from launcher.identity import Identity
from launcher.plan import Plan
from launcher.trees import Tree
from launcher.view import SHARED_SCRATCH, Kind, View, parts

_NO_SPECIAL: Final = kernel.MS_NOSUID | kernel.MS_NODEV
_READ_ONLY: Final = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
SCAFFOLD: Final = "/.hark"
"""Where sources of small mounts stand until the agent starts."""
_COVERS: Final = "/.covers"
"""Where they stand from then on, for `launcher.covers`: the kernel mounts no file without a name."""
_EMPTY_FILE: Final = f"{SCAFFOLD}/file"
_EMPTY_DIRECTORY: Final = f"{SCAFFOLD}/directory"

_PROC_READ_ONLY: Final = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "pressure")
"""A process with uid 0, or the caller's own, could otherwise turn the host's kernel settings through them."""
_PROC_MASKED: Final = (
    "interrupts",
    "iomem",
    "ioports",
    "kallsyms",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "latency_stats",
    "locks",
    "sched_debug",
    "timer_list",
)
"""What else of the host runs, where its kernel lies, and when its keys are pressed."""
_DEVICE_LINKS: Final = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


def leave_host_propagation() -> None:
    """Let no mount made from here on reach the host, and none of the host's reach us."""
    kernel.mount("", "/", kernel.MS_REC | kernel.MS_PRIVATE)


def build(
    plan: Plan, view: View, trees: Mapping[str, Tree], devices: Mapping[str, Tree], identity: Identity
) -> list[str]:
    """Make the view the root of this process's mount namespace; the answer is what could not be covered."""
    os.umask(0o022)
    kernel.mount("tmpfs", "/tmp", _NO_SPECIAL, "mode=755")  # noqa: S108  (a place to stand, this namespace's)
    os.chdir("/tmp")  # noqa: S108
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "var", SCAFFOLD[1:]):
        os.mkdir(name)
    room = scratch_options(plan.limits)
    _add_devices(devices, room)
    kernel.mount("proc", "./proc", _NO_SPECIAL | kernel.MS_NOEXEC)
    _add_layers(view, trees, room)
    _add_links(view)
    for name, content in generated(plan, identity).items():
        if not os.path.lexists("." + name):  # a grant of the host's own file is the operator's word
            _write("." + name, content)
    _pivot()
    _make_empties()
    if not plan.nested:
        _guard_proc()
    return _cover(view)


def _pivot() -> None:
    kernel.pivot_root_here()
    kernel.unmount(".")
    os.chdir("/")


def _mode(content: bytes) -> int:
    """What begins as a script does is one."""
    return 0o755 if content.startswith(b"#!") else 0o644


def _write(path: str, content: bytes, mode: int = 0o644) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
        file.write(content)


def _attach(tree: int, target: str) -> None:
    place = os.open(target, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.attach(tree, place, target)
    finally:
        os.close(place)
        os.close(tree)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))


def _add_devices(devices: Mapping[str, Tree], room: str) -> None:
    flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
    kernel.mount("tmpfs", "./dev", flags, "mode=755")
    for name, tree in devices.items():
        _touch(f"./dev/{name}")
        _attach(tree.descriptor, f"./dev/{name}")
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"./dev/{name}")
    os.mkdir("./dev/pts")
    # No gid=5 as on a host: group tty does not exist in the user namespace.
    kernel.mount("devpts", "./dev/pts", flags, "newinstance,ptmxmode=0666,mode=0620")
    os.mkdir("./dev/shm")
    kernel.mount("tmpfs", "./dev/shm", _NO_SPECIAL, f"mode=1777{room}")
    _make_read_only("./dev")


def _make_read_only(path: str) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.mount_setattr(place, kernel.ATTR_RDONLY, path, recursive=False)
    finally:
        os.close(place)


def _add_layers(view: View, trees: Mapping[str, Tree], room: str) -> None:
    for layer in view.layers:
        place = "." + layer.path
        try:
            if layer.kind is Kind.SCRATCH:
                os.makedirs(place, exist_ok=True)
                shared = layer.path in SHARED_SCRATCH
                mode = "mode=1777" if shared else "mode=700"
                kernel.mount("tmpfs", place, _NO_SPECIAL, mode + room)
            else:
                _add_grant(trees[layer.path], place)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise ConfinementError(f"cannot show {layer.path} to the agent: {reason}") from error


def _add_grant(tree: Tree, place: str) -> None:
    if tree.directory:
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if not os.path.lexists(place):
            _touch(place)
    _attach(tree.descriptor, place)


def _add_links(view: View) -> None:
    for path, target in view.links:
        above = view.nearest(path)
        if above is not None and above.kind is not Kind.SCRATCH:
            continue  # the grant shows the link itself
        os.makedirs("." + os.path.dirname(path), exist_ok=True)
        if not os.path.lexists("." + path):
            os.symlink(target, "." + path)


def _make_empties() -> None:
    _write(_EMPTY_FILE, b"", mode=0)
    os.mkdir(_EMPTY_DIRECTORY, 0o000)


def _guard_proc() -> None:
    for name in _PROC_READ_ONLY:
        path = f"/proc/{name}"
        if os.path.exists(path):
            _bind_read_only(path, path, kernel.ATTR_NOEXEC)
    for name in _PROC_MASKED:
        _mask(f"/proc/{name}")


def _bind_read_only(source: str, target: str, more: int = 0) -> None:
    tree = kernel.open_tree(source)
    kernel.mount_setattr(tree, _READ_ONLY | more, source, recursive=True)
    _attach(tree, target)


def _mask(path: str) -> bool:
    """Put nothing where `path` is; False if there is nothing to put it on."""
    if not os.path.exists(path):
        return False
    empty = _EMPTY_DIRECTORY if os.path.isdir(path) else _EMPTY_FILE
    _bind_read_only(empty, path)
    return True


def _cover(view: View) -> list[str]:
    pinned: set[str] = set()
    uncovered = [path for path in view.masked if not _mask(path)]
    uncovered += [path for path in view.protected if not _protect(path, view, pinned)]
    for path in view.hidden:
        if os.path.exists(path):
            _pin_parents(path, view, pinned)  # nor put another key there for the next run
    uncovered += [path for path in view.hidden if not _mask(path)]
    return [path for path in uncovered if _granted(path, view)]


def _granted(path: str, view: View) -> bool:
    """Whether a grant shows `path`; elsewhere there is nothing of the host's to see or change."""
    layer = view.nearest(path)
    return layer is not None and layer.kind is not Kind.SCRATCH


def _protect(path: str, view: View, pinned: set[str]) -> bool:
    if not os.path.exists(path) or os.path.realpath(path) != path:
        return False  # a link could be replaced, whatever is mounted on its target
    _pin_parents(path, view, pinned)
    _bind_read_only(path, path)
    return True


def _pin_parents(path: str, view: View, pinned: set[str]) -> None:
    """A mount point cannot be renamed: otherwise the agent moves `.git` away and makes another."""
    layer = view.nearest(path)
    if layer is None or layer.kind is not Kind.WRITE:
        return
    for parent in _parents_to_pin(path, view):
        if parent not in pinned:
            _attach(kernel.open_tree(parent), parent)
            pinned.add(parent)


def _parents_to_pin(path: str, view: View) -> Iterable[str]:
    layer = view.nearest(path)
    top = len(parts(layer.path)) if layer is not None else 0
    names = parts(path)
    return ["/" + "/".join(names[:length]) for length in range(top + 1, len(names))]


def show_files(files: Mapping[str, bytes], view: View) -> dict[str, int]:
    """Show each of `files` read-only at its path, over what the view has there.

    Folders above one that lies in a writable grant cannot be moved: in a new one of the same name, what a
    program outside saves would lie bare. Where two paths lead to one place in the view, what is shown is the
    first's. Returned are the places that had something else, with a descriptor of what is shown there.
    """
    taken: set[str] = set()
    pinned: set[str] = set()
    over: dict[str, int] = {}
    for number, (path, content) in enumerate(sorted(files.items())):
        place = os.path.realpath(path)
        if place in taken:
            continue
        taken.add(place)
        try:
            if os.path.exists(place):
                source = f"{SCAFFOLD}/{number}"
                _write(source, content, _mode(content))
                _pin_parents(place, view, pinned)
                _bind_read_only(source, place)
                over[place] = os.open(source, os.O_PATH | os.O_CLOEXEC)
            else:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                _write(place, content, _mode(content))
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise ConfinementError(f"cannot show {path} to the agent: {reason}") from error
    return over


def watched(view: View, over: Mapping[str, int]) -> Covers:
    """Watch over what `build` and `show_files` have covered."""
    shown = {path: descriptor for path, descriptor in over.items() if _granted(path, view)}
    empties = (_EMPTY_FILE, _EMPTY_DIRECTORY)
    return Covers.over((*view.masked, *view.hidden), view.protected, empties, shown)


def finish(workdir: str) -> None:
    """Close the scaffold, make the root read-only, and go where the agent starts."""
    os.chmod(SCAFFOLD, 0)
    os.rename(SCAFFOLD, _COVERS)
    _make_read_only("/")
    try:
        os.chdir(workdir)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise ConfinementError(f"cannot start in {workdir}: {reason} inside the boundary") from error

"""What was covered before the agent started stays covered when another program of the host's replaces it.

A mount goes with the name that it is on: a program outside that saves a file by renaming a new one over it
(an editor, `git config`) takes the cover away with the old one. Process 1 is told of every new name in the
folders of covered paths and covers it again at once. In between, the agent may have looked: the path is told.

Not held here: what lies in a folder that is itself replaced, and a link that takes the place of a file.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from hark.errors import ConfinementError
from launcher import kernel

_CREATED: Final = 0x100  # IN_CREATE
_MOVED_TO: Final = 0x80  # IN_MOVED_TO
_OVERFLOW: Final = 0x4000  # IN_Q_OVERFLOW
_ONLY_DIRECTORY: Final = 0x1000000  # IN_ONLYDIR
_EVENT: Final = struct.Struct("iIII")  # struct inotify_event, without the name
_EVENT_BYTES: Final = 1 << 16
_PRIVATE: Final = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
_TRIES: Final = 5  # replaced more often than that within a moment, it ends the run
_GONE: Final = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EACCES)


@dataclass(frozen=True, slots=True)
class Cover:
    """One path that is covered: by something empty, or by a read-only view of itself."""

    path: str
    folder: int
    """Descriptor of the folder that it is in, wherever that is moved to."""
    empty: bool
    shown: int | None = None
    """Descriptor of the file of ours that it is covered by, if it is neither empty nor a view of itself."""


class Covers:
    """The covered paths and a watch over the folders that they are in.

    MUST be made when everything is mounted and before process 1 gives up being dumpable.
    """

    def __init__(self, empties: Iterable[str]) -> None:
        self._empties = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in empties]
        self._marks = {_identity(descriptor) for descriptor in self._empties}
        self._watch = kernel.inotify()
        self._covers: dict[int, dict[str, Cover]] = {}
        self._folders: dict[str, int] = {}

    @classmethod
    def over(
        cls,
        masked: Iterable[str],
        protected: Iterable[str],
        empties: Iterable[str],
        shown: Mapping[str, int] = MappingProxyType({}),
    ) -> Self:
        """Watch over what is covered by now; the rest was not there. Raises ConfinementError.

        At the paths of `shown` lie files of ours, whatever else they are; the descriptors of them are valid
        still when what was mounted of them is gone.
        """
        try:
            covers = cls(empties)
            for path, descriptor in shown.items():
                covers._add_shown(path, descriptor)
            for paths, empty in ((masked, True), (protected, False)):
                for path in paths:
                    if path not in shown:
                        covers._add(path, empty=empty)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE):
                raise ConfinementError(
                    f"cannot watch what is kept from the agent ({error.filename}): raise "
                    "fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl"
                ) from error
            raise
        return covers

    def _add(self, path: str, *, empty: bool) -> None:
        parent, _, name = path.rpartition("/")
        try:
            cover = Cover(path, self._folder(parent or "/"), empty)
            place = _place(cover)
        except OSError as error:
            if error.errno in _GONE:
                return
            raise
        bare = self._is_bare(cover, place)
        os.close(place)
        if not bare:
            self._watch_over(name, cover)

    def _add_shown(self, path: str, descriptor: int) -> None:
        parent, _, name = path.rpartition("/")
        self._watch_over(name, Cover(path, self._folder(parent or "/"), empty=False, shown=descriptor))

    def _watch_over(self, name: str, cover: Cover) -> None:
        events = _CREATED | _MOVED_TO | _ONLY_DIRECTORY
        watch = kernel.watch(self._watch, f"/proc/self/fd/{cover.folder}", events)
        self._covers.setdefault(watch, {})[name] = cover

    def _folder(self, path: str) -> int:
        if path not in self._folders:
            flags = os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
            self._folders[path] = os.open(path, flags)
        return self._folders[path]

    def fileno(self) -> int:
        """What to poll."""
        return self._watch

    def restore(self) -> list[str]:
        """Cover again what was replaced; the paths that it was done for. Raises OSError where it cannot."""
        touched = self._touched(os.read(self._watch, _EVENT_BYTES))
        return [cover.path for cover in touched if self._restored(cover)]

    def _restored(self, cover: Cover) -> bool:
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._cover(cover)
            except OSError:
                # What was opened may be gone by the time that it is covered: it was replaced once more.
                if not tries_left:
                    raise
        return False

    def _cover(self, cover: Cover) -> bool:
        """Cover it if it lies bare; False if it does not, or is not there."""
        try:
            place = _place(cover)
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise
        try:
            bare = self._is_bare(cover, place)
            if bare:
                self._put(cover, place)
            return bare
        finally:
            os.close(place)

    def _touched(self, events: bytes) -> list[Cover]:
        found: dict[Cover, None] = {}
        offset = 0
        while offset < len(events):
            watch, mask, _cookie, length = _EVENT.unpack_from(events, offset)
            offset += _EVENT.size
            name = os.fsdecode(events[offset : offset + length].rstrip(b"\0"))
            offset += length
            if mask & _OVERFLOW:
                return [cover for names in self._covers.values() for cover in names.values()]
            if name in self._covers.get(watch, {}):
                found[self._covers[watch][name]] = None
        return list(found)

    def _is_bare(self, cover: Cover, place: int) -> bool:
        """Whether nothing covers what the descriptor `place` stands for."""
        if cover.shown is not None:
            return _identity(place) != _identity(cover.shown)
        if cover.empty:
            return _identity(place) not in self._marks
        return not os.fstatvfs(place).f_flag & os.ST_RDONLY

    def _put(self, cover: Cover, place: int) -> None:
        source = place if cover.shown is None else cover.shown
        if cover.empty:
            folder = stat.S_ISDIR(os.fstat(place).st_mode)
            source = next(empty for empty in self._empties if stat.S_ISDIR(os.fstat(empty).st_mode) == folder)
        tree = kernel.copy_tree(source, cover.path)
        try:
            kernel.mount_setattr(tree, _PRIVATE, cover.path, recursive=True)
            kernel.attach(tree, place, cover.path)
        finally:
            os.close(tree)


def _place(cover: Cover) -> int:
    """What the covered name stands for now; no link is followed, since the agent could have put one there."""
    return kernel.open_beneath(cover.folder, cover.path.rpartition("/")[2], cover.path)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino

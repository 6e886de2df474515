"""The one writer of a bundle: events in the order in which they arrive, from any thread or task.

What always holds: `append` returns only when its frame is in the file (on the disk, if `durable`), and
frames stand in the order of their sequence numbers. Whoever finds nobody writing writes for all that wait
(group commit), so concurrent appends share one write; whoever finds nobody syncing syncs for all, and nobody
who appends waits for that: `sync` in another thread lets an event loop go on. A write or sync that fails ends
the writer for good: the file is cut back to its last whole frame, every append from then on raises, and
`on_failure` is told once. A file that is closed without `seal` is a truncated bundle whose events verify.

The file stays within `max_bytes`, seal and footer included: the first event that would leave no room for
the end is refused with LimitError, `on_failure` is told once, and from then on only RunEnd and the seal are
taken.

An event that is refused before a byte of it is written (over 64 MiB, not encodable, stopped by the guard)
raises too, and is counted in `refused`, but the writer stays usable: how the run ended must still be
recordable.

`append` blocks its caller, also on an event loop: that is tens of microseconds, and most of it is encoding,
which a thread could not do beside the loop (the interpreter has one lock). Not done here: splitting bodies,
choosing the outcome, moving the file (`hark.bundle.deliver`).
"""

import errno
import os
import time
from collections.abc import Callable
from threading import Condition, RLock
from typing import Final, Self

from hark.bundle.assemble import Assembler, Guard, NoRoomError, Sealed
from hark.bundle.bounds import RunEnd
from hark.bundle.disk import Disk
from hark.bundle.events import Event, Unknown
from hark.bundle.header import Header
from hark.bundle.tree_head import Signer
from hark.errors import LimitError, RecordError

SECRET_BYTES: Final = 32
END_BYTES: Final = 16 << 10
"""Room kept for RunEnd, Seal and footer: under 2 kB, and a reason that names a path of PATH_MAX."""


class Writer:
    """An open bundle. Made by `create`; closes itself at the end of a `with`."""

    def __init__(
        self,
        disk: Disk,
        assembler: Assembler,
        clock: Callable[[], int],
        on_failure: Callable[[RecordError], None] | None,
        max_bytes: int | None,
    ) -> None:
        self._max_bytes = max_bytes
        self._full: LimitError | None = None
        self._promised = disk.end
        """Where the file will end once all that was taken is written."""
        self._disk = disk
        self._assembler = assembler
        self._clock = clock
        self._origin = clock()
        self._on_failure = on_failure
        self.on_frame: Callable[[Event | Unknown, int], None] | None = None
        """Told of each event that is in the file, with its time; the lock is held, so it MUST be quick."""
        self._lock = RLock()
        self._turn = Condition(self._lock)
        self._waiting = 0
        """Threads that wait for `_turn`: told only where there are any."""
        self._queue: list[bytes] = []
        self._writing = False
        self._syncing = False
        self._written = 0
        """Events in the file; `_synced` of them are on the disk too."""
        self._synced = 0
        self._failure: RecordError | None = None
        self._sealed = False
        self._refused = 0

    @classmethod
    def create(
        cls,
        path: str,
        header: Header,
        *,
        secret: bytes | None = None,
        guard: Guard | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        on_failure: Callable[[RecordError], None] | None = None,
        max_bytes: int | None = None,
    ) -> Self:
        """Create the file and write its header; a RecordError says why that is not possible.

        `secret` is the run's, for the salts: without one a fresh one is drawn and forgotten. `clock` is
        monotonic nanoseconds; the run begins now. `guard` sees each payload before it is written.
        `max_bytes` is the largest file that the policy allows.
        """
        assembler = Assembler(header, secret or os.urandom(SECRET_BYTES), guard)
        if max_bytes is not None and max_bytes < len(assembler.preamble) + END_BYTES:
            raise RecordError(f"record.max_bytes is {max_bytes}, in which no record has room for its end")
        try:
            disk = Disk(path)
        except OSError as error:
            raise RecordError(f"cannot create the bundle {path}: {error.strerror}{_step(error)}") from error
        try:
            disk.write(assembler.preamble)
        except OSError as error:
            disk.remove()
            raise RecordError(f"cannot write the bundle {path}: {error.strerror}{_step(error)}") from error
        return cls(disk, assembler, clock, on_failure, max_bytes)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._disk.path

    @property
    def refused(self) -> int:
        """How many events were refused before anything of them was written."""
        return self._refused

    @property
    def failure(self) -> RecordError | None:
        """What ended the writer, if anything did."""
        return self._failure

    def append(self, event: Event | Unknown, *, durable: bool = False) -> int:
        """Record `event`; return its sequence number once it is in the file (on the disk, if `durable`)."""
        with self._lock:
            self._refuse_if_over()
            seq, room = self._assembler.count, self._room_for(event)
            now = self._now()
            try:
                frame = self._assembler.add(event, now, room)
            except NoRoomError:
                raise self._filled() from None
            except Exception:
                self._refused += 1
                raise
            self._queue.append(frame)
            self._promised += len(frame)
            self._settle(seq + 1, durable=durable)
            if self.on_frame is not None:
                self.on_frame(event, now)
        return seq

    def sync(self, seq: int) -> None:
        """Return once event `seq` is on the disk; from any thread. Raises RecordError if it cannot be."""
        with self._lock:
            self._settle(seq + 1, durable=True)

    def seal(self, outcome: str, signer: Signer | None = None, *, signed_at: int | None = None) -> Sealed:
        """Write the Seal event and the footer, have all of it on the disk, and take no more events.

        `signed_at` is Unix nanoseconds, now unless given.
        """
        with self._lock:
            self._refuse_if_over()
            self._sealed = True
            signed_at = time.time_ns() if signed_at is None else signed_at
            end, sealed = self._assembler.seal(outcome, self._now(), signed_at, signer)
            self._queue.append(end)
            self._settle(sealed.leaf_count, durable=True)
            try:
                self._disk.sync_directory()
            except OSError as error:
                raise self._failed(error) from error
        return sealed

    def close(self) -> None:
        """Write what waits, then let the file and its lock go; again is harmless."""
        with self._lock:
            if self._failure is None:
                self._settle(self._assembler.count if self._queue else self._written, durable=False)
            while self._writing or self._syncing:
                self._wait()
            self._failure = self._failure or RecordError(f"the bundle {self.path} is closed")
            self._disk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _now(self) -> int:
        return max(0, self._clock() - self._origin)

    def _refuse_if_over(self) -> None:
        if self._failure is not None:
            raise RecordError(str(self._failure)) from self._failure
        if self._sealed:
            raise RecordError(f"the bundle {self.path} is sealed: it takes no more events")

    def _room_for(self, event: Event | Unknown) -> int | None:
        """Bytes that the frame of `event` may have; None: any number."""
        if self._max_bytes is None or isinstance(event, RunEnd):
            return None
        if self._full is not None:
            raise LimitError(str(self._full))
        return self._max_bytes - END_BYTES - self._promised

    def _filled(self) -> LimitError:
        """Take nothing but the end from now on, and tell whoever wants to know; called with the lock held."""
        error = self._full = LimitError(
            f"record.max_bytes was reached: the record may not grow beyond {self._max_bytes} bytes"
        )
        self._tell(error)
        return error

    def _settle(self, count: int, *, durable: bool) -> None:
        """Return once `count` events are in the file, on the disk if `durable`; called with the lock held."""
        while self._written < count or (durable and self._synced < count):
            if self._failure is not None:
                raise RecordError(str(self._failure)) from self._failure
            if self._written < count:
                busy, work = self._writing, self._write_batch
            else:
                busy, work = self._syncing, self._sync_batch
            if busy:
                self._wait()
            else:
                work()

    def _wait(self) -> None:
        self._waiting += 1
        try:
            self._turn.wait()
        finally:
            self._waiting -= 1

    def _wake(self) -> None:
        if self._waiting:
            self._turn.notify_all()

    def _write_batch(self) -> None:
        """Write for everybody who waits, with the lock released meanwhile."""
        batch, self._queue = self._queue, []
        count, start = self._assembler.count, self._disk.end
        self._writing = True
        self._lock.release()
        failure: BaseException | None = None
        try:
            self._disk.write(b"".join(batch))
        except BaseException as error:  # noqa: BLE001 - an interrupt here leaves a torn frame like any failure
            failure = error
        finally:
            self._lock.acquire()
            self._writing = False
            self._wake()
        if failure is not None:
            self._cut_back(start, batch)
            raise self._failed(failure) from failure
        self._written = count

    def _sync_batch(self) -> None:
        """Sync for everybody who waits; meanwhile others append and write."""
        count = self._written
        self._syncing = True
        self._lock.release()
        failure: BaseException | None = None
        try:
            self._disk.sync()
        except BaseException as error:  # noqa: BLE001 - what is not on the disk may be lost, whatever the reason
            failure = error
        finally:
            self._lock.acquire()
            self._syncing = False
            self._wake()
        if failure is not None:
            raise self._failed(failure) from failure
        self._synced = count

    def _cut_back(self, end: int, batch: list[bytes]) -> None:
        """Leave no torn frame. What cannot be cut off either, a reader recognises as torn."""
        for frame in batch:
            if end + len(frame) > self._disk.end:
                break
            end += len(frame)
        try:
            self._disk.cut(end)
        except OSError:
            return

    def _failed(self, cause: BaseException) -> RecordError:
        """End the writer for good, and tell whoever wants to know; called with the lock held."""
        if self._failure is not None:
            return self._failure
        words = cause.strerror if isinstance(cause, OSError) and cause.strerror else type(cause).__name__
        error = RecordError(
            f"cannot write the bundle {self.path}: {words}; the run cannot go on unrecorded{_step(cause)}"
        )
        self._failure = error
        self._wake()
        self._tell(error)
        return error

    def _tell(self, error: RecordError) -> None:
        if self._on_failure is not None:
            self._lock.release()
            try:
                self._on_failure(error)
            finally:
                self._lock.acquire()


def _step(cause: BaseException) -> str:
    """Say what to do where it is only room that is missing."""
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return "; make room there, or have XDG_STATE_HOME name a directory that has it"
    return ""

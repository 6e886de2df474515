"""A recorder that keeps events in a list: the mediator's `Recorder`, told on demand to fail."""

import threading
import time
from collections.abc import Callable

from hark.bundle.events import Event, encode
from hark.errors import RecordError


class ListRecorder:
    """Keeps what was recorded. Encodes each as the writer would, so what cannot be written fails here."""

    def __init__(self, *, fail_at: int | None = None, guard: Callable[[bytes], None] | None = None) -> None:
        self.events: list[Event] = []
        self.on_disk = 0
        """How many events are."""
        self.fail_at = fail_at
        """The number of the append that fails, from 1; every later one fails too, as on a full disk."""
        self.guard = guard
        self.appends = 0
        self._changed = threading.Condition()

    def append(self, event: Event, *, durable: bool = False) -> int:
        """As the protocol says."""
        with self._changed:
            self.appends += 1
            if self.fail_at is not None and self.appends >= self.fail_at:
                raise RecordError("no space left on device")
            payload = encode(event)
            if self.guard is not None:
                self.guard(payload)
            self.events.append(event)
            if durable:
                self.on_disk = len(self.events)
            self._changed.notify_all()
            return len(self.events) - 1

    def sync(self, seq: int) -> None:
        """As the protocol says."""
        with self._changed:
            self.on_disk = max(self.on_disk, seq + 1)
            self._changed.notify_all()

    @property
    def durable(self) -> list[Event]:
        """The events that are on the disk."""
        with self._changed:
            return self.events[: self.on_disk]

    def of[T](self, kind: type[T]) -> list[T]:
        """Return the events of one kind, in order."""
        with self._changed:
            return [event for event in self.events if isinstance(event, kind)]

    def wait_for[T](self, kind: type[T], count: int = 1, seconds: float = 60.0) -> list[T]:
        """Return the events of a kind once there are `count` of them."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                found = [event for event in self.events if isinstance(event, kind)]
                if len(found) >= count:
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise AssertionError(f"{len(found)} of {count} {kind.__name__} in {self.events}")

    def wait_durable(self, event: Event, seconds: float = 60.0) -> None:
        """Return once an event that was recorded is on the disk."""
        with self._changed:
            if not self._changed.wait_for(lambda: event in self.events[: self.on_disk], seconds):
                raise AssertionError(f"{event} is not on the disk")

    def bytes(self) -> bytes:
        """Return every payload, joined: what a reader of the bundle could find."""
        with self._changed:
            return b"\n".join(encode(event) for event in self.events)

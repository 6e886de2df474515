"""The recorded requests that a replay has not made yet, found by key or by head. No IO.

Always: of those alike the first one of the recording is found; what a look costs does not grow with how many
were made before it, whatever the order in which they are made: the recording is somebody else's.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush

from hark.bundle.events import LlmRequest
from hark.replay.canonical import Rules
from hark.replay.recorded import Recorded

type Place = tuple[str, str]
"""Method and host: of other requests the key is not made."""
type Head = tuple[str, str, str]


class Unasked:
    """Those of one recording."""

    def __init__(self, recorded: Iterable[Recorded], rules: Rules) -> None:
        self._rules = rules
        self._left = {one.seq: one for one in recorded}
        self._unkeyed: dict[Place, deque[Recorded]] = defaultdict(deque)
        """Those of which no key was made, in order."""
        self._keyed: dict[tuple[Place, bytes], deque[Recorded]] = defaultdict(deque)
        self._streamed: dict[Head, list[int]] = defaultdict(list)
        """Events of streamed ones that none of the replay's stands for, the first one first."""
        for one in self._left.values():
            self._unkeyed[_place(one.request)].append(one)
            if one.request.streaming:
                self._streamed[head_of(one.request)].append(one.seq)
        for events in self._streamed.values():
            heapify(events)

    def values(self) -> Collection[Recorded]:
        """Return all that are left, in the order of the recording."""
        return self._left.values()

    def found(self, request: LlmRequest, key: bytes) -> Recorded | None:
        """Return the first one with a key."""
        place = _place(request)
        alike, unkeyed = self._keyed[place, key], self._unkeyed.get(place)
        while True:
            while alike and alike[0].seq not in self._left:
                alike.popleft()
            if alike:
                return alike[0]
            if not unkeyed:
                return None
            one = unkeyed.popleft()
            if one.seq in self._left:
                self._keyed[place, one.key(self._rules)].append(one)

    def claimed(self, request: LlmRequest) -> Recorded | None:
        """Return the first streamed one with a request's head, and let no other request stand for it."""
        events = self._streamed.get(head_of(request))
        while events:
            one = self._left.get(heappop(events))
            if one is not None and not one.head.done:
                return one
        return None

    def give_back(self, recorded: Recorded) -> None:
        """Let another request stand for one: who did turned out to be another."""
        heappush(self._streamed[head_of(recorded.request)], recorded.seq)

    def take(self, recorded: Recorded) -> bool:
        """Take one out; False where it is out already."""
        return self._left.pop(recorded.seq, None) is not None


def head_of(request: LlmRequest) -> Head:
    """Return what a request that is under way is told apart by: the rest is compared at its end."""
    return (request.method, request.host, request.path)


def _place(request: LlmRequest) -> Place:
    return (request.method, request.host)

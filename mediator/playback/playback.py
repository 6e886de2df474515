"""The conductor of a replay: takes what the agent does, and lets in what the recording has, in its order.

Always: one part at a time. A part is let in once all that the agent had done before it there has been done
here, the agent has nothing more to do (for as long as the recording waited, at the most), the clocks have
been moved, and what was let in before has been written. After the first divergence nothing is let in.

A part that waits for an action that does not come is a stall: the agent had nothing to do for three times as
long as the recording took to that action, and some seconds. The way on of an allowed name or connection is no
stall: it goes on out of its order, and is counted.

Everything here runs in the mediator's event loop; `report` may be read once that has ended.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Final

from hark.bundle.events import Event, Input
from hark.errors import BundleError
from hark.replay.pieces import Action, Branched, Data, End, Head, Part, Piece, Refused, is_along
from hark.replay.recorded import Recorded, words_of
from hark.replay.score import Score
from hark.replay.talks import Differs, LiveTalk, Talk
from mediator.playback.clock import Clock, Idle, RealClock, Starved, always_idle, never_starved
from mediator.playback.report import Divergence, Report, nothing_comes, stall

if TYPE_CHECKING:
    from mediator.playback.altering import Altering  # a replay alters nothing, and need not load what could

STALL_S: Final = 5.0  # more than a program takes to start another; below what a person waits without asking
STALL_TIMES: Final = 3  # of what the recording took: this machine may be slower
CONNECTION_S: Final = 0.25  # what an allowed name or connection waits for its turn beyond the recorded gap
LOOK_S: Final = 0.02  # between looks at an agent that something is held for
QUIET_LOOK_S: Final = 0.5  # and at one for which nothing is
STEP_S: Final = 0.0002  # between looks at an agent that is busy right before a release
INPUT_S: Final = 0.002  # for who was let go on to write input to the agent
STARVED_TIMES: Final = 4
STARVED_S: Final = 2.0
"""How much longer than when it was recorded an agent is given that waits for a processor."""
SETTLE_S: Final = (
    0.002  # for who was woken by the part before this one to come to run, however short the gap was
)
WRITE_S: Final = 5.0  # for what was let in to be written: its connection may be gone meanwhile


type Contents = Callable[[int], bytes | None]
"""MUST return the bytes of an event that are not held; None of any other. Raises BundleError."""


def all_held(_seq: int) -> None:
    """Say that whatever was recorded is held."""


@dataclass(slots=True)
class _Waiting:
    """Somebody who waits to let a part in."""

    part: Part
    go: asyncio.Future[bool]
    since: float
    had_to: bool = False


@dataclass(slots=True)
class _Counts:
    released: int = 0
    held: int = 0
    held_s: float = 0.0
    dials: int = 0
    early: list[str] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)


class Playback:
    """One replay's. Made anywhere, used in the mediator's event loop."""

    def __init__(
        self,
        score: Score,
        on_diverged: Callable[[Divergence], None],
        *,
        clock: Clock | None = None,
        idle: Idle = always_idle,
        alive: Idle = always_idle,
        starved: Starved = never_starved,
        realtime: bool = False,
        zone: Callable[[], tzinfo | None] = lambda: None,
        stall_s: float = STALL_S,
        contents: Contents = all_held,
    ) -> None:
        """`alive` tells whether the agent has begun and not ended.

        `zone` names that of the recorded machine, by which rules are judged; this machine's unless given.
        `contents` has the pieces of answers that the score does not hold.
        """
        self.score = score
        self._on_diverged = on_diverged
        self._clock = clock or RealClock()
        self._idle = idle
        self._alive = alive
        self._starved = starved
        self._realtime = realtime
        self._zone = cache(zone)  # asked once something is judged: reading it is no part of the start
        self._stall_s = stall_s
        self._contents = contents
        self._counts = _Counts()
        self._waiting: dict[int, _Waiting] = {}
        self._changed = asyncio.Event()
        self._written = asyncio.Event()
        self._writing: Part | None = None
        self._last_ns = 0
        self._last_real = 0.0
        self._acted_real = 0.0
        """When the agent did something here, or something was let in."""
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = False
        self.live = False
        """Whether servers are asked: true of a fork, from its branch point on."""
        self.played: Callable[[], object] | None = None
        """Done by another thread once the last recorded answer has gone to the agent, which waits for nothing
        by then."""
        self.altering: Altering | None = None
        """What changes requests before a server is asked, in a fork."""
        self.on_branch: Callable[[Part], None] = _passed_by
        """Told where the recorded run went live, once the clocks have been moved. May raise RecordError."""
        self.on_live: Callable[[int, int], None] = _live_by
        """Told where a fork goes live: its number of the exchange, and how many actions were verified. MUST
        have put all into force that is different from there on. May raise RecordError."""

    @property
    def beyond(self) -> bool:
        """Tell whether the agent is where it was, or is, live: what changes the world is refused there."""
        return self.live or self.score.is_beyond

    def plays(self, exchange: int) -> bool:
        """Tell whether the recording answers an exchange; else a server is asked."""
        del exchange
        return True

    def start(self) -> None:
        """Begin to conduct. MUST be called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._last_real = self._acted_real = time.monotonic()
        self._task = asyncio.create_task(self._conduct())

    async def stop(self) -> None:
        """Let nothing in any more."""
        self._over = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._let_go()

    def now(self) -> datetime:
        """Return the recorded time that rules are judged by."""
        at = (self.score.recording.started_at + self.score.now_ns()) / 1e9
        return datetime.fromtimestamp(at, UTC).astimezone(self._zone())

    def addresses(self) -> Mapping[str, str]:
        """Return the address that each name was given when it was recorded."""
        return self.score.recording.addresses()

    def observe(self, event: Event) -> None:
        """Take what was recorded of the replay; but input, which another thread records, had its turn."""
        if isinstance(event, Input):
            return
        self._acted_real = time.monotonic()
        miss = self.score.observe(event)
        if isinstance(miss, Differs):
            self.diverge(Divergence("difference", miss.words, miss.event if miss.event >= 0 else None))
        elif miss is not None:
            words = f"no recording for {words_of(miss.request)}"
            for more in (miss.words, miss.nearest):
                words += f"; {more}" if more else ""
            self.diverge(Divergence("miss", words))
        while self.score.given_up:
            self.drop(self.score.given_up.pop())
        self._changed.set()

    def dialled(self, what: str) -> None:
        """Note that something was about to dial, which it MUST not do then."""
        self._counts.dials += 1
        self.diverge(Divergence("uncovered", f"{what} is not played back, and a replay dials nothing"))

    def diverge(self, divergence: Divergence) -> None:
        """Say that the replay cannot go on. The first time tells who asked to be told."""
        self._counts.divergences.append(divergence)
        if len(self._counts.divergences) == 1:
            self._let_go()
            self._on_diverged(divergence)

    @property
    def diverged(self) -> bool:
        """Tell whether nothing is let in any more."""
        return bool(self._counts.divergences)

    def wanted(self, exchange: int) -> Recorded | None:
        """Return what answers an exchange, and let it have its turns; None: not yet, or never."""
        live = self.score.of(exchange)
        if live is None or live.recorded is None:
            return None
        recorded = live.recorded
        if recorded.unplayable:
            words = f"{recorded} (event {recorded.seq}) cannot be played back: {recorded.unplayable}"
            self.diverge(Divergence("uncovered", words, recorded.seq))
            return None
        first = recorded.parts[0].piece if recorded.parts else None
        if isinstance(first, Refused):
            words = f"{recorded} (event {recorded.seq}) was refused when it was recorded, and is not here"
            self.diverge(Divergence("policy", f"{words}: {first.reason}", recorded.seq))
            return None
        live.asked = True
        self._changed.set()
        return recorded

    def upcoming(self, exchange: int) -> Part | None:
        """Return the part of an exchange's answer that comes next."""
        live = self.score.of(exchange)
        return None if live is None else live.part

    def along_with(self, exchange: int, before: Part) -> Part | None:
        """Return what of an answer comes with the part that was let in just now, as let in; None: nothing.

        An agent that needs no more than a head, or knows the length, may be gone before what had come with it
        when it was recorded has a turn of its own.
        """
        live = self.score.of(exchange)
        part = None if live is None else live.part
        if live is None or live.recorded is None or part is None or self.diverged or self._over:
            return None
        counted = isinstance(part.piece, End) and live.recorded.has_length
        if not counted and not (is_along(before, part) and self._is_next(part)):
            return None
        self._counts.released += 1
        if not counted:
            self._clock.release(part.time_ns, max(0, part.time_ns - self._last_ns))
            self._last_ns = max(part.time_ns, self._last_ns)
        self.score.released(part)
        self._changed.set()
        return part

    def _is_next(self, part: Part) -> bool:
        return self.score.next() is part and self.score.may_release(part)

    def loaded(self, part: Part) -> Piece | None:
        """Return what a part says, with the bytes that were not held; None: they are not there any more."""
        try:
            data = self._contents(part.seq) if isinstance(part.piece, Data) else None
        except BundleError as error:
            self.diverge(Divergence("uncovered", str(error), part.seq))
            return None
        return part.piece if data is None else Data(data)

    def take(self) -> Part | None:
        """Return the part whose turn the last decision has to wait for. MUST be asked right after it."""
        return self.score.take()

    async def turn(self, part: Part | None) -> bool:
        """Wait until a part may be let in; then `passed` MUST be called. False: it may not at all."""
        if part is None:
            return not self.diverged
        if self.diverged or self._over:
            return False
        waiting = _Waiting(part, asyncio.get_running_loop().create_future(), time.monotonic())
        waiting.had_to = self.score.waiting_for(part) is not None
        self._waiting[part.seq] = waiting
        self._changed.set()
        try:
            return await waiting.go
        finally:
            if self._waiting.get(part.seq) is waiting:
                del self._waiting[part.seq]

    def told(self, exchange: int) -> None:
        """Note that the part that was let in last is being handed on."""
        if (live := self.score.of(exchange)) is not None:
            live.told += 1

    def skip(self, part: Part) -> None:
        """Take a part as let in, which nobody is there to be told."""
        self._counts.released += 1
        self.score.released(part)
        self._changed.set()

    def talk(self, number: int) -> LiveTalk | None:
        """Return a conversation that is no exchange; None: the recording has none such."""
        return self.score.talk(number)

    async def next_of(self, talk: LiveTalk) -> Part | None:
        """Wait for what the other side says next; then `passed` MUST be called. None: it says nothing more.

        What it stands for may become another one meanwhile, and then that one's is waited for.
        """
        while (part := talk.part) is not None and not self.is_left(talk.talk, part):
            if await self.own_turn(part, f"what comes next in {talk.talk}"):
                return part
            if self.diverged or self._over:
                return None
        return None

    def is_left(self, talk: Talk, part: Part) -> bool:
        """Tell whether a part of a conversation never comes, since the run went live: never in a replay."""
        del talk, part
        return False

    async def own_turn(self, part: Part, words: str) -> bool:
        """Wait for the turn of a part that belongs to no exchange; then `passed` MUST be called."""
        self.score.want(part, words)
        try:
            return await self.turn(part)
        except asyncio.CancelledError:
            self.passed(part)
            self.score.forgo(part)
            self._changed.set()
            raise

    def input_turn(self, seq: int, ended: Callable[[], bool] = lambda: False) -> bool:
        """Wait until the input that was recorded as this event may be given. From any other thread.

        False: it may not, or there is none such, or the replay is over, or the agent has `ended`.
        """
        loop = self._loop
        if loop is None or self._over:
            return False
        try:
            waiting = asyncio.run_coroutine_threadsafe(self._input(seq), loop)
            while not ended():
                with contextlib.suppress(TimeoutError):
                    return waiting.result(LOOK_S)
            waiting.cancel()
        except (RuntimeError, CancelledError):
            return False  # the loop has ended
        return False

    async def _input(self, seq: int) -> bool:
        part = self.score.expect(seq)
        granted = part is not None and await self.turn(part)
        if self._loop is not None:
            self._loop.call_later(INPUT_S, self.passed, part)
        return granted

    def passed(self, part: Part | None) -> None:
        """Note that what was let in is written, or that it will not be."""
        if part is not None and part is self._writing:
            self._written.set()

    def drop(self, part: Part | None) -> None:
        """Wait for a part no longer: whoever wanted it is gone."""
        waiting = None if part is None else self._waiting.pop(part.seq, None)
        if part is not None:
            self.score.forgo(part)
        if waiting is not None and not waiting.go.done():
            waiting.go.set_result(False)
        self._changed.set()

    def report(self) -> Report:
        """Return what it came to."""
        counts = self._counts
        return Report(
            released=counts.released,
            held=counts.held,
            held_s=counts.held_s,
            early=tuple(counts.early),
            unconsumed=tuple(self.score.unconsumed()),
            divergences=tuple(counts.divergences),
            dials=counts.dials,
        )

    async def _conduct(self) -> None:
        while not self.live:
            self._changed.clear()
            part = self.score.next()
            waiting = None if part is None else self._waiting.get(part.seq)
            if part is None or waiting is None or not self.score.may_release(part):
                await self._hold()
                continue
            await self._pace(part)
            if self._is_beyond(part):
                await asyncio.sleep(LOOK_S)
                continue
            if self.score.next() is part and part.seq in self._waiting and not self.diverged:
                await self._release(part, waiting)
                self._tell_played()

    def _tell_played(self) -> None:
        if self.played is not None and self.score.is_played:
            asyncio.get_running_loop().run_in_executor(None, self.played)
            self.played = None

    def _is_beyond(self, part: Part) -> bool:
        """Tell whether something stands before a part that cannot be interpreted: the replay ends there."""
        unknown = self.score.recording.unknown
        if self.diverged or unknown is None or part.seq < unknown[0]:
            return False
        words = f"event {unknown[0]} is of kind {unknown[1]}, which this hark cannot interpret"
        self.diverge(Divergence("uncovered", f"{words}: the replay does not go past it", unknown[0]))
        return True

    async def _pace(self, part: Part) -> None:
        """Wait until the agent has nothing to do, or for as long as it was when this was recorded.

        Where the recorded waits are waited for, too: nothing comes in ahead of an agent that is slower now.
        """
        gap = max(0.0, (part.time_ns - self.score.last_ns) / 1e9)
        if self._realtime:
            since = (part.time_ns - self._last_ns) / 1e9 - (time.monotonic() - self._last_real)
            await asyncio.sleep(max(0.0, since))
        if not self._idle():
            await self._settled(max(gap, SETTLE_S))

    async def _settled(self, allowed_s: float) -> None:
        """Wait until the agent is idle: at most so long, and for as long as others kept it from running."""
        began, before = time.monotonic(), self._starved()
        while not self._idle():
            late = time.monotonic() - began - allowed_s
            if late >= 0 and late >= min(self._starved() - before, STARVED_TIMES * allowed_s + STARVED_S):
                return
            await asyncio.sleep(STEP_S)

    async def _release(self, part: Part, waiting: _Waiting) -> None:
        now = time.monotonic()
        self._counts.released += 1
        if waiting.had_to:
            self._counts.held += 1
            self._counts.held_s += now - waiting.since
        # A head has no event of its own, or a late one: it is recorded with what comes after it.
        at = part.time_ns - 1 if isinstance(part.piece, Head) else part.time_ns
        self._clock.release(at, max(0, at - self._last_ns), self._waited_ns(part, at, now))
        self._last_ns = max(part.time_ns, self._last_ns)
        self._last_real = self._acted_real = now
        self._reached(part)
        self._writing = part
        self._written.clear()
        self.score.released(part)
        if not waiting.go.done():
            waiting.go.set_result(True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WRITE_S):
                    await self._written.wait()
        self._writing = None

    def _waited_ns(self, part: Part, at_ns: int, now: float) -> int:
        """How much longer the agent had waited for a part than it has now. It waits for no decision."""
        if self.score.is_decision(part):
            return 0
        return max(0, at_ns - self.score.last_ns - round((now - self._acted_real) * 1e9))

    def _reached(self, part: Part) -> None:
        """Take that all before a part has been done: it comes in next. Raises RecordError."""
        if isinstance(part.piece, Branched) and part.piece.event is not None:
            self._clock.branched(part.piece.event, part.time_ns)
            self.on_branch(part)

    async def _hold(self) -> None:
        """Wait for something to change; see whether it ever will."""
        idle_s = 0.0
        while not self._changed.is_set():
            held = self.score.held()
            look_s = LOOK_S if held else QUIET_LOOK_S
            began = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self.diverged else look_s):
                    await self._changed.wait()
            if self._changed.is_set():
                return
            idle_s += min(time.monotonic() - began, 2 * look_s)  # we may be what did not come to run
            if not self._idle() or not (held or self._alive()):
                idle_s = 0.0
            elif self._overdue(held, idle_s):
                return

    def _overdue(self, held: list[tuple[Part, str]], idle_s: float) -> bool:
        """Let a connection go on that waited long enough; with none, say that the replay is stuck."""
        if not held:
            found = nothing_comes(self.score, idle_s / STALL_TIMES - self._stall_s)
            if found is not None:
                self.diverge(found)
            return False
        connections = [pair for pair in held if self.score.is_decision(pair[0])]
        part, words = (connections or held)[0]
        awaited = self.score.waiting_for(part)
        gap = max(0.0, ((awaited or part).time_ns - self.score.last_ns) / 1e9)
        if connections and idle_s > gap + CONNECTION_S:
            self._early(part, words, awaited)
            return True
        if not connections and idle_s > gap * STALL_TIMES + self._stall_s:
            self.diverge(stall(part, words, awaited))
            return True
        return False

    def _early(self, part: Part, words: str, awaited: Action | None) -> None:
        came = "" if awaited is None else f", before {awaited.words} (event {awaited.seq})"
        self._counts.early.append(f"{words} (event {part.seq}){came}")
        self.score.forgo(part)
        waiting = self._waiting.pop(part.seq, None)
        if waiting is not None and not waiting.go.done():
            waiting.go.set_result(True)

    def _let_go(self) -> None:
        for waiting in list(self._waiting.values()):
            if not waiting.go.done():
                waiting.go.set_result(False)
        self._changed.set()


def _passed_by(_part: Part) -> None:
    """Do nothing."""


def _live_by(_exchange: int, _verified: int) -> None:
    """Do nothing."""

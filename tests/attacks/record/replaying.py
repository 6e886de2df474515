"""Traps 39 to 42, 44 and 47 to 50: a replay that differs from its recording, or only seems not to."""

import asyncio
import tempfile
import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from cryptography import x509

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd
from hark.replay import exchanges, recorded
from hark.replay.actions import actions
from hark.replay.diverge import compare
from hark.replay.pieces import End, Part
from hark.replay.recorded import Frame
from hark.replay.score import Score
from launcher import kernel, pages
from launcher.draws import Draws
from mediator import ca
from mediator.playback.playback import Playback
from tests.attacks.registry import Outcome, add, run_without
from tests.launcher.rig import Work, python, without

SEED = bytes(range(32))


def _frames(*events: Any) -> list[Frame]:
    return [Frame(seq, seq * 10**9, event) for seq, event in enumerate(events)]


def _asked(path: str, exchange: int) -> ev.LlmRequest:
    return ev.LlmRequest("api.example", "GET", path, exchange=exchange)


def _too_soon() -> Outcome:
    """Of two requests that were under way at once make one: is it answered before the other is there?"""
    ends = (ev.LlmResponseEnd(200, exchange=number) for number in (1, 2))
    score = Score(_frames(_asked("/a", 1), _asked("/b", 2), *ends))
    score.observe(_asked("/a", 1))
    live = score.of(1)
    if live is None:
        return Outcome.said("the request was not matched")
    live.asked = True
    part = score.next()
    return Outcome.seen(str(part), succeeded=part is not None and score.may_release(part))


def _whenever() -> AbstractContextManager[object]:
    return patch.object(Score, "may_release", lambda *_: True)


def _drawn(*threads: int) -> dict[int, bytes]:
    draws = Draws(SEED)
    return {thread: draws.draw(thread, 16) for thread in threads}


def _others_draw() -> Outcome:
    """Be the faster of two threads this time: is what the other draws another value?"""
    first, second = _drawn(3, 4), _drawn(4, 3)
    return Outcome.seen(f"{first}, then {second}", succeeded=first != second)


def _one_queue() -> AbstractContextManager[object]:
    draw = Draws.draw
    return patch.object(Draws, "draw", lambda self, _thread, length: draw(self, 1, length))


def _twice(program: str, change: Work | None = None, **plan: Any) -> Outcome:
    """Run a program in two boundaries: does it print something else?"""
    said = [python(program, change=change, **plan).out for _ in range(2)]
    if not all(said):
        return Outcome.said("it printed nothing")
    return Outcome.seen(f"{said[0]!r}, then {said[1]!r}", succeeded=said[0] != said[1])


def _unseeded(seed: bytes = SEED) -> Outcome:
    return _twice("import os; print(os.urandom(16).hex())", seed=seed)


def _moved(change: Work | None = None) -> Outcome:
    program = "print(id(object()), id(open), [*map(id, (dict, list))])"
    return _twice(program, change, fixed_addresses=True)


def _randomised() -> Outcome:
    return _moved(without(kernel, "no_address_randomisation"))


def _answered(*headers: tuple[bytes, bytes]) -> Any:
    end = ev.LlmResponseEnd(200, exchange=1, raw_headers=headers)
    return actions(_frames(_asked("/", 1), end, RunEnd(exit_code=0, reason="exit")))


def _without_a_cookie() -> Outcome:
    """Have a cookie of the answer lost on the way to the agent: are the runs equal?"""
    found = compare(
        _answered((b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")), _answered((b"set-cookie", b"b=2"))
    )
    return Outcome.seen(f"parts that differ: {found.first and found.first.parts}", succeeded=found.equal)


def _no_headers() -> AbstractContextManager[object]:
    return patch.object(exchanges, "answered_headers", lambda _fields: ())


def _cut() -> Outcome:
    """Record an answer that the server cut off: is it played as a whole one?"""
    cut = ev.LlmResponseEnd(200, exchange=1, error="the server reset the connection")
    told = _frames(_asked("/", 1), ev.LlmResponseChunk(0, b"half", exchange=1), cut)
    last = recorded.read(told).exchanges[1].parts[-1].piece
    return Outcome.seen(type(last).__name__, succeeded=isinstance(last, End))


def _taken_for_whole() -> AbstractContextManager[object]:
    return patch.object(recorded, "Failed", lambda _reason: End())


def _an_hour() -> Outcome:
    """Have recorded an hour's wait: does a replay, whose agent has nothing to do, sleep through it?"""
    slept: list[float] = []

    async def sleep(seconds: float, *_: object) -> None:
        slept.append(seconds)

    async def paced() -> None:
        playback = Playback(Score(_frames(_asked("/", 1))), lambda _: None)
        playback._last_real = time.monotonic()
        with patch.object(asyncio, "sleep", sleep):
            await playback._pace(Part(1, 3600 * 10**9, End()))

    asyncio.run(paced())
    return Outcome.seen(f"slept {slept}", succeeded=any(seconds > 60 for seconds in slept))


def _as_recorded() -> AbstractContextManager[object]:
    pace = Playback._pace

    async def waiting(self: Playback, part: Part) -> None:
        self._realtime = True
        await pace(self, part)

    return patch.object(Playback, "_pace", waiting)


def _turned_back() -> Outcome:
    """Have times of a recording that go back: does the clock that an event loop waits by?"""
    with tempfile.TemporaryFile() as file:
        file.truncate(pages.PAGE_BYTES)
        page = pages.Page(file.fileno())
        page.begin(1, SEED, 0)
        page.move_monotonic(10**9)
        page.move_monotonic(-(10**9))
        file.seek(0)
        offset = int.from_bytes(file.read()[16:24], "little", signed=True)
    return Outcome.seen(f"moved by {offset} ns", succeeded=offset < 10**9)


def _either_way() -> AbstractContextManager[object]:
    def move(self: pages.Page, ns: int) -> None:
        self._signed[pages._OFFSET] += ns

    return patch.object(pages.Page, "move_monotonic", move)


def _of_today() -> Outcome:
    """Replay a run of long ago: is the certificate that its agent is shown from a later day?"""
    then, now = datetime(2001, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    first = x509.load_der_x509_certificate(ca.RunCA.create(then, now).certificate).not_valid_before_utc
    return Outcome.seen(f"valid from {first}", succeeded=first > then)


def _from_today() -> AbstractContextManager[object]:
    span = ca.Span.of
    return patch.object(ca.Span, "of", lambda _now, until: span(until, until))


add(39, "have an answer before what was done before it", _too_soon, run_without(_whenever, _too_soon))
add(
    40,
    "change another thread's draws by drawing first",
    _others_draw,
    run_without(_one_queue, _others_draw),
)
add(41, "draw random bytes that are others in each run", _unseeded, lambda: _unseeded(b""))
add(42, "lose a cookie and pass for equal", _without_a_cookie, run_without(_no_headers, _without_a_cookie))
add(44, "have an answer that was cut pass for a whole one", _cut, run_without(_taken_for_whole, _cut))
add(47, "have a replay wait as long as its run", _an_hour, run_without(_as_recorded, _an_hour))
add(
    48,
    "turn the clock back that a loop waits by",
    _turned_back,
    run_without(_either_way, _turned_back),
)
add(
    49,
    "lie at other addresses in each run",
    _moved,
    lambda: _moved(without(kernel, "no_address_randomisation")),
)
add(50, "be shown a certificate that is not valid yet", _of_today, run_without(_from_today, _of_today))

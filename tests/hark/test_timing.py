"""The clocks of a replay: the agent's as they were, and its record's to the nanosecond."""

from dataclasses import dataclass, field
from pathlib import Path

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.replay.recorded import Frame
from hark.replay.score import Score
from hark.timing import Stamping, Timing
from tests.support.recordings import HEADER

STARTED = 1_000_000_000_000
CHUNKS = [1000, 5000, 9000]


@dataclass
class Ours:
    """A clock that goes on when it is told to."""

    now: int = 50

    def __call__(self) -> int:
        return self.now


@dataclass
class FakePage:
    """As `launcher.pages.Page`, with what it was told."""

    wall: int = 0
    moved: list[int] = field(default_factory=list)

    def set_wall(self, ns: int) -> None:
        self.wall = max(self.wall, ns)

    def move_monotonic(self, ns: int) -> None:
        self.moved.append(max(0, ns))


def timing(ours: Ours) -> tuple[Timing, FakePage]:
    made, page = Timing(STARTED, CHUNKS, ours), FakePage()
    made.show_on(page)  # type: ignore[arg-type]
    return made, page


def test_the_record_begins_at_nothing_whenever_the_clock_was_made() -> None:
    ours = Ours()
    made, _ = timing(ours)
    ours.now += 1_000_000
    assert made.read() == 0
    made.begin()
    assert made.read() == 0
    ours.now += 7
    assert made.read() == 7


def test_the_wall_clock_is_that_of_the_last_event_that_moved_it() -> None:
    made, page = timing(Ours())
    made.begin()
    made.release(500, 500)
    assert page.wall == 0
    made.release(1000, 500)
    assert page.wall == STARTED + 1000
    made.release(4999, 3999)  # the end of an answer: the agent may not have waited for it
    assert page.wall == STARTED + 1000
    made.release(5000, 1)
    assert page.wall == STARTED + 5000


def test_the_monotonic_clock_moves_by_what_was_not_waited() -> None:
    ours = Ours()
    made, page = timing(ours)
    made.begin()
    ours.now += 300
    made.release(1000, 1000)
    ours.now += 9000
    made.release(5000, 4000)
    assert page.moved == [700, 0]


def test_the_record_goes_on_between_releases_and_not_beyond_the_next() -> None:
    ours = Ours()
    made, _ = timing(ours)
    made.begin()
    made.release(1000, 1000)
    ours.now += 10
    assert made.read() == 1010
    ours.now += 1_000_000
    assert made.read() == 5000
    made.release(9000, 4000)
    ours.now += 5
    assert made.read() == 9005


def test_what_comes_in_is_recorded_at_the_recorded_time(tmp_path: Path) -> None:
    ours = Ours()
    made, _ = timing(ours)
    asked, decided = ev.DnsQuery("a.example", "A", 1), ev.DnsDecision("a.example", allowed=True)
    start = RunStart(started_at=STARTED)
    score = Score([Frame(0, 0, start), Frame(1, 900, asked), Frame(2, 1000, decided)])
    with Writer.create(str(tmp_path / "run.hark"), HEADER, clock=made.read) as writer:
        recorder = Stamping(writer, made, score)
        made.begin()
        ours.now += 3
        recorder.append(asked)
        score.observe(asked)
        ours.now += 2000
        recorder.append(decided)  # before it is released, and at the time at which it was
        made.release(5000, 4000)
        ours.now += 11
        recorder.append(ev.LlmResponseChunk(0, b"x", exchange=1))
        recorder.append(ev.LlmRequest(exchange=2))
        recorder.sync(0)
        writer.seal("exit")
    with BundleFile(str(tmp_path / "run.hark")) as file:
        assert [placed.frame.time for placed in file.frames()][:4] == [3, 1000, 5000, 5011]

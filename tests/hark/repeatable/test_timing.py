"""The clocks of a replay: the agent's as they were, and its record's to the nanosecond."""

from dataclasses import dataclass, field
from pathlib import Path

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.repeatable.timing import Moment, Stamping, Timing, moments
from hark.replay.recorded import Frame
from hark.replay.score import Score
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
    seeds: list[bytes] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    nexts: list[int | None] = field(default_factory=list)

    def set_wall(self, ns: int) -> None:
        self.wall = max(self.wall, ns)

    def set_next(self, ns: int | None) -> None:
        self.nexts.append(ns)

    def move_monotonic(self, ns: int) -> None:
        self.moved.append(max(0, ns))

    @property
    def wall_ns(self) -> int:
        return self.wall

    def draw_from(self, seed: bytes) -> None:
        self.seeds.append(seed)

    def go_live(self, wall_offset_ns: int) -> None:
        self.offsets.append(wall_offset_ns)


def timing(ours: Ours) -> tuple[Timing, FakePage]:
    made, page = Timing(STARTED, [Moment(at, STARTED + at) for at in CHUNKS], ours), FakePage()
    made.show_on(page)  # type: ignore[arg-type]
    return made, page


def test_the_page_is_told_when_what_comes_in_next_came_in() -> None:
    inbound = [Moment(1000, 11_000), Moment(2000, 12_000, awaited=False), Moment(5000, 15_000)]
    made, page = Timing(10_000, inbound, Ours()), FakePage()
    made.show_on(page)  # type: ignore[arg-type]
    made.begin()
    for at in (999, 1000, 2000, 5000):
        made.release(at, 0)
    assert page.nexts == [11_000, 11_000, 15_000, 15_000, None]


def test_only_what_is_released_each_time_counts_as_what_comes_in_next() -> None:
    chunk, named = ev.LlmResponseChunk(0, b"x"), ev.DnsDecision("a.example", allowed=True)
    found = moments([(1, ev.Input("streams", b"null")), (2, named), (3, chunk)], STARTED)
    assert [one.awaited for one in found] == [False, False, True]


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


def test_what_the_agent_worked_for_longer_than_here_is_not_made_up_for() -> None:
    """A timer that it set before it asked would run out at once, as in the control."""
    moved = []
    for most in (400, None):
        ours = Ours()
        made, page = timing(ours)
        made.begin()
        ours.now += 100
        made.release(1000, 1000, most)
        moved += page.moved
    assert moved == [400, 900]


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


REAL = STARTED + 10**18
"""Of another year."""
SEED = b"s" * 32
CHUNK = ev.LlmResponseChunk(0, b"x", exchange=1)


def test_a_run_that_goes_live_goes_on_without_a_jump_and_shows_the_real_time() -> None:
    ours = Ours()
    made, page = timing(ours)
    made.begin()
    made.release(1000, 1000)
    ours.now += 70
    assert made.go_live(REAL, SEED) == REAL
    assert made.live
    assert (page.wall, page.seeds, page.offsets) == (REAL, [SEED], [0])
    made.on_frame(ev.Branch(wall_ns=REAL), 1075)
    assert made.read() == 1070
    ours.now += 1_000_000
    assert made.read() == 1_001_070  # nothing that was recorded holds it back
    made.on_frame(CHUNK, 1_001_070)
    assert page.wall == REAL + 1_001_070 - 1075
    made.on_frame(ev.LlmRequest(exchange=2), 1_001_080)
    made.on_frame(ev.WebSocketMessage(from_agent=True), 1_001_080)
    assert page.wall == REAL + 1_001_070 - 1075


def test_what_is_played_after_that_moves_no_clock() -> None:
    made, page = timing(Ours())
    made.begin()
    made.go_live(REAL, b"")
    made.release(5000, 5000)
    made.branched(ev.Branch(wall_ns=REAL + 10**9, seed=SEED), 5000)
    assert (page.wall, page.moved, page.seeds) == (REAL, [], [])


def test_a_clock_that_was_set_back_shows_no_earlier_time() -> None:
    ours = Ours()
    made, page = timing(ours)
    made.begin()
    made.release(5000, 5000)
    ours.now += 300
    shown = STARTED + 5300
    assert made.go_live(STARTED - 10**9, SEED) == shown
    assert (page.wall, page.offsets) == (shown, [shown - STARTED + 10**9])


def test_a_replay_of_a_fork_changes_clock_and_seed_where_it_did() -> None:
    told = [
        (1000, CHUNK),
        (2000, ev.Branch(wall_ns=REAL, seed=SEED)),
        (2500, CHUNK),
        (4000, ev.Branch(wall_ns=2 * REAL, seed=SEED)),
        (4001, ev.LlmRequest(exchange=2)),
        (4100, CHUNK),
    ]
    assert moments(told, STARTED) == [
        Moment(1000, STARTED + 1000),
        Moment(2000, REAL),
        Moment(2500, REAL + 500),
        Moment(4000, 2 * REAL),
        Moment(4100, 2 * REAL + 100),
    ]
    page = FakePage()
    made = Timing(STARTED, moments(told, STARTED), Ours())
    made.show_on(page)  # type: ignore[arg-type]
    made.begin()
    made.release(1999, 999)
    assert page.wall == STARTED + 1000
    made.release(2000, 1)
    made.branched(ev.Branch(wall_ns=REAL, seed=SEED), 2000)
    assert (page.wall, page.seeds) == (REAL, [SEED])
    made.release(2500, 500)
    assert page.wall == REAL + 500
    assert not made.live


def test_a_fork_of_a_fork_is_shown_no_earlier_time_than_its_parents_branch() -> None:
    ours = Ours()
    made, _ = timing(ours)
    made.begin()
    made.release(1000, 1000)
    made.branched(ev.Branch(wall_ns=REAL), 1000)
    ours.now += 30
    assert made.go_live(STARTED, SEED) == REAL + 30


def test_once_it_is_live_events_have_their_own_time_and_another_recorder(tmp_path: Path) -> None:
    ours = Ours()
    made, _ = timing(ours)
    score = Score([Frame(0, 0, RunStart(started_at=STARTED))])
    appended: list[str] = []

    class Live:
        def append(self, event: ev.Event, *, durable: bool = False) -> int:
            appended.append(type(event).__name__)
            return writer.append(event, durable=durable)

        def sync(self, seq: int) -> None:
            writer.sync(seq)

    with Writer.create(str(tmp_path / "run.hark"), HEADER, clock=made.read) as writer:
        recorder = Stamping(writer, made, score, Live())
        made.begin()
        made.release(1000, 1000)
        ours.now += 5
        recorder.append(ev.PolicyLoaded())  # the operator's side, at the release
        recorder.append(CHUNK)
        wall = made.go_live(REAL, SEED)
        recorder.append(ev.Branch(wall_ns=wall))
        ours.now += 9
        recorder.append(CHUNK)
        writer.seal("exit")
    assert appended == ["Branch", "LlmResponseChunk"]
    with BundleFile(str(tmp_path / "run.hark")) as file:
        assert [placed.frame.time for placed in file.frames()][:4] == [1000, 1000, 1005, 1014]

"""The score: which recording answers a request, in what order, and what is left over."""

from typing import Any

from hark.bundle.events import (
    AGENT_LEFT,
    DnsDecision,
    DnsQuery,
    EgressAttempt,
    EgressDecision,
    LlmResponseEnd,
    RequestChunk,
    RunStart,
)
from hark.replay.live import Miss
from hark.replay.pieces import Data, End, Head
from hark.replay.score import Score
from tests.hark.replay.test_recorded import asked, end, frames, piece


def score_of(*events: Any) -> Score:
    """Return the score of a recording."""
    return Score(frames(*events))


def ask(score: Score, path: str, exchange: int, body: bytes = b"") -> Miss | None:
    """Make a request whose answer is wanted."""
    miss = score.observe(asked(path, exchange=exchange, body=body))
    live = score.of(exchange)
    assert live is not None
    live.asked = True
    return miss


def release(score: Score) -> Any:
    """Let in what comes next and return it."""
    part = score.next()
    assert part is not None
    assert score.may_release(part)
    score.released(part)
    return part.piece


def test_an_answer_is_released_part_by_part_and_is_used_up() -> None:
    score = score_of(asked("/a"), piece(b"x"), end())
    assert ask(score, "/a", 7) is None
    assert [type(release(score)) for _ in range(3)] == [Head, Data, End]
    assert score.next() is None
    assert score.unconsumed() == []


def test_a_retry_gets_the_second_answer_and_a_third_time_is_a_miss() -> None:
    score = score_of(asked(), piece(b"1"), end(), asked(exchange=2), piece(b"2", exchange=2), end(exchange=2))
    got = []
    for exchange in (5, 6):
        assert ask(score, "/", exchange) is None
        got += [release(score) for _ in range(3)]
        score.observe(LlmResponseEnd(exchange=exchange))
    assert [part.data for part in got if isinstance(part, Data)] == [b"1", b"2"]
    miss = ask(score, "/", 7)
    assert miss is not None
    assert miss.words == "it was made 2 times when it was recorded, and is made again"


def test_a_request_that_no_recording_has_is_a_miss_with_the_nearest() -> None:
    score = score_of(asked("/a", body=b"x"), end())
    miss = ask(score, "/a", 1, b"y")
    assert miss is not None
    assert miss.nearest == "nearest is event 0, of which body, digest differs"
    assert score.next() is None
    assert score.unconsumed() == ["the answer to POST api.test/a (event 0) was not asked for"]


def test_an_answer_waits_for_each_request_that_came_before_it_whatever_the_order_now() -> None:
    score = score_of(
        asked("/a"),
        asked("/b", exchange=2),
        piece(b"b", exchange=2),
        end(exchange=2),
        piece(b"a"),
        end(),
    )
    assert ask(score, "/b", 1) is None
    part = score.next()
    assert part is not None
    assert not score.may_release(part)
    awaited = score.waiting_for(part)
    assert awaited is not None
    assert (awaited.seq, awaited.words) == (0, "POST api.test/a")
    assert ask(score, "/a", 2) is None
    got = [release(score) for _ in range(6)]
    assert [one.data for one in got if isinstance(one, Data)] == [b"b", b"a"]
    assert score.unconsumed() == []


def test_an_answer_that_is_not_wanted_yet_holds_nothing_up() -> None:
    score = score_of(asked("/a"), asked("/b", exchange=2), piece(b"a"), end(), end(204, exchange=2))
    assert score.observe(asked("/a", exchange=1)) is None
    assert ask(score, "/b", 2) is None
    assert release(score).status == 204


def test_denied_names_hold_answers_up_and_allowed_ones_do_not() -> None:
    score = score_of(
        DnsQuery("a.test", "A"),
        DnsDecision("a.test", True),
        asked("/a"),
        DnsQuery("evil.test", "A"),
        DnsDecision("evil.test", False),
        end(204),
    )
    assert ask(score, "/a", 1) is None
    part = score.next()
    assert part is not None
    assert not score.may_release(part)
    assert [words for _, words in score.held()] == ["the answer to POST api.test/a"]
    score.observe(DnsQuery("evil.test", "A"))
    score.observe(DnsDecision("evil.test", False))
    taken = score.take()
    assert taken is not None
    assert score.is_decision(taken)
    assert score.next() is taken
    score.released(taken)
    assert release(score).status == 204


def test_a_name_that_was_not_asked_then_goes_on_at_once_and_one_that_was_has_its_turn() -> None:
    score = score_of(DnsQuery("a.test", "A"), DnsDecision("a.test", True))
    for name, known in (("b.test", False), ("a.test", True), ("a.test", False)):
        score.observe(DnsQuery(name, "A"))
        score.observe(DnsDecision(name, True))
        assert (score.take() is not None) is known


def test_a_verdict_that_is_another_now_matches_nothing() -> None:
    score = score_of(EgressAttempt("a", 1, "tls"), EgressDecision("a", False))
    score.observe(EgressAttempt("a", 1, "tls"))
    score.observe(EgressDecision("a", True))
    assert score.take() is None


def test_a_streamed_request_is_matched_at_its_end_by_all_of_it() -> None:
    score = score_of(
        asked(streaming=True),
        RequestChunk(1, 0, b"aa", last=True),
        end(200),
        asked(streaming=True, exchange=2),
        RequestChunk(2, 0, b"bb", last=True),
        end(201, exchange=2),
    )
    for exchange, body, status in ((1, b"bb", 201), (2, b"aa", 200)):
        score.observe(asked(streaming=True, exchange=exchange))
        live = score.of(exchange)
        assert live is not None
        assert live.recorded is None
        assert score.observe(RequestChunk(exchange, 0, body[:1])) is None
        assert score.observe(RequestChunk(exchange, 1, body[1:], last=True)) is None
        assert live.recorded is not None
        assert live.recorded.parts[0].piece.status == status  # type: ignore[union-attr]


def test_an_answer_that_began_before_the_request_ended_is_matched_by_its_head_and_waits_for_as_much() -> None:
    score = score_of(
        asked(streaming=True),
        RequestChunk(1, 0, b"abc"),
        piece(b"x"),
        RequestChunk(1, 1, b"d", last=True),
        end(),
    )
    score.observe(asked(streaming=True, exchange=4))
    live = score.of(4)
    assert live is not None
    assert live.recorded is not None
    live.asked = True
    score.observe(RequestChunk(4, 0, b"ab"))
    part = score.next()
    assert part is not None
    assert not score.may_release(part)
    score.observe(RequestChunk(4, 1, b"c"))
    assert isinstance(release(score), Head)
    assert isinstance(release(score), Data)
    part = score.next()
    assert part is not None
    assert not score.may_release(part)
    miss = score.observe(RequestChunk(4, 2, b"X", last=True))
    assert miss is not None


def test_what_the_agent_left_then_is_withheld_until_it_leaves() -> None:
    score = score_of(
        asked(), piece(b"a"), end(error=AGENT_LEFT), asked("/b", exchange=2), end(204, exchange=2)
    )
    assert ask(score, "/", 1) is None
    assert [type(release(score)) for _ in range(2)] == [Head, Data]
    assert score.next() is None
    ((part, _),) = score.held()
    awaited = score.waiting_for(part)
    assert awaited is not None
    assert awaited.words == "the agent's going away from POST api.test/"
    assert score.unconsumed()[0].startswith("the agent did not go away from POST api.test/")
    score.observe(LlmResponseEnd(exchange=1, error=AGENT_LEFT))
    assert ask(score, "/b", 2) is None
    assert release(score).status == 204
    assert isinstance(release(score), End)
    assert score.unconsumed() == []


def test_an_answer_that_the_agent_left_only_now_is_not_used_up() -> None:
    score = score_of(asked(), piece(b"a"), end())
    ask(score, "/", 1)
    release(score)
    score.observe(LlmResponseEnd(exchange=1, error=AGENT_LEFT))
    assert score.unconsumed() == ["the answer to POST api.test/ (event 0) was used up to part 1 of 3"]


def test_what_was_refused_is_used_up_by_being_refused_again_and_not_by_an_answer() -> None:
    refused = (asked(), end(403, "refused: no"))
    for error, left in (("refused: no", 0), ("", 1)):
        score = score_of(*refused)
        score.observe(asked(exchange=1))
        assert score.next() is None
        score.observe(LlmResponseEnd(exchange=1, error=error))
        assert len(score.unconsumed()) == left


def test_the_time_is_that_of_what_the_agent_does_next() -> None:
    score = score_of(RunStart(), asked("/a"), end(204), asked("/b", exchange=2), end(204, exchange=2))
    assert score.now_ns() == 1 * 10**6
    ask(score, "/a", 1)
    assert score.last_ns == 1 * 10**6
    release(score)
    assert score.now_ns() == 3 * 10**6

"""Whether leaving amid an answer is told apart from leaving right after it."""

import pytest

from hark.bundle.events import AGENT_LEFT, RUN_ENDED, LlmRequest
from hark.replay.canonical import Gathering
from hark.replay.leaving import BREATH_NS, not_told_apart
from hark.replay.live import Live
from hark.replay.pieces import Action, Branched, Data, End, Failed, Head, Part, Piece, Withheld
from hark.replay.recorded import Recorded

REQUEST = LlmRequest("a.example", "GET", "/", {}, exchange=1)
HEAD = Part(4, 10, Head(200, (), ends=False))
DATA = Part(5, 20, Data(b"x"))


def live(*parts: Part, told: int = 1, asked: bool = True) -> Live:
    recorded = Recorded(REQUEST, Action(3, 0, "GET a.example/", blocking=True), parts=list(parts))
    return Live(
        REQUEST, Gathering(REQUEST), 0, recorded=recorded, at=told, told=told, ended=True, asked=asked
    )


def taken(of: Live, *, now_ns: int = 10, may: bool = True) -> bool:
    return not_told_apart(of, now_ns, lambda _: may)


@pytest.mark.parametrize("last", [End(), Failed("it broke off")])
def test_the_rest_of_what_came_to_its_end_is_taken_to_have_come(last: Piece) -> None:
    assert taken(live(HEAD, DATA, Part(6, 30, last)))
    assert taken(live(HEAD, DATA, Part(6, 30, last), told=0))
    assert taken(live(HEAD, DATA, Part(6, 30, last), told=3))


def test_it_is_not_where_an_act_of_the_agents_or_time_lay_between() -> None:
    whole = live(HEAD, DATA, Part(6, 30, End()))
    assert not taken(whole, may=False)
    late = live(HEAD, DATA, Part(6, 11 + BREATH_NS, End()))
    assert not taken(late)
    assert taken(late, now_ns=11)  # the replay is further than this answer is


def test_it_is_not_where_nothing_says_that_it_came() -> None:
    assert not taken(live(HEAD, DATA, Part(6, 30, Withheld("the recording ends"))))
    assert not taken(live(HEAD, DATA, Part(6, 30, Branched()), Part(7, 40, End())))
    assert not taken(live(HEAD, DATA, Part(6, 30, End()), asked=False))
    assert not taken(live())
    assert not taken(Live(REQUEST, Gathering(REQUEST), 0))


@pytest.mark.parametrize("why", [AGENT_LEFT, RUN_ENDED])
def test_so_is_what_came_before_the_agent_left_when_it_was_recorded(why: str) -> None:
    assert taken(live(HEAD, DATA, Part(6, 30 + BREATH_NS, Withheld(why))))
    assert not taken(live(HEAD, Part(5, 11 + BREATH_NS, Data(b"x")), Part(6, 30 + BREATH_NS, Withheld(why))))
    assert not taken(live(HEAD, DATA, Part(6, 30, Withheld(why))), may=False)


def test_it_is_not_before_what_of_the_request_had_gone_out() -> None:
    early = live(HEAD, Part(6, 30, End(), sent=5))
    early.ended = False
    assert not taken(early)
    early.sent = 5
    assert taken(early)

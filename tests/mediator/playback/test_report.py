"""A stall names what did not come, and who waits for it."""

from hark.replay.pieces import Action, Data, Head, Part, Withheld
from mediator.playback.report import stall


def test_a_stall_names_both_sides() -> None:
    found = stall(Part(9, 0, Head(200, (), ends=False)), "the answer to GET a/", Action(4, 0, "GET b/", True))
    assert (found.kind, found.event) == ("stall", 4)
    assert (
        found.words
        == "GET b/ (event 4) did not come, and the answer to GET a/ waits for it with its beginning (event 9)"
    )


def test_without_an_action_it_is_the_agent_that_takes_no_more() -> None:
    assert (
        stall(Part(9, 0, Data(b"x")), "the answer", None).words
        == "the agent takes no more of the answer (event 9)"
    )
    more = stall(Part(9, 0, Withheld("x")), "the answer", None)
    assert "than was recorded before the recording ends" in more.words

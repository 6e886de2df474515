"""What of a recorded answer was not used is named, by how far it was."""

from hark.bundle.events import LlmRequest
from hark.replay.canonical import Gathering
from hark.replay.live import Live, left_over, to_come
from hark.replay.pieces import Action, Data, End, Part, Withheld
from hark.replay.recorded import Recorded

REQUEST = LlmRequest("a.example", "GET", "/", {}, exchange=1)


def recorded(*parts: Part) -> Recorded:
    return Recorded(REQUEST, Action(3, 0, "GET a.example/", blocking=True), parts=list(parts))


def live(of: Recorded, at: int) -> Live:
    return Live(REQUEST, Gathering(REQUEST), 0, recorded=of, at=at)


def test_each_way_of_not_being_used_has_its_words() -> None:
    one = recorded(Part(4, 0, Data(b"x")), Part(5, 0, End()))
    assert left_over(one, None) == "the answer to GET a.example/ (event 3) was not asked for"
    assert left_over(one, live(one, 0)).endswith("was not used")
    assert left_over(one, live(one, 1)).endswith("was used up to part 1 of 2")
    assert left_over(one, live(one, 2)) == ""


def test_nothing_comes_of_what_was_withheld() -> None:
    one = recorded(Part(4, 0, Data(b"x")), Part(5, 0, Withheld("the run ended")))
    assert to_come(live(one, 0)) == one.parts[0]
    assert to_come(live(one, 1)) is None
    assert to_come(live(one, 2)) is None

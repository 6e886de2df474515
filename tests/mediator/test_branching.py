"""What a branch point puts into force, in a fork and in a replay of one."""

from pathlib import Path

from hark.bundle.events import Branch, LlmResponseEnd, PolicyLoaded
from hark.policy.model import Policy, Rule
from hark.replay.recorded import Frame
from mediator.branching import Ahead, InForce
from tests.mediator.playback.rig import playing
from tests.mediator.playback.test_forking import recorded
from tests.mediator.rig import API, PLACEHOLDER, VALUE, secret


def test_the_policy_of_a_recorded_branch_is_in_force_from_there_in_a_replay(tmp_path: Path) -> None:
    frames = recorded(tmp_path / "run.hark", 2)
    first = next(at for at, frame in enumerate(frames) if isinstance(frame.event, LlmResponseEnd))
    seq = frames[first].seq
    later = [frame._replace(seq=frame.seq + 2, time_ns=frame.time_ns) for frame in frames[first + 1 :]]
    branch = Branch(bytes(32), 3, "response", 5, exchange=1)
    added = [
        Frame(seq + 1, frames[first].time_ns, branch),
        Frame(seq + 2, frames[first].time_ns, PolicyLoaded("live", raw=b"")),
    ]
    opening = Frame(0, 0, PolicyLoaded("first", raw=b""))
    told = [opening, *frames[: first + 1], *added, *later]
    marked = Policy(source="live", allow=(Rule(API, name="allow 1", may_reexecute=True),))
    then = InForce(marked, PolicyLoaded("live", raw=b""))
    with playing(told, API, branches={seq + 1: then}) as played, played.rig.https() as client:
        for number in range(2):
            client.request("POST", f"/{number}", body=b"hello %d" % number)
            assert client.getresponse().read() == b"POST /%d 7" % number
    assert played.diverged == []
    order = [type(event) for event in played.rig.recorder.events]
    assert order[order.index(Branch) + 1] is PolicyLoaded
    assert played.rig.recorder.of(Branch)[0].exchange == 1


def test_a_value_is_shown_by_nothing_that_holds_it() -> None:
    then = InForce(Policy(), secrets=(secret(VALUE, API),))
    assert VALUE not in repr(Ahead(lambda *_: Branch(), then))
    assert PLACEHOLDER not in repr(then)

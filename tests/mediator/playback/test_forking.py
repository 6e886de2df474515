"""A fork's conductor against real servers: played up to the branch point, dialled from there on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hark.bundle.events import Branch, LlmRequest, LlmResponseEnd, PolicyLoaded, Rewritten
from hark.fork.asking import Asking
from hark.patch.apply import Sent
from hark.patch.model import parse_patch
from hark.patch.rewrite import Rewrites
from hark.policy.model import HostRule, Policy, Rule
from hark.replay.pieces import Branched, Data, Part
from hark.replay.recorded import Frame
from hark.replay.score import Score
from mediator.branching import Ahead, InForce
from mediator.playback.forking import Forking
from mediator.playback.report import Divergence
from tests.fakes.upstream import Upstream, serving
from tests.mediator.playback.rig import Steps, frames_of, recording
from tests.mediator.rig import API, Rig, pair, running

AGAIN = Policy(allow=(Rule(API, name="allow 1", may_reexecute=True),))


def recorded(path: Path, count: int = 3) -> list[Frame]:
    """Record so many requests on one connection."""
    with recording(path) as recorder, pair(recorder=recorder) as (rig, _), rig.https() as client:
        for number in range(count):
            client.request("POST", f"/{number}", body=b"hello %d" % number)
            client.getresponse().read()
        recorder.wait_for(LlmResponseEnd, count)
    return frames_of(path)


@contextmanager
def forking(
    frames: list[Frame], nth: int, *, live: bool, policy: Policy = AGAIN, patch: bytes = b""
) -> Iterator[tuple[Rig, Upstream, list[Divergence]]]:
    """Run a fork that goes live at the nth exchange: at its request, or with an answer of `patched`."""
    score = Score(frames)
    found = list(score.recording.exchanges.values())[nth]
    parts = found.parts
    if live:
        parts = [Part(found.seq, found.head.time_ns, Branched(), found.sent)]
    else:
        parts = [
            one._replace(piece=Data(b"PATCHED!!")) if isinstance(one.piece, Data) else one for one in parts
        ]
    found.parts = parts
    request = Sent("POST", API, found.request.path, found.request.raw_headers, b"")
    asking = Asking(request if live else None, parse_patch(patch) if patch else None, Rewrites())
    diverged: list[Divergence] = []
    playback = Forking(score, diverged.append, parts[0], asking, clock=Steps(), stall_s=30)

    def begun(exchange: int, verified: int) -> Branch:
        asking.branch = exchange
        return Branch(bytes(32), parts[0].seq, "request", 5, verified=verified, exchange=exchange)

    then = InForce(policy, PolicyLoaded("live", raw=b""))
    with (
        serving(API) as upstream,
        running(
            API,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            playback=playback,
            ahead=Ahead(begun, then),
        ) as rig,
    ):
        yield rig, upstream, diverged


def ask(rig: Rig, count: int) -> list[tuple[int, bytes]]:
    """Make the requests on one kept-alive connection."""
    got = []
    with rig.https() as client:
        for number in range(count):
            client.request("POST", f"/{number}", body=b"hello %d" % number)
            answer = client.getresponse()
            got.append((answer.status, answer.read()))
    return got


def test_what_follows_a_patched_answer_is_asked_of_the_real_server_on_the_same_connection(
    tmp_path: Path,
) -> None:
    frames = recorded(tmp_path / "run.hark")
    with forking(frames, 1, live=False) as (rig, upstream, diverged):
        got = ask(rig, 4)
    assert got[0] == (200, b"POST /0 7")
    assert got[1] == (200, b"PATCHED!!")
    assert [seen.path for seen in upstream.seen] == ["/2", "/3"]
    assert (upstream.dials, diverged, rig.fatal) == (1, [], [])
    order = [type(event) for event in rig.recorder.events]
    (branch,) = rig.recorder.of(Branch)
    assert (branch.verified, branch.exchange) == (4, 2)
    assert order[order.index(Branch) + 1] is PolicyLoaded


def test_the_request_at_the_branch_point_is_the_first_that_is_asked(tmp_path: Path) -> None:
    frames = recorded(tmp_path / "run.hark")
    patch = b'{"replace": "hello 1", "with": "good bye", "on": "request"}'
    with forking(frames, 1, live=True, patch=patch) as (rig, upstream, _):
        ask(rig, 3)
    assert [(seen.path, seen.body) for seen in upstream.seen] == [("/1", b"good bye"), ("/2", b"hello 2")]
    assert upstream.seen[0].header("content-length") == "8"
    (sent,) = rig.recorder.of(Rewritten)
    assert (sent.exchange, sent.body, sent.why) == (2, b"good bye", "the patch")
    assert [request.body for request in rig.recorder.of(LlmRequest)] == [b"hello 0", b"hello 1", b"hello 2"]


def test_what_may_change_the_world_is_refused_unless_it_is_marked(tmp_path: Path) -> None:
    frames = recorded(tmp_path / "run.hark")
    unmarked = Policy(allow_hosts=(HostRule(API),))
    with forking(frames, 0, live=False, policy=unmarked) as (rig, upstream, _):
        got = ask(rig, 2)
    assert got[1][0] == 403
    assert b"may_reexecute" in got[1][1]
    assert upstream.dials == 0


def test_a_request_that_differs_before_the_branch_point_ends_it_and_nothing_is_dialled(
    tmp_path: Path,
) -> None:
    frames = recorded(tmp_path / "run.hark")
    with forking(frames, 2, live=False) as (rig, upstream, diverged), rig.https() as client:
        client.request("POST", "/0", body=b"another")
        rig.recorder.wait_for(LlmRequest, 1)
    assert [one.kind for one in diverged] == ["miss"]
    assert upstream.dials == 0
    assert rig.recorder.of(Branch) == []

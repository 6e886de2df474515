"""What must not come out equal, tried on every run of the table: without these no row of it says anything.

Each is a replay of a small recording to which something was done, or a count where there is something to
count. A control that is not seen makes the whole run a failure, whatever the rows say.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import time as now
from typing import Any, Final

from fidelity import clock
from fidelity.recording import Kit, Recorded
from fidelity.replaying import Replayed, alone, replay
from fidelity.shape import Folder, folders
from hark.bundle import events as ev
from tests.support.rerecorded import Told, retell, without
from tests.support.user import User

SUBJECT: Final = "repeat"
"""A recording of requests whose answers come back in a later request."""
ASKING: Final = "a program that asks for the time of day"
DIVERGED: Final = 1
REFUSED: Final = 4


@dataclass(frozen=True, slots=True)
class Control:
    """One of them: what was done, what had to come of it, what came."""

    name: str
    must: str
    came: str
    seen: bool


def subject() -> Folder:
    """The shape whose recording is tampered with."""
    return next(folder for folder in folders() if folder.name == SUBJECT)


def one_byte(told: list[Told]) -> Iterator[Told]:
    """Change one byte of the first answer."""
    done = False
    for time, event in told:
        if isinstance(event, ev.LlmResponseChunk) and b"first" in event.data and not done:
            done = True
            yield time, event._replace(data=event.data.replace(b"first", b"fir5t"))
        else:
            yield time, event


def swapped(told: list[Told]) -> Iterator[Told]:
    """Let the first two answers change places."""
    places = {b"first": b"secon", b"second": b"first!"}
    for time, event in told:
        data = getattr(event, "data", b"") if isinstance(event, ev.LlmResponseChunk) else b""
        word = next((each for each in places if each in data), None)
        yield time, event._replace(data=data.replace(word, places[word])) if word else event


def shifted(told: list[Told]) -> Iterator[Told]:
    """Change what a request was asked."""
    for time, event in told:
        if isinstance(event, ev.RequestChunk):
            yield time, event._replace(data=event.data.replace(b"next?", b"last?"))
        elif isinstance(event, ev.LlmRequest) and isinstance(event.body, bytes):
            yield time, event._replace(body=event.body.replace(b"next?", b"last?"))
        else:
            yield time, event


def last_answer(event: Any) -> bool:
    """Choose the pieces of the last exchange's answer: without them it was never answered."""
    return isinstance(event, ev.LlmResponseChunk) and b"got" in event.data


CHANGES: Final[tuple[tuple[str, Callable[[list[Told]], Any]], ...]] = (
    ("one byte of an answer changed, and signed again", one_byte),
    ("two answers swapped, and signed again", swapped),
    ("a word of a request changed, and signed again", shifted),
    ("an answer's body dropped, and signed again", without(last_answer)),
)


def controls(recording: Recorded, kit: Kit, user: User) -> Iterator[Control]:
    """Try them all on a recording of `subject()`, which replays equal."""
    with tempfile.TemporaryDirectory(prefix="hark-control-") as name:
        place = Path(name)
        place.chmod(0o755)
        plain = replay(recording, kit, user, 0)
        yield Control(
            "the recording as it is", "equal", words(plain, recording), not plain.fault(recording.out)
        )
        for number, (what, change) in enumerate(CHANGES):
            bundle = retell(recording.bundle, place / f"{number}.hark", change)
            got = replay(replace(recording, bundle=bundle), kit, user, 0)
            yield Control(what, "diverged", words(got, recording), got.code == DIVERGED)
        got = replay(replace(recording, bundle=flipped(recording, place)), kit, user, 0)
        came = words(got, recording)
        yield Control(
            "one byte of the file flipped", "refused", came, got.code == REFUSED and "BROKEN" in came
        )
        yield counted(user, place)
        yield timed(user, place)


def words(got: Replayed, recording: Recorded) -> str:
    """What came, in few words."""
    return got.fault(recording.out) or "equal"


def flipped(recording: Recorded, place: Path) -> Path:
    """A copy of the bundle with one bit of its middle turned."""
    data = bytearray(recording.bundle.read_bytes())
    data[len(data) // 2] ^= 1
    path = place / "flipped.hark"
    path.write_bytes(data)
    return path


DIAL: Final = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
except OSError as error:
    print(error)
try:
    socket.create_connection(("192.0.2.1", 443), 5)
except OSError as error:
    print(error)
"""


def counted(user: User, place: Path) -> Control:
    """Dial where a server was, and an address that there is no way to: both must be counted."""
    own = place / "dialling"
    own.mkdir(mode=0o755)
    port = free_port()
    got = alone([user.python, "-c", DIAL, str(port)], user, own, [port])
    came = f"{'no namespace' if got.sent is None else f'{got.sent} packets'}, {got.dialled} dialled"
    seen = got.dialled == 1 and (got.sent is None or got.sent > 1)
    return Control("a program that dials the server's address", "counted", came, seen)


ASK: Final = "import time; print(time.time())"
TOLD_S: Final = 600
"""What may lie between the question and the answer, on a machine that is busy with something else."""


def timed(user: User, place: Path) -> Control:
    """Ask for the time of day as a replay does in its first two turns: it must be another, both ways."""
    own = place / "asking"
    own.mkdir(mode=0o755)
    moves = []
    for turn in range(2):
        before = now()
        got = alone([user.python, "-c", ASK], user, own, [], clock.there(user, turn))
        moves.append(float(got.out) - before)
    came = ", ".join(f"{move / 3600:+.1f} h" for move in moves)
    right = [abs(move - clock.seconds(turn)) < TOLD_S for turn, move in enumerate(moves)]
    if not clock.can_be_moved():
        return Control(ASKING, "moved", f"{came}: there is no C compiler here", seen=True)
    return Control(ASKING, "moved", came, all(right))


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])

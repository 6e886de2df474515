"""One test recorded or played: a run like any other, but for what stands around it.

Always: matching, order and verdict are those of `hark replay`. What a run records of files and programs is
not there, and not compared; nor are clock and randomness the recorded ones. A bundle is played to the test
whose command it has, and to no other.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.errors import HarkError, ReplayError
from hark.inprocess import staging, words
from hark.inprocess.seat import AUTHORITY, Seat
from hark.inprocess.words import WHERE, Job, Verdict
from hark.rerun.admitting import own_key, signed_by
from hark.rerun.judging import judge
from hark.rerun.recalled import Recalled, recall
from hark.rerun.replaying import Asked, Course, Replayed
from hark.rerun.restaging import Given, Staged, policy_of, refuse_hostile
from hark.running.filing import Files
from hark.running.keeping import find_place
from hark.running.run import Run
from launcher import wire
from launcher.idle import Idle

if TYPE_CHECKING:
    from mediator.ca import RunCA
    from mediator.credentials import Broker
    from mediator.origin import Origin

NOTHING: Final = "no boundary stood around it: files, programs and other ways to the network were open to it"


class Uncontained(Run):
    """A run without a boundary."""

    boundary: Seat

    def filed(self, broker: "Broker", own: tuple[str, ...]) -> Files | None:
        """Nothing of the project is recorded: the test may be at it while it is read."""
        del broker, own
        return None

    def origin(self) -> "Origin":
        """The test has said what it means."""
        return self.boundary.origin

    def shown(self, ca: "RunCA", roots: bytes) -> dict[str, bytes]:
        """Return the run's authority alone: what is trusted besides is the test's own affair."""
        del roots
        return {AUTHORITY: ca.pem()}

    def stands(self) -> ev.Event:
        """Say that nothing does."""
        facts = self.boundary.facts
        kernel = f"{facts.kernel} {facts.machine}"
        notes = (NOTHING,) if os.getuid() else (NOTHING, "it ran as root")
        return ev.Boundary(kernel=kernel, uid=facts.uid, gid=facts.gid, notes=notes)

    def opening(self) -> Iterator[ev.Event]:
        """Mark the record."""
        for event in super().opening():
            yield event._replace(uncontained=WHERE) if isinstance(event, RunStart) else event


class Playing(Uncontained, Replayed):
    """A replay without a boundary."""

    def tell(self, *_told: object, **_named: object) -> None:
        """Say nothing, and count no packets: the network is the machine's."""

    def course(self, signer: str, staged: Staged, asked: Asked) -> Course:
        """Have what is not on record here left out of the comparison."""
        return replace(super().course(signer, staged, asked), uncontained=True)

    def _is_idle(self) -> bool:
        return Idle(self.boundary.process(), but=os.getpid())()

    def _starved(self) -> float:
        return Idle(self.boundary.process(), but=os.getpid()).starved()


def attend(channel: socket.socket, environ: Mapping[str, str]) -> None:
    """Do what the test asks for first, and answer with the verdict, or with why there is none."""
    message = wire.receive(channel)
    if message.word != words.JOB:
        return
    job = Job.heard(json.loads(message.fields[0]))
    try:
        verdict = _record(job, channel, environ) if job.bundle is None else _play(job, channel, environ)
        said = {"exit_code": verdict.exit_code, "lines": list(verdict.lines), "strayed": verdict.strayed}
        wire.send(channel, words.VERDICT, json.dumps(said))
    except HarkError as error:
        wire.send(channel, words.FAILED, str(error))


def _record(job: Job, channel: socket.socket, environ: Mapping[str, str]) -> Verdict:
    lines: list[str] = []
    prepared = staging.to_record(job, environ)
    place = find_place(job.output, None, environ, lines.append)
    seat = Seat(channel, os.getppid(), staging.shown(prepared))
    run = Uncontained(prepared, place, seat, environ, say=lines.append, show=lines.append)
    try:
        code = run.play()
        seat.until_end()
    finally:
        seat.close()
    return Verdict(code, tuple(lines))


def _play(job: Job, channel: socket.socket, environ: Mapping[str, str]) -> Verdict:
    recalled = recall(str(job.bundle), own=own_key(environ))
    refuse_hostile(recalled)
    refuse_another(job, recalled)
    prepared = staging.to_play(job, recalled, policy_of(recalled, Given()))
    place = find_place(job.output, None, environ, _unsaid)
    asked = Asked(str(job.bundle))
    seat = Seat(channel, os.getppid(), staging.shown(prepared))
    run = Playing(prepared, place, seat, environ, say=_unsaid, recalled=recalled, asked=asked)
    try:
        run.play()
        seat.until_end()
        staged = Staged(prepared, tuple(_notes(recalled)))
        judgement = judge(run.course(signed_by(recalled, environ), staged, asked))
    finally:
        run.contents.close()
        seat.close()
    strayed = bool(judgement.course.report.divergences)
    return Verdict(judgement.exit_code, tuple(judgement.lines()), strayed)


def _unsaid(_line: str) -> None:
    """Leave it to the verdict."""


def refuse_another(job: Job, recalled: Recalled) -> None:
    """Refuse a bundle of something else than this test. Raises ReplayError."""
    if words.is_another(recalled.start.argv, job.argv):
        raise ReplayError(words.other_test(recalled.start.argv, job.argv))


def _notes(recalled: Recalled) -> Iterator[str]:
    """Yield what the test has not as it was recorded."""
    controlled = recalled.determinism
    if controlled is not None and controlled.mechanisms:
        yield (
            "clock and randomness were under control when it was recorded, and are the machine's own here: "
            "what is drawn or dated may differ"
        )

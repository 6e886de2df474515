"""A bisection as a command asks for it: from a bundle's name to an outcome, all of it kept in a folder.

What always holds: the bundle is verified and admitted once, before anything is started, as for a fork; one
that is not the caller's own is copied first, and every fork is made of that copy. A session that is
interrupted loses the runs that were under way, and no other.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hark import ids, keys
from hark.bisect import bisecting, facts, kept
from hark.bisect.bisecting import Bisection, Suspect
from hark.bisect.counting import Rule, Shown
from hark.bisect.ddmin import ddmin, probable
from hark.bisect.driver import Done, Driver
from hark.bisect.expression import Expression, holds, parse
from hark.bisect.folder import Folder
from hark.bisect.forks import Forks
from hark.bisect.judging import Judge
from hark.bisect.message import of_answer, of_request
from hark.bisect.units import Level
from hark.bundle import store
from hark.errors import ForkError, PatchError, ReplayError
from hark.fork.point import other_side, recorded_at
from hark.given import read_given
from hark.patch.where import Point, Side, answers, find
from hark.rerun.admitting import Ask, admit, own_key
from hark.rerun.recalled import Recalled, recall
from hark.rerun.replaying import Asked, recorded_frames
from hark.rerun.restaging import parsed, refuse_hostile
from hark.running.run import Say
from hark.visible import visible

ALL: Final = "all"
MAX_POLICY: Final = 1 << 20
MAX_NOTED: Final = 300  # characters of an expression in each child's record
MAX_LISTED: Final = 5
SEARCHES: Final = ("ddmin", "probable")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `hark bisect` was told."""

    replay: Asked
    """As of a fork; its output is the folder."""
    at: str
    until: str
    options: tuple[str, ...] = ()
    """What each fork is told besides."""
    policy: str | None = None
    changes: tuple[str, ...] = ()
    """Of the options, those that make it another question."""
    finest: Level = Level.SENTENCE
    search: str = SEARCHES[0]
    rule: Rule = field(default_factory=Rule)
    jobs: int = 2
    most: int = 200
    seconds: int | None = None
    """How long each fork may take; None: as long as it likes."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a bisection was made of, and what came of it."""

    wanted: Wanted
    recalled: Recalled
    signer: str
    folder: str
    recorded: int
    """The event that shows the outcome in the recorded run."""
    found: str
    """The file of the patch that was found; empty where none was."""
    outcome: bisecting.Outcome


def bisect(wanted: Wanted, environ: Mapping[str, str], *, say: Say, ask: Ask | None) -> Session:
    """Bisect. Raises HarkError where nothing was started, KeyboardInterrupt with the runs so far kept."""
    expression = parse(wanted.until)
    asked = wanted.replay
    recalled = recall(asked.bundle, own=own_key(environ), to_fork=True)
    refuse_hostile(recalled)
    suspects, recorded = _suspects(recalled, wanted, expression)
    signer = admit(recalled, parsed(recalled.loaded), asked, environ, say=say, ask=ask)
    with Folder(asked.output or _new_folder(environ), _about(recalled, wanted)) as folder:
        say(f"runs are kept in {folder.path}; the same command with -o {folder.path} goes on there")
        bundle, options = asked.bundle, wanted.options
        if not recalled.verified.own:
            bundle, options = _copied(recalled, folder), (*options, "-trust-bundle")
        end = recalled.end
        judge = Judge(expression, recalled.verified.root, None if end is None else end.exit_code)
        runner = Forks(bundle, options, folder, judge, wanted.seconds)
        driver = Driver(runner, folder.note, wanted.jobs, wanted.most)
        search = probable if wanted.search == "probable" else ddmin
        note = f"hark bisect: {wanted.until[:MAX_NOTED]}"
        bisection = Bisection(driver, wanted.rule, wanted.finest, search, note)
        driver.note = _Progress(bisection, folder, say).note
        _remember(driver, folder, judge, _signer(asked, environ), say)
        try:
            outcome = bisection.run(suspects, recalled.verified.root)
        except BaseException:
            runner.drop()
            say(f"stopped after {driver.runs} runs; the same command with -o {folder.path} goes on")
            raise
        found = folder.found(outcome.patch) if outcome.patch else ""
        return Session(wanted, recalled, signer, folder.path, recorded, found, outcome)


def _signer(asked: Asked, environ: Mapping[str, str]) -> bytes:
    """Return the public key that forks are signed with; empty where there is none yet."""
    return own_key(environ) if asked.key is None else keys.load_private(asked.key).public_key


def _remember(driver: Driver, folder: Folder, judge: Judge, signer: bytes, say: Say) -> None:
    """Count the runs that the folder holds, each by its own bundle."""
    known = list(kept.counted(folder, judge, signer))
    for done in known:
        driver.remember(done)
    if known:
        say(f"{len(known)} runs are known from before")
    if len(known) < len(folder.noted):
        say(
            f"{len(folder.noted) - len(known)} runs that are noted there do not count: they showed nothing, "
            "or left no bundle that you signed and that shows what is noted"
        )


@dataclass(slots=True)
class _Progress:
    """Writes each run down, and says what it showed; also which were ended, so that each number is said."""

    bisection: Bisection
    folder: Folder
    say: Say
    _dropped: int = 0

    def note(self, done: Done) -> None:
        self.folder.note(done)
        words = self.bisection.words.get(done.key, "")
        driver = self.bisection.driver
        said = {Shown.NOTHING: "showed nothing: ", Shown.LATE: ""}
        shown = f"{said.get(done.shown, '')}{done.why}" if done.why else done.shown.value
        for number in range(driver.runs - driver.dropped + self._dropped + 1, driver.runs + 1):
            self.say(f"run {number} of at most {driver.most}: ended, since its answer is not needed any more")
        self._dropped = driver.dropped
        self.say(f"run {driver.runs + 1} of at most {driver.most}: {words}: {shown} ({done.seconds:.1f} s)")


def _new_folder(environ: Mapping[str, str]) -> str:
    beside = os.path.dirname(store.ensure_runs_directory(environ))
    return os.path.join(beside, "bisections", ids.ulid(time.time_ns(), os.urandom(ids.RANDOM_BYTES)))


def _about(recalled: Recalled, wanted: Wanted) -> dict[str, object]:
    """Return what makes a question: runs of another one say nothing of this."""
    policy = ""
    if wanted.policy is not None:
        policy = hashlib.sha256(read_given(wanted.policy, MAX_POLICY, "-policy")).hexdigest()
    return {
        "bundle": recalled.verified.root.hex(),
        "-until": wanted.until,
        "-policy": policy,
        "changes": list(wanted.changes),
    }


def _copied(recalled: Recalled, folder: Folder) -> str:
    path = folder.copied(recalled.path)
    if recall(path).verified.root != recalled.verified.root:
        raise ReplayError(f"{recalled.path} was changed while it was read; bisect it again")
    return path


def _suspects(recalled: Recalled, wanted: Wanted, expression: Expression) -> tuple[list[Suspect], int]:
    """Return the messages to look into, and the event that shows the outcome. Raises ForkError."""
    happened = list(facts.facts(recorded_frames(recalled)))
    first = holds(expression, happened)
    if first is None:
        raise ForkError(f"the recorded run does not show it: -until {wanted.until}; {_listed(happened)}")
    if wanted.at != ALL:
        point = find(wanted.at, recorded_frames(recalled), None, otherwise=Side.RESPONSE)
        shown = holds(expression, happened, point.at)
        if point.talk:
            raise ForkError(f"{point.words}: `hark bisect` looks into requests and answers over HTTP alone")
        if shown is None:
            raise ForkError(
                f"-until was so at event {first}, and not after {point.words}, which therefore did not lead "
                "to it; name an earlier message with -at"
            )
        return [_suspect(recalled, point)], shown
    points = [point for point in answers(recorded_frames(recalled)) if point.at < first]
    found = [one for one in (_maybe(recalled, point) for point in points) if one is not None]
    if not found:
        raise ForkError(f"no answer with a text in it came before event {first}, which shows it")
    return found, first


def _maybe(recalled: Recalled, point: Point) -> Suspect | None:
    try:
        return _suspect(recalled, point)
    except (ForkError, PatchError):
        return None


def _suspect(recalled: Recalled, point: Point) -> Suspect:
    _, recorded, sent = recorded_at(recalled, point)
    message = of_request(sent) if point.side is Side.REQUEST else of_answer(recorded.parts)
    if not message.units():
        at = other_side(recalled, point) if point.side is Side.REQUEST else None
        hint = "" if at is None or not of_answer(recorded.parts).units() else f"; its answer has: -at {at}"
        what = f"the {point.side.value} of {point.words} has no text in it that could be removed"
        raise ForkError(f"{what}{hint}")
    return Suspect(point, message)


def _listed(happened: list[facts.Fact]) -> str:
    """Name some of what there is to ask for."""
    keys = {facts.DENIED: "host", facts.REQUEST: "host", facts.TOOL: "name", facts.FILE: "path"}
    said: dict[str, None] = {}
    for fact in happened:
        key = keys.get(fact.what)
        words = f"exit={fact.said['code']}" if key is None else f"{fact.what} {key}={fact.said[key][:80]}"
        said[visible(words)] = None
    more = " and more" if len(said) > MAX_LISTED else ""
    return f"it shows {', '.join([*said][:MAX_LISTED])}{more}" if said else "it shows nothing"

"""One run: boundary, mediator and bundle put together, and taken apart in an order that loses nothing.

The boundary is forked first, while this process has one thread and few imports. Whatever was asked, allowed
and granted is in the file before the agent's first instruction. When the agent has ended, the mediator is
drained, and only then the file is sealed: each event, and each stream across the borders of its events, was
searched for credentials before it was written. A record that cannot be kept ends the run with 123, a limit of
the policy's with 124; what fails before the agent starts refuses it with 125. Once the agent may have begun,
whatever fails ends it, and is on the record as a failure. Nothing here prints: `say` gets each sentence that
the user should see.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hark import starting
from hark.bundle import outcome
from hark.bundle.lineage import ORIGINAL, Lineage
from hark.errors import ConfinementError, HarkError, LimitError, RecordError, StoppedError
from hark.plan import policy_file, project
from hark.plan.caller import home_of
from hark.plan.preparation import Options, Prepared, prepare
from hark.repeatable import determinism
from hark.running import summary
from hark.running.delivery import Delivery
from hark.running.filing import Files
from hark.running.keeping import Place, find_place
from hark.running.parting import Parting
from hark.running.serving import Serving
from hark.running.trusting import files_for
from launcher.launch import launch
from launcher.report import Ended, NeverStarted

if TYPE_CHECKING:
    from hark.bundle.events import Event
    from hark.bundle.writer import Writer
    from hark.plan.follow import Follower
    from hark.policy.model import Policy
    from hark.repeatable.piecemeal import Piecemeal
    from hark.running.left import Left
    from launcher.surroundings import Surroundings
    from mediator.ca import RunCA
    from mediator.config import MediatorConfig, Recorder
    from mediator.credentials import Broker
    from mediator.origin import Origin
    from mediator.publish import Opened
    from mediator.serve import Mediator

EXIT_RECORDER: Final = RecordError.exit_code
EXIT_LIMIT: Final = LimitError.exit_code  # as timeout(1)
EXIT_STOPPED: Final = 1
"""Recorded for an agent that was ended because the run need not go on."""
EXIT_UNWRITTEN: Final = 1  # as of a program that cannot write its own output
GRACE_S: Final = 5.0  # between SIGTERM and SIGKILL, for an agent whose time is up
PREFETCH_AFTER_S: Final = 0.25
"""When the agent is still running by then, what its first connection needs is loaded ahead of it."""

type Say = Callable[[str], None]


def run(options: Options, environ: Mapping[str, str], *, terminal: bool, say: Say, show: Say) -> int:
    """Run a command inside the boundary and return the exit code. Raises HarkError if it was not started.

    `say` gets sentences for the user, `show` lines that the user may copy.
    """
    prepared = prepare(options, environ, terminal=terminal)
    for line in policy_file.said_of(prepared.policy, options.policy, prepared.plan.workdir):
        say(line)
    place = find_place(options.output, options.key, environ, say, options.anchor)
    with launch(prepared.plan) as boundary:
        return Run(prepared, place, boundary, environ, say=say, show=show).play()


class Run:
    """The parts of one run that is under way. Used once, from the main thread.

    `stopped_as` is the word for a run that was ended because it need not go on.

    A replay is such a run, and differs in what `opening`, `config` and `tell` do and in how it is stopped.
    """

    stopped_as = outcome.INTERRUPTED

    def __init__(
        self,
        prepared: Prepared,
        place: Place,
        boundary: Surroundings,
        environ: Mapping[str, str],
        *,
        say: Say,
        show: Say,
    ) -> None:
        self.prepared = prepared
        self.plan = prepared.plan
        self.place = place
        self.boundary = boundary
        self.environ = environ
        self.say = say
        self.show = show
        self.policy = prepared.policy
        """The policy in force."""
        self.failure: str | None = None
        self.broker: Broker | None = None
        self.files: Files | None = None
        self.piecemeal: Piecemeal | None = None
        self.limit: str | None = None
        self.stopped: str | None = None
        self.passed_on: int | None = None
        """The signal that was sent to us and passed on, once the agent has ended."""
        self.meanwhile: Callable[[], object] = bool
        """Done while the agent starts. MUST be quick: nobody waits for the agent's end until it returns."""
        self.began_at = 0
        """Unix nanoseconds at which the times of the record's events begin to count."""
        self.left: Left | None = None
        self.is_kept = True
        """Whether what the agent worked on is there when it has ended."""
        self.delivery = Delivery(place, say)

    def play(self) -> int:
        """Record, start, wait, seal."""
        from hark.bundle.writer import Writer
        from hark.running import record

        self.broker = self.brokered()
        own = () if self.place.output is None else (self.place.output,)
        self.files = self.filed(self.broker, own)
        header = record.header(self.place.run_id, self.prepared, self.lineage())
        self.delivery.hold()
        self.began_at = self.beginning()
        try:
            writer = Writer.create(
                self.place.path,
                header,
                guard=self.broker.guard,
                on_failure=self._unwritten,
                max_bytes=self.prepared.policy.max_bytes,
                clock=self.clock,
            )
        except RecordError as error:
            raise _refusal(error) from error
        with writer:
            return self._recorded(writer)

    def fail(self, why: str) -> None:
        """Mark the run as failed and end it. From any thread; the first reason is the one that counts."""
        if not self._is_ending():
            self.failure = why
        self.boundary.kill(why)

    def reach(self, limit: str) -> None:
        """End the run because of a limit of the policy's. As `fail`."""
        if not self._is_ending():
            self.limit = limit
        self.boundary.kill(limit)

    def stop(self, why: str) -> None:
        """End the run because it need not go on; the record says that it was interrupted. As `fail`."""
        if not self._is_ending():
            self.stopped = why
        self.boundary.kill(why)

    def filed(self, broker: Broker, own: tuple[str, ...]) -> Files | None:
        """Begin to read the project's files for the record; `own` are paths of hark's in it."""
        files = Files(self.prepared, broker, keep=self.prepared.snapshot, beside=own)
        files.begin()
        return files

    def _is_ending(self) -> bool:
        return (self.failure, self.limit, self.stopped) != (None, None, None)

    def _unwritten(self, error: RecordError) -> None:
        if isinstance(error, LimitError):
            self.reach(str(error))
        else:
            self.fail(str(error))

    def _time_is_up(self, seconds: float) -> None:
        if not self._is_ending():
            self.limit = f"limits.time was reached: the agent ran for {seconds:g} seconds"
        self.boundary.terminate(self.limit or "", GRACE_S)

    def _recorded(self, writer: Writer) -> int:
        before = project.fingerprints(self.prepared.project.watched_everywhere())
        folders = project.folders(self.prepared.project.masked)
        mediator: Mediator | None = None
        try:
            mediator = self._start(writer)
            ended = self._attend(mediator)
            self._close(writer, ended)
        except Exception as error:
            if self.boundary.begun:
                ended = self._broken(error)
            elif isinstance(error, HarkError):
                raise self._refused(writer, error) from error
            else:
                raise
        try:
            self.left = self._looked_through()
            code = self._finish(writer, ended)
            if mediator is None:
                self._parting().tell_left(before)
            else:
                self.tell(mediator, ended, before, folders, code)
        except HarkError:
            raise
        except Exception as error:
            # The agent's own exit code must not be mistaken for a bug of ours, nor the other way round.
            raise RecordError(f"{type(error).__name__} in hark itself ended the run: {error}") from error
        return code

    def _refused(self, writer: Writer, error: HarkError) -> HarkError:
        """Put on the record that the agent never started, and return what is to be raised."""
        refusal = _refusal(error)
        code = refusal.status if isinstance(refusal, StoppedError) else refusal.exit_code
        self._seal(writer, outcome.reason(outcome.NEVER_STARTED, str(error)), code)
        return refusal

    def _broken(self, error: Exception) -> Ended:
        """End an agent that may have begun, with all of its processes, since hark cannot go on.

        A failure counts whatever ended the run before it, unless it comes of that end.
        """
        why = str(error) if isinstance(error, HarkError) else f"{type(error).__name__}: {error}"
        if self.failure is None and not (self._is_ending() and isinstance(error, ConfinementError)):
            self.failure = f"hark failed after the agent was started: {why}"
        self.boundary.end(self.failure or why)
        return Ended(signal=signal.SIGKILL, killed=why)

    def _looked_through(self) -> Left | None:
        """Look through what the agent has left, where that stays, and put aside what git would run."""
        if not self.is_kept:
            return None
        from hark.running.left import Left, looked_through

        try:
            return looked_through(
                self.prepared.project, self.prepared.policy.unprotect, home_of(self.environ)
            )
        except Exception as error:  # noqa: BLE001  # the record is sealed whatever an agent left
            why = f"{type(error).__name__} in hark itself: {error}; look before you run git there"
            return Left(unsearched=why)

    def _close(self, writer: Writer, ended: Ended) -> None:
        """Record what is known at the end; what the record has no room for has ended the run already."""
        try:
            for event in self.closing(ended):
                writer.append(event)
        except RecordError:
            if not self._is_ending():
                raise

    def tell(
        self,
        mediator: Mediator,
        ended: Ended,
        before: dict[str, bytes],
        folders: dict[str, tuple[int, int]],
        code: int,
    ) -> None:
        """Say at the end what the user has to know; `before` and `folders` are the project's as it began."""
        self._parting().tell(mediator.summary(), ended, before, folders, code)

    def _parting(self) -> Parting:
        log = self.boundary.log if self.plan.shim else None
        return Parting(self.prepared, self.policy, self.files, log, self.say, self.show, self.left)

    def _attend(self, mediator: Mediator) -> Ended:
        """Wait for the agent to end, then for all that it sent to be on the record."""
        timers = [threading.Timer(PREFETCH_AFTER_S, mediator.prefetch)]
        if (seconds := self.plan.limits.time_s) is not None:
            timers.append(threading.Timer(seconds, self._time_is_up, (seconds,)))
        follower = None
        try:
            for timer in timers:
                timer.daemon = True
                timer.start()
            follower = self._follow(mediator)
            self.meanwhile()
            ended = self.boundary.wait()
            self.passed_on = ended.passed_on
            return ended
        finally:
            for timer in timers:
                timer.cancel()
            if follower is not None:
                follower.stop()
            mediator.stop()

    def _follow(self, mediator: Mediator) -> Follower | None:
        """Begin to read the policy again, where that was asked for."""
        if self.prepared.followed is None:
            return None
        from hark.plan.disclosure import finder, refuse_in_policy
        from hark.plan.follow import Follower
        from hark.running import record

        broker = self.broker  # which knows the tokens of this run as well
        find = finder(self.prepared.secrets) if broker is None else broker.real_value_in

        def take(policy: Policy) -> None:
            refuse_in_policy(policy, find)
            self.policy = policy
            mediator.change_policy(policy, record.loaded(self.prepared, policy))

        follower = Follower(self.prepared.followed, self.prepared.policy, take, self.say)
        follower.start()
        return follower

    def _start(self, writer: Writer) -> Mediator:
        """Put everything in place and on the record, then let the agent go."""
        from mediator import trust
        from mediator.ca import RunCA
        from mediator.recording import ledger_of, taking
        from mediator.upstream import read_redirects

        published = self._publish()
        roots = trust.host_roots(self.environ)
        ca = RunCA.create(_date(self.began_at), _date(self.latest()))
        for event in self.opening():
            self.boundary.heed()
            writer.append(event)
        config, recorder, broker = self.config(roots), self.recorder(writer), self.broker or self.brokered()
        read_redirects(config.upstreams)
        ledger = ledger_of(config, recorder, broker, self.fail, self.reach)
        for event in () if self.files is None else self.files.opening():
            self.boundary.heed()
            writer.append(event)
        for line in () if self.files is None else self.files.warned():
            self.say(line)
        writer.append(self.stands(), durable=True)
        if self.plan.shim:
            self.set_clock(writer)
        serving = Serving(
            lambda kind: kind(
                config,
                self.boundary.sockets,
                recorder,
                ca,
                self.fail,
                origin=self.origin(),
                on_limit=self.reach,
                published=published,
                broker=broker,
                ledger=ledger,
            )
        )
        try:
            # What the agent asks before the mediator serves waits in the sockets, which listen already.
            self.boundary.start(self.shown(ca, roots), taking(ledger), serving.start)
        except BaseException as error:
            if self.boundary.begun:  # not until the mediator has stopped: nobody watches the agent
                self.boundary.kill(f"hark failed: {error}")
            serving.stop()
            raise
        starting.release_collector()
        return serving.mediator

    def origin(self) -> Origin:
        """Return what tells where a connection was meant to go: the kernel."""
        from mediator.origin import original_destination

        return original_destination

    def stands(self) -> Event:
        """Return the event that says what is enforced around the agent, once it is."""
        from hark.running import record

        return record.boundary(self.prepared, self.boundary.facts)

    def shown(self, ca: RunCA, roots: bytes) -> dict[str, bytes]:
        """Return the files that the agent is shown beside the plan's."""
        return files_for(ca, roots, self.plan, self.environ) | self.prepared.controlled.files()

    def opening(self) -> Iterator[Event]:
        """Yield what stands on the record before the boundary does."""
        from hark.running import record

        yield from record.opening(self.place.run_id, self.prepared, self.began_at)
        if self.prepared.controlled.mechanisms:
            yield self.prepared.controlled.opening()

    def set_clock(self, writer: Writer) -> None:
        """Begin the page that the agent's shims read, and have what comes in move its clock."""
        page = self.boundary.page
        determinism.begin(self.prepared.controlled, page, self.boundary.log, self.began_at)
        writer.on_frame = determinism.on_frame(page, self.began_at)

    def closing(self, ended: Ended) -> Iterator[Event]:
        """Yield what is on the record after the agent has ended, before how it did."""
        log = self.boundary.log if self.plan.shim else None
        piecemeal = self.piecemeal
        kept = (0, 0) if piecemeal is None else (piecemeal.kept, piecemeal.kept_of_process_1)
        controlled = self.prepared.controlled
        yield from determinism.closing(
            controlled, self.plan, log, ended.unreached, since=kept, unheard=ended.unheard
        )
        if self.files is not None:
            yield from self.files.closing()

    def brokered(self) -> Broker:
        """Return what holds the run's credentials."""
        from mediator.credentials import Broker

        return Broker(self.prepared.secrets)

    def lineage(self) -> Lineage:
        """Return what the header says of where the run comes from: nothing, unless it is a fork."""
        return ORIGINAL

    def beginning(self) -> int:
        """Return the Unix time, in ns, that the agent begins at and that events are timed from."""
        return time.time_ns()

    def latest(self) -> int:
        """Return a Unix time, in ns, that certificates have to be valid at too."""
        return self.began_at

    def clock(self) -> int:
        """Return monotonic nanoseconds, by which events are timed."""
        return time.monotonic_ns()

    def recorder(self, writer: Writer) -> Recorder:
        """Return what the mediator records by."""
        if not self.plan.shim:
            return writer
        from hark.repeatable.piecemeal import Piecemeal

        self.piecemeal = Piecemeal(writer, self.boundary.log)
        return self.piecemeal

    def config(self, roots: bytes) -> MediatorConfig:
        """Return what the mediator is told; `roots` is the host's trust store."""
        from mediator.config import MediatorConfig

        return MediatorConfig(
            policy=self.prepared.policy,
            secrets=self.prepared.secrets,
            upstreams=self.prepared.upstreams,
            upstream_roots=self.prepared.upstream_roots,
            proxies=self.prepared.proxies,
            mcp=self.prepared.toolservers.programs,
            host_roots=roots,
            whose=self.boundary.whose,
        )

    def _publish(self) -> Opened | None:
        """Listen where the policy publishes a port of the agent, and say so."""
        ports = self.prepared.policy.publish
        if not ports:
            return None
        from mediator.publish import listen, sentences

        opened = listen(ports, self.boundary.doorway.connect)
        for sentence in sentences(ports):
            self.say(sentence)
        return opened

    def _finish(self, writer: Writer, ended: Ended) -> int:
        """Say how the run ended, on the record and to the caller."""
        if self.stopped is not None and self.failure is None:
            sealed = self._seal(writer, outcome.reason(self.stopped_as, self.stopped), EXIT_STOPPED)
            return EXIT_STOPPED if sealed else EXIT_RECORDER
        limit = None if self.failure is not None else self.limit or ended.limit
        if limit is not None:
            self.say(f"the run was ended: {limit}")
            sealed = self._seal(writer, outcome.reason(outcome.INTERRUPTED, limit), EXIT_LIMIT)
            return EXIT_LIMIT if sealed else EXIT_RECORDER
        why = self.failure or ended.killed
        if why is None and writer.refused:
            why = f"{writer.refused} events could not be recorded"
        if why is not None:
            self.say(f"the run was ended: {why}")
            self._seal(writer, outcome.reason(outcome.RECORDER_FAILED, why), EXIT_RECORDER)
            return EXIT_RECORDER
        if ended.left:
            self.say(summary.left_behind(ended.left))
        sealed = self._seal(writer, summary.reason(ended), ended.status)
        if ended.unwritten is not None:
            self.say(ended.unwritten)
            return (ended.status or EXIT_UNWRITTEN) if sealed else EXIT_RECORDER
        return ended.status if sealed else EXIT_RECORDER

    def _seal(self, writer: Writer, reason: str, code: int) -> bool:
        """Write the end, sign the file and move it; False if it is not whole where it was asked for."""
        whole = self.delivery.seal(writer, reason, code, said=self.failure)
        self.failure = self.failure or self.delivery.failure
        return whole


def _date(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, UTC)


def _refusal(error: HarkError) -> HarkError:
    """Whatever goes wrong before the agent starts is a refusal; what exec or a signal says keeps its code."""
    keeps = isinstance(error, (NeverStarted, ConfinementError, StoppedError))
    return error if keeps else ConfinementError(str(error))

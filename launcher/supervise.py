"""The supervisor's handle on one boundary: start, wait, kill. `launcher.launch` makes it.

The boundary is built beside whatever the caller does, and the first question that needs it waits for it.
The agent is executed by `start` alone. Nothing of the boundary outlives this process: every process of it
dies with it, and namespaces, mounts and links live only as long as they do.
"""

import contextlib
import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from hark.errors import ConfinementError, HarkError, StoppedError
from launcher import ahead, wire
from launcher.beside import close_beside
from launcher.doorway import Doorway
from launcher.feeder import Feeder
from launcher.identity import Identity
from launcher.intake import Intake, Record, unrecorded
from launcher.outlet import Outlet
from launcher.plan import Plan, Sockets
from launcher.played import Played
from launcher.pump import Pump
from launcher.report import AppliedGrant, Ended, Facts, NotExecutableError, NotFoundError
from launcher.signals import FOR_GROUP, TERMINATING, Inbox, can_be_continued, stop_as
from launcher.terminal import Relay

if TYPE_CHECKING:
    from launcher.guard import Guard
    from launcher.pages import Log, Page

_LOST: Final = "the process that holds the boundary was ended by something else"


_FAILURES: Final[dict[str, type[HarkError]]] = {
    wire.CONFINEMENT: ConfinementError,
    wire.NOT_FOUND: NotFoundError,
    wire.NOT_EXECUTABLE: NotExecutableError,
}


@dataclass(frozen=True, slots=True)
class Streams:
    """Where the agent's standard streams come from and lead to, apart from the caller's own."""

    taken: Intake
    played: Played | None
    outlet: Outlet


def _hold(child: int) -> int:
    """A descriptor of the child, which no other process can take the place of."""
    try:
        return os.pidfd_open(child)
    except OSError as error:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise ConfinementError(
            f"this kernel or container refuses pidfd_open ({error.strerror}); ask `hark doctor` why"
        ) from error


def _number_of(pidfd: int) -> int:
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as file:
        return next((int(line.split()[1]) for line in file if line.startswith(b"Pid:")), -1)


class Boundary:
    """One boundary and, once started, the agent in it.

    All methods but `kill` belong to the main thread. As a context manager it leaves nothing behind.
    """

    def __init__(
        self,
        plan: Plan,
        identity: Identity,
        child: int,
        channel: socket.socket,
        *,
        terminal: "Guard | None",
        streams: Streams,
        made: ahead.Ahead | None = None,
    ) -> None:
        self._plan = plan
        self._made = made
        self._guard = terminal
        self._identity = identity
        self._child: int | None = child
        self._holder = _hold(child)
        self._channel = channel
        self._received: dict[str, wire.Message] = {}
        self._sockets: Sockets | None = None
        self._doorway: Doorway | None = None
        self._whose: socket.socket | None = None
        self._shared: tuple[Page, Log] | None = None
        self._relay: Relay | None = None
        self._streams = streams
        self._pump: Pump | None = None
        self._feeder: Feeder | None = None
        self._inbox = Inbox()
        self._killed: str | None = None
        self._passed_on: int | None = None
        self._limit: str | None = None
        self._last_resort: threading.Timer | None = None
        self._refused: list[str] = []
        self._unreached: list[str] = []
        self._unheard = False
        self._replaced: dict[str, None] = {}
        self._early: list[signal.Signals] = []
        """What came before the agent, for which it waits."""
        self.begun = False
        """As of `launcher.surroundings`."""
        self._inbox.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def sockets(self) -> Sockets:
        """The gateway's sockets; whoever asks first waits until they are open."""
        if self._sockets is None:
            opened = [socket.socket(fileno=number) for number in self._await("sockets").descriptors]
            self._sockets = Sockets(*opened)
        return self._sockets

    @property
    def facts(self) -> Facts:
        """What is in force; waits until the boundary stands."""
        abi, *unset = self._await("sockets").fields
        grants = self._await("grants").fields
        system = os.uname()
        return Facts(
            kernel=system.release,
            machine=system.machine,
            landlock_abi=int(abi),
            uid=self._identity.inside[0],
            gid=self._identity.inside[1],
            grants=tuple(AppliedGrant(*grants[start : start + 4]) for start in range(0, len(grants), 4)),
            withheld=self._await("withheld").fields,
            uncovered=self._await("ready").fields,
            settings_unset=tuple(unset),
        )

    @property
    def doorway(self) -> Doorway:
        """The way to the plan's published ports; waits until it is there."""
        if self._doorway is None:
            self._doorway = Doorway(socket.socket(fileno=self._await("doorway").descriptors[0]))
        return self._doorway

    @property
    def page(self) -> "Page":
        """What the shims read; waits until the boundary stands. Only where the plan has a shim."""
        return self._share()[0]

    @property
    def log(self) -> "Log":
        """What the shims wrote; as `page`."""
        return self._share()[1]

    def _share(self) -> "tuple[Page, Log]":
        if self._shared is None:
            from launcher.pages import Log, Page

            page, log, own = self._await("shared").descriptors
            self._shared = Page(page), Log(log, own)
            os.close(page)
        return self._shared

    def process(self) -> int:
        """Return the number of process 1 as seen from the host; -1 once it is gone. From any thread."""
        init = self._received.get("init")
        try:
            return -1 if init is None else _number_of(init.descriptors[0])
        except OSError:  # it is being closed
            return -1

    def whose(self) -> socket.socket:
        """Return the channel of `launcher.whose`; waits until the boundary's processes are there."""
        if self._whose is None:
            self._whose = socket.socket(fileno=self._await("init").descriptors[1])
        return self._whose

    def _await(self, word: str) -> wire.Message:
        """Read messages until one says `word`."""
        while word not in self._received:
            if not self.begun:
                self._wait_heeding()
            message = wire.receive(self._channel)
            if message.word == "failed":
                kind, reason = message.fields
                self.begun = self.begun and "started" in self._received
                self.close()
                raise _FAILURES[kind](reason)
            if not message.word:
                reason = self._killed or _LOST
                if self.begun:
                    raise ConfinementError(reason)
                self.close()
                raise ConfinementError(f"the agent was not started: {reason}")
            self._received[message.word] = message
        return self._received[word]

    def heed(self) -> None:
        """As of `launcher.surroundings`."""
        self._early += self._inbox.read()
        for number in self._early:
            if number in TERMINATING:
                raise StoppedError(number)

    def _wait_heeding(self) -> None:
        """Return when there is a message. Raises StoppedError."""
        while True:
            poll = select.poll()
            for source in (self._channel, self._inbox.fileno()):
                poll.register(source, select.POLLIN)
            ready = dict(poll.poll())
            self.heed()
            if self._channel.fileno() in ready:
                return

    def start(
        self,
        files: Mapping[str, bytes] | None = None,
        record: Record = unrecorded,
        meanwhile: Callable[[], object] = bool,
    ) -> None:
        """Execute the agent, with `files` shown to it beside the plan's; return when that has succeeded.

        Where the plan says so, its input goes to `record` first. Signals are taken over from `launch` to
        `close`: one that asks for the end is a StoppedError up to here, and from here on all are passed to
        the agent and end nothing. `meanwhile` is done while it is executed.
        """
        ready = self._await("ready")
        self._await("init")
        self._end_ahead()  # in the run's user namespace it counts for limits.processes until it is reaped
        self._begin_input(record if self._plan.record_input else unrecorded, *ready.descriptors)
        self.heed()
        packed = wire.pack_files(files or {})
        try:
            wire.send(self._channel, "start", descriptors=(packed,))
        except OSError as error:
            self.close()
            raise ConfinementError(f"the agent was not started: {self._killed or _LOST}") from error
        finally:
            os.close(packed)
        self.begun = True
        meanwhile()
        self._await("started")
        self._streams.outlet.begin()
        if self._feeder is not None:
            self._feeder.start()

    def _begin_input(self, record: Record, terminal: int | None = None) -> None:
        """Record what the agent finds at its start, and be ready for the rest."""
        taken, played = self._streams.taken, self._streams.played
        if self._plan.record_input:
            record("streams", taken.describe(), False)  # noqa: FBT003
            taken.record_copy(record)
        if terminal is not None:
            self._relay = Relay(terminal, record, played)
        feed = taken.give_feed()
        if played is not None:
            master = None if terminal is None else os.dup(terminal)
            self._feeder = Feeder(played, record, feed=feed, master=master)
        elif feed is not None:
            self._pump = Pump(feed, record)

    def wait(self) -> Ended:
        """Relay terminal and signals until the agent has ended and every process inside is gone."""
        try:
            how = self._relay_until_end()
            self._reap()
            self._end_input()
            if self._relay is not None:
                self._relay.drain()
            self._streams.outlet.finish()
        finally:
            if self._relay is not None:
                self._relay.leave()
        if how is None:
            killed = None if self._limit is not None else self._killed or _LOST
            ended = Ended(signal=signal.SIGKILL, killed=killed, limit=self._limit)
        else:
            kind, number, left = how
            code, by_signal = (number, None) if kind == "code" else (None, number)
            ended = Ended(code, by_signal, killed=self._killed, limit=self._too_large(by_signal), left=left)
            ended = replace(ended, cut_short=self._plan.wait_for_all and left > 0)
        refused, replaced = tuple(self._refused), tuple(self._replaced)
        return replace(
            ended,
            passed_on=self._passed_on,
            refused=refused,
            replaced=replaced,
            unreached=tuple(self._unreached),
            unheard=self._unheard,
            unwritten=self._streams.outlet.problem,
        )

    def _end_input(self) -> None:
        """The agent reads no more."""
        for way in (self._pump, self._feeder):
            if way is not None:
                way.stop()
        self._pump = self._feeder = None

    def _too_large(self, by_signal: int | None) -> str | None:
        disk = self._plan.limits.disk
        if disk is None or not (by_signal == signal.SIGXFSZ or self._streams.outlet.full):
            return None
        return f"limits.disk was reached: no file may be larger than {disk} bytes"

    def _relay_until_end(self) -> tuple[str, int, int] | None:
        """Return how the agent ended, and how many were left; None where process 1 ended without a word."""
        self._pass_on()
        while True:
            ready = self._poll()
            if self._inbox.fileno() in ready:
                self._pass_on()
            if self._relay is not None:
                self._relay.serve(ready)
            if self._pump is not None:
                self._pump.serve(ready)
            if self._channel.fileno() in ready:
                message = wire.receive(self._channel)
                if message.word == "ended":
                    return message.fields[0], int(message.fields[1]), int(message.fields[2])
                if not self._heed(message):
                    return None

    def _heed(self, message: wire.Message) -> bool:
        """Take note of what process 1 says; False where nothing follows it."""
        match message.word:
            case "stopped":
                self._stop(int(message.fields[0]))
            case "replaced":
                self._replaced[message.fields[0]] = None
            case "unheard":
                self._unheard = True
            case "unreached":
                self._unreached.append(message.fields[0])
            case "refused":
                self._refused.append(message.fields[0])
            case "limit":
                self._limit = message.fields[0]
                return False
            case "failed":
                self._killed = self._killed or message.fields[1]
                return False
            case "":
                return False
        return True

    def _poll(self) -> dict[int, int]:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._inbox.fileno(), select.POLLIN)
        ways = [way for way in (self._relay, self._pump) if way is not None]
        timeouts = [timeout for timeout in (way.register(poll) for way in ways) if timeout is not None]
        return dict(poll.poll(min(timeouts, default=None)))

    def _pass_on(self) -> None:
        came, self._early = [*self._early, *self._inbox.read()], []
        for number in came:
            if number == signal.SIGWINCH:
                if self._relay is not None:
                    self._relay.resize()
                continue
            if number in TERMINATING:
                self._passed_on = int(number)
                if self._pump is not None:
                    self._pump.hold_end()
            self._tell("signal", str(int(number)), "group" if number in FOR_GROUP else "process")

    def _tell(self, word: str, *fields: str) -> None:
        with contextlib.suppress(OSError):  # it is ending: the next message says how
            wire.send(self._channel, word, *fields)

    def _stop(self, number: int) -> None:
        """Stop with the agent, where somebody could continue us; continue it when we are continued.

        Elsewhere what stopped it by force may continue it, and its limits hold. What is run again goes on at
        once: nobody waited for it when it was recorded, or he continued it.
        """
        if self._streams.played is not None or not can_be_continued():
            if number != signal.SIGSTOP or self._streams.played is not None:
                self._tell("continue")
            return
        self._tell("hold")  # process 1 is none of ours to stop, and does so while we are
        if self._relay is not None:
            self._relay.leave()
        stop_as(number, whole_group=self._relay is not None)
        if self._relay is not None:
            self._relay.enter()
        self._tell("continue")

    def terminate(self, why: str, grace_s: float) -> None:
        """Ask the agent to end, and end everything inside if it has not after `grace_s`. From any thread."""
        self._tell("signal", str(int(signal.SIGTERM)), "group")
        self._tell("continue")  # a process that is stopped would not hear of it
        self._last_resort = threading.Timer(grace_s, self.kill, (why,))
        self._last_resort.daemon = True
        self._last_resort.start()

    def kill(self, why: str) -> None:
        """End every process inside at once. May be called from any thread, more than once."""
        if self._killed is None:
            self._killed = why
        init = self._received.get("init")
        target = init.descriptors[0] if init is not None else self._holder
        # ProcessLookupError: it has ended. OSError: `close` was faster.
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(target, signal.SIGKILL)

    def end(self, why: str) -> None:
        """As `kill`, and return once every process inside is gone. Signals stay taken over until `close`."""
        self.kill(why)
        self._reap()
        self._end_input()
        if self._relay is not None:
            self._relay.leave()
        with contextlib.suppress(RuntimeError):  # no thread to be had: `close` tries again
            self._streams.outlet.finish()

    def _end_ahead(self) -> None:
        """Reap the process that made the networks, which has ended unless something went wrong."""
        made, self._made = self._made, None
        if made is not None:
            made.end()

    def _reap(self) -> None:
        """Wait until everything inside is gone: the kernel ends process 1 last of all.

        The holder waits for it too, but the holder may have been killed.
        """
        init = self._received.get("init")
        if init is not None:
            poll = select.poll()
            poll.register(init.descriptors[0], select.POLLIN)
            poll.poll()
        started = self._received.pop("started", None)
        if started is not None:
            close_beside(*started.descriptors)
        if self._child is not None:
            child, self._child = self._child, None
            os.waitpid(child, 0)

    def close(self) -> None:
        """End what still runs and give everything back; the sockets are the caller's. Idempotent."""
        if self._last_resort is not None:
            self._last_resort.cancel()
        if self._child is not None:
            self.kill(self._killed or "closed")
            self._reap()
        self._end_ahead()
        if self._relay is not None:
            self._relay.close()
            self._relay = None
        self._end_input()
        self._streams.outlet.finish()
        self._streams.taken.close()
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
        if self._doorway is not None or "doorway" in self._received:
            self.doorway.close()
        if self._shared is not None or "shared" in self._received:
            self.log.close()
        self._inbox.close()
        self._channel.close()
        if self._whose is not None or "init" in self._received:
            self.whose().close()
        init = self._received.pop("init", None)
        if init is not None:
            os.close(init.descriptors[0])
        if self._holder >= 0:
            os.close(self._holder)
            self._holder = -1

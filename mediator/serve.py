"""The mediator of one run: its own thread and event loop on the sockets that the launcher opened.

Always: names are answered and denials made from the start, before anything heavy is loaded; what was sent
before `stop` is still read and recorded; an exception that reaches the loop marks the run. Nothing here or
below writes to the terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hark.bundle.events import PolicyLoaded
from hark.errors import HarkError, RecordError
from hark.policy.model import Policy
from launcher.beside import close_beside
from launcher.plan import Sockets
from mediator import descriptors
from mediator.addresses import AddressPool
from mediator.branching import Branching
from mediator.ca import RunCA
from mediator.config import MediatorConfig, Recorder
from mediator.credentials import Broker
from mediator.engine import Engine
from mediator.gate import Gate
from mediator.ledger import Ledger, Summary
from mediator.mcp.doors import Doors
from mediator.origin import Origin, original_destination
from mediator.recording import ledger_of
from mediator.resolver import Resolver
from mediator.standing import Standing
from mediator.transport import READ_LIMIT, listening
from mediator.upstream import read_redirects
from mediator.wall import local_now
from mediator.watcher import Watcher
from mediator.whose import Whose

if TYPE_CHECKING:
    from mediator.playback.operator import Operator
    from mediator.playback.playback import Playback
    from mediator.publish import Opened, Ports

BACKLOG: Final = 4096  # the kernel's own ceiling; a connection beyond it waits a second for its next try
CHECK_S: Final = 1.0  # between looks at the clock: rules are written in minutes
DRAIN_S: Final = 1.0  # ceiling for reading what was sent before the end; an agent that is gone sends no more
JOIN_S: Final = 60.0  # a denial waits for the disk, and a busy one takes its time
ACCEPTING_STEPS: Final = 8  # of the event loop: an accepted connection gets its task some four steps later
CLOSING_STEPS: Final = 3  # of the event loop: a transport gives its socket up a step or two after its abort
_SILENCED: Final = ("mitmproxy", "asyncio", "hpack", "h2", "wsproto")


class Mediator:
    """Serves until `stop`. Construction checks the secrets and redirects: it raises PolicyError, in words."""

    def __init__(
        self,
        config: MediatorConfig,
        sockets: Sockets,
        recorder: Recorder,
        ca: RunCA,
        on_fatal: Callable[[str], None],
        *,
        origin: Origin = original_destination,
        on_limit: Callable[[str], None] | None = None,
        published: Opened | None = None,
        broker: Broker | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        """`ledger` leads to `recorder`, and is there where something was recorded before this was loaded."""
        # The recorder's guard looks with the same one, for what is minted during the run as well.
        self.broker = broker or Broker(config.secrets)
        read_redirects(config.upstreams)
        self._sockets = sockets
        self._origin = origin
        self._tells = config.whose
        self._whose = Whose(None)
        self._playback = playback = config.playback
        self._standing = Standing(config.policy, local_now if playback is None else playback.now)
        self._ledger = ledger or ledger_of(config, recorder, self.broker, on_fatal, on_limit)
        self._engine = Engine(config, self._standing, self.broker, self._ledger, ca)
        self._ports = None if published is None or playback is not None else self._published(published)
        self._operator = None if playback is None else self._played(config, playback, published)
        self._doors = Doors(config.mcp, self._ledger, self.broker, self._standing, playback)
        if playback is not None:
            engine, doors = self._engine, self._doors
            branching = Branching(
                config, self._ledger, self._standing, self.broker, engine=engine, doors=doors
            )
            playback.on_branch, playback.on_live = branching.pass_by, branching.go_live
        self._thread = threading.Thread(target=self._run, name="mediator", daemon=True)
        self._began = threading.Event()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._asked_to_stop = False
        self._asked_to_prefetch = False
        self._changes: list[tuple[Policy, PolicyLoaded]] = []
        self._changed = threading.Condition(self._lock)
        """Told when none of them waits any more, or nothing is served."""

    def _published(self, opened: Opened) -> Ports:
        from mediator.publish import Ports

        return Ports(opened, self._engine, self._ledger)

    def _played(self, config: MediatorConfig, playback: Playback, opened: Opened | None) -> Operator:
        """Return what does in a replay what the operator's side did; it takes of `opened` the way inside."""
        from mediator.playback.operator import Operator

        return Operator(
            playback,
            self._engine,
            self._ledger,
            connect=None if opened is None else opened.connect,
            change=self._put,
            changes=config.changes,
        )

    def start(self) -> None:
        """Begin to serve; returns once whoever waits for a turn of what is played is heard."""
        self._whose = Whose(self._tells())
        self._thread.start()
        self._began.wait(JOIN_S)

    def prefetch(self) -> None:
        """Load what allowed connections need now, rather than at the first one."""
        with self._lock:
            self._asked_to_prefetch = True
            if self._loop is not None and not self._asked_to_stop:
                self._loop.call_soon_threadsafe(self._engine.prefetch)

    def change_policy(self, policy: Policy, loaded: PolicyLoaded) -> None:
        """Put another policy into force, on the record first. Returns once it is, where anything is served.

        From any other thread: what its user does on hearing of it comes behind it on the record.
        What may be reached changes with it, and connections that it does not allow are ended. Secrets, tool
        servers and limits stay those of the start.
        """
        with self._changed:
            self._changes.append((policy, loaded))
            if self._loop is None or self._asked_to_stop:
                return
            self._loop.call_soon_threadsafe(self._change)
            self._changed.wait_for(lambda: not self._changes or self._loop is None, JOIN_S)

    def stop(self) -> None:
        """Record what is under way as ended, close everything and join. Idempotent; from any other thread."""
        with self._lock:
            self._asked_to_stop = True
            if self._loop is not None and self._stopping is not None:
                self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread.ident is None:
            return
        self._thread.join(JOIN_S)
        if self._thread.is_alive():
            self._ledger.fail(f"the mediator did not stop within {JOIN_S:.0f} s; is the disk that slow?")

    def summary(self) -> Summary:
        """Return what was denied, which secrets were used and what to warn of."""
        return self._ledger.summary()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except HarkError as error:
            self._ledger.fail(str(error))
        except Exception as error:  # noqa: BLE001  # a thread's last word: nobody above would hear it
            self._ledger.fail(f"the mediator ended: {type(error).__name__} (a bug in hark)")
        finally:
            self._began.set()
            self._ledger.close()
            with self._changed:
                self._loop = None
                self._changed.notify_all()

    async def _main(self) -> None:
        _silence()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unhandled)
        stopping = asyncio.Event()
        with self._lock:
            self._loop, self._stopping = loop, stopping
            if self._asked_to_stop:
                stopping.set()
            if self._asked_to_prefetch:
                self._engine.prefetch()
        if self._playback is not None:
            self._playback.start()
            if self._playback.score.recording.exchanges:
                self._engine.prefetch()  # the agent will ask, and nobody else has anything to do until then
        self._began.set()
        self._change()
        checking = asyncio.create_task(self._check())
        await self._serve(loop, stopping)
        checking.cancel()
        if self._playback is not None:
            await self._playback.stop()

    def _change(self) -> None:
        """Put the policies into force that wait to be."""
        while self._changes:
            with contextlib.suppress(RecordError):  # the run is marked, and nothing passes any more
                self._put(*self._changes[0])
            with self._changed:
                del self._changes[0]
                self._changed.notify_all()

    def _put(self, policy: Policy, loaded: PolicyLoaded) -> None:
        """Put a policy into force, on the record first. Raises RecordError."""
        self._ledger.append(loaded, durable=True)
        self._standing.policy = policy
        self._engine.recheck()

    async def _check(self) -> None:
        """End what rules allowed until now, a moment after their time is up."""
        while True:
            await asyncio.sleep(CHECK_S)
            if self._standing.timed:
                with contextlib.suppress(RecordError):  # the run is marked
                    self._engine.recheck()

    async def _serve(self, loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
        given = {} if self._playback is None else self._playback.addresses()
        pool = AddressPool((rule.host for rule in self._standing.policy.rules), given=given)
        gate = self._gate(pool)
        self._whose.start()
        watcher = Watcher(self._sockets.packets, self._ledger)
        endpoints = []
        for udp in (self._sockets.udp4, self._sockets.udp6):
            made = partial(Resolver, self._standing, pool, self._ledger, self.broker, self._playback)
            endpoints.append((await loop.create_datagram_endpoint(made, sock=udp))[0])
        self._sockets.packets.settimeout(0)
        loop.add_reader(self._sockets.packets, watcher.read)
        servers = [
            await listening(gate.accept, tcp, limit=READ_LIMIT, backlog=BACKLOG)
            for tcp in (self._sockets.tcp4, self._sockets.tcp6)
        ]
        if self._ports is not None:
            await self._ports.serve()
        if self._operator is not None:
            self._operator.start()
        await stopping.wait()
        await self._drained()
        for server in servers:
            server.close()
        await self._doors.stop()
        self._whose.close()
        await _quiet(gate.tasks, self._engine)
        if self._ports is not None:
            await self._ports.stop()
        if self._operator is not None:
            await self._operator.stop()
        watcher.read()
        loop.remove_reader(self._sockets.packets)
        watcher.close()
        for endpoint in endpoints:
            endpoint.close()
        close_beside(self._sockets.packets.detach())
        for _ in range(CLOSING_STEPS):
            await asyncio.sleep(0)

    def _gate(self, pool: AddressPool) -> Gate:
        return Gate(
            self._standing,
            pool,
            self._ledger,
            self._origin,
            self._whose,
            Resolver(self._standing, pool, self._ledger, self.broker, self._playback),
            self._engine.carry,
            self._engine.carry_raw,
            self._doors,
            tasks=set(),
            ceiling=descriptors.connections(descriptors.raise_limit()),
            playback=self._playback,
        )

    async def _drained(self) -> None:
        """Wait until nothing that the agent sent is left unread in our sockets."""
        unread = select.poll()
        for sock in _each(self._sockets):
            unread.register(sock, select.POLLIN)
        deadline = time.monotonic() + DRAIN_S
        while unread.poll(0) and time.monotonic() < deadline:  # noqa: ASYNC110  # the loop itself reads them
            await asyncio.sleep(0.001)
        for _ in range(ACCEPTING_STEPS):
            await asyncio.sleep(0)

    def _unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A lost connection is nothing new; any other exception that nobody caught is a bug: the run ends."""
        error = context.get("exception")
        if isinstance(error, (OSError, asyncio.CancelledError)):
            return
        what = type(error).__name__ if error is not None else "an error without exception"
        self._ledger.fail(f"{what} reached the mediator's event loop (a bug in hark)")


async def _quiet(tasks: set[asyncio.Task[None]], engine: Engine) -> None:
    """End the connections: those under way first, then those that have not said what they are."""
    await engine.stop()
    left = set(tasks)
    if left:
        _, pending = await asyncio.wait(left, timeout=DRAIN_S)
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=DRAIN_S)


def _each(sockets: Sockets) -> tuple[socket.socket, ...]:
    return (sockets.tcp4, sockets.tcp6, sockets.udp4, sockets.udp6, sockets.packets)


def _silence() -> None:
    """While an agent runs, stdout and stderr are the agent's; log lines may quote what was on the wire."""
    for name in _SILENCED:
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

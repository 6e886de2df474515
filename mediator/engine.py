"""Takes allowed connections over: raw ones at once, the others once mitmproxy is loaded.

Always: the loading takes a tenth of a second or two, happens once and runs beside the event loop, so that
names are answered and denials made meanwhile; a connection that needs mitmproxy waits for it. If it cannot be
loaded the run is marked and the connection reset. A run that ends while no connection waits does not wait.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from hark.bundle.events import RUN_ENDED
from hark.errors import UpstreamError
from hark.policy.decide import appointed
from hark.policy.model import Address
from mediator import h2
from mediator.authority import Destination
from mediator.ca import RunCA
from mediator.callers import CALLER
from mediator.config import MediatorConfig
from mediator.credentials import Broker
from mediator.held import Room, for_files
from mediator.ledger import Ledger
from mediator.link import Link
from mediator.mcp.sessions import Sessions
from mediator.nearby import is_near
from mediator.slices import Slices
from mediator.sniff import Http, Tls
from mediator.standing import Grounds, Standing
from mediator.transport import Streams, reset
from mediator.upstream import read_redirects

if TYPE_CHECKING:
    from mediator.dial import Dialler
    from mediator.handler import AgentConnection
    from mediator.playback.playback import Playback
    from mediator.tls import AgentContexts
    from mediator.tunnel import Caller, Dial, Tunnel

_PARTS: Final = (
    "mitmproxy.connection",
    "mitmproxy.http",
    "mitmproxy.proxy.layers.http",
    "mitmproxy.proxy.server",
    "mediator.exchange",
    "mediator.handler",
    "mediator.tls",
    "mediator.anyof",
)
"""What is loaded, in parts of some ten milliseconds each: between two of them it can be given up."""
_DIALS: Final = "mediator.dial"
FASTER_AFTER_S: Final = 1.0  # an agent that has ended by then never waited for it
GOES_ON_S: Final = 0.05  # docs/format.md, kind 45: what is over by then has its head in its end alone
RAGGED_S: Final = 0.3  # what an agent sent just before it ended still gets its answer recorded


class Engine:
    """The connections under way."""

    def __init__(
        self, config: MediatorConfig, standing: Standing, broker: Broker, ledger: Ledger, ca: RunCA
    ) -> None:
        self._config = config
        self._standing = standing
        self._broker = broker
        self._ledger = ledger
        self._ca = ca
        self._loading: asyncio.Task[AgentContexts | None] | None = None
        self._wanted = False
        """Whether a connection waits for what is loaded, or has it."""
        self._faster: asyncio.TimerHandle | None = None
        self._ending = False
        self._dialler: Dialler | None = None
        self._open: dict[AgentConnection | Tunnel, Grounds | None] = {}
        self._room = Room()
        self._files = for_files()
        self._slices = Slices()
        self._began = time.monotonic_ns()
        self._sessions = Sessions()
        self._redirects = read_redirects(config.upstreams)

    def prefetch(self) -> asyncio.Task[AgentContexts | None]:
        """Begin to load what an allowed connection needs. MUST be called in the event loop."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))
        return self._loading

    async def _loaded(self) -> AgentContexts:
        """Wait until it is loaded, and see that it is: also where that was given up."""
        self._wanted = True
        while True:
            loading = self.prefetch()
            contexts = await asyncio.shield(loading)
            if contexts is not None:
                if self._faster is None:
                    self._faster = asyncio.get_running_loop().call_later(FASTER_AFTER_S, self._quicken)
                return contexts
            if self._loading is loading:
                self._loading = None

    def _quicken(self) -> None:
        """Load what looks for many texts in one pass: until then they are looked for in turn."""
        if not self._ending:
            from mediator import anyof

            asyncio.get_running_loop().run_in_executor(None, anyof.load)

    async def carry(
        self,
        target: Destination,
        spoken: Tls | Http,
        first: bytes,
        streams: Streams,
    ) -> None:
        """Carry one allowed connection until it ends."""
        contexts = await self._loaded()
        from mediator.handler import AgentConnection

        link = Link(
            target=target,
            tls=isinstance(spoken, Tls),
            sni=spoken.sni if isinstance(spoken, Tls) else None,
            standing=self._standing,
            broker=self._broker,
            ledger=self._ledger,
            clock=time.monotonic_ns,
            later=partial(asyncio.get_running_loop().call_later, GOES_ON_S),
            sessions=self._sessions,
            room=self._room,
            files=self._files,
            slices=self._slices,
            began=self._began,
            process=CALLER.get().pid,
            playback=self._config.playback,
            near=self._is_near(target),
        )
        connection = AgentConnection(
            streams.reader, streams.writer, first=first, link=link, contexts=contexts, dialler=self.dialler
        )
        self._open[connection] = self._standing.grounds(target, self._standing.now())
        try:
            await connection.handle_client()
            await connection.delivered()
        finally:
            self._open.pop(connection, None)
            connection.end("the connection ended")
            reset(streams.writer.transport)

    async def carry_raw(self, target: Destination, first: bytes, streams: Streams) -> None:
        """Carry one connection for which raw TCP is allowed, until it ends."""
        from mediator.tunnel import Tunnel

        playback = self._config.playback
        grounds = self._standing.grounds(target, self._standing.now())
        if playback is not None and not playback.live:
            await self._play(target, first, streams, playback, grounds)
            return

        async def dial() -> Streams:
            return await self.dialler().dial(target, tls=False, h2=False, raw=True)

        tunnel = Tunnel(target, streams, self._ledger, self._broker, first=first)
        await self._tunnel(tunnel, dial, grounds)

    async def _play(
        self,
        target: Destination | Caller,
        first: bytes,
        streams: Streams,
        playback: Playback,
        grounds: Grounds | None,
    ) -> None:
        """Carry one raw connection whose other side is the recording."""
        from mediator.playback.connection import as_far_as_recorded, connected
        from mediator.tunnel import Tunnel

        agent = as_far_as_recorded(streams)
        tunnel = Tunnel(target, agent, self._ledger, self._broker, first=first)

        async def dial() -> Streams:
            return await connected(playback, tunnel.number, agent)

        await self._tunnel(tunnel, dial, grounds)

    async def carry_played(self, caller: Caller, inside: Streams, playback: Playback) -> None:
        """Carry one connection to a published port that the operator's side made when it was recorded."""
        await self._play(caller, b"", inside, playback, None)

    async def carry_between(self, caller: Caller, inside: Streams, outside: Streams) -> None:
        """Carry one connection that the operator's side made to a published port, until it ends."""
        from mediator.tunnel import Tunnel

        async def ready() -> Streams:
            return outside

        await self._tunnel(Tunnel(caller, inside, self._ledger, self._broker), ready, None)

    async def _tunnel(self, tunnel: Tunnel, dial: Dial, grounds: Grounds | None) -> None:
        """Carry a tunnel; without grounds it stands whatever the policy becomes."""
        self._open[tunnel] = grounds
        try:
            await tunnel.run(dial)
        finally:
            self._open.pop(tunnel, None)

    def dialler(self) -> Dialler:
        """Return what dials for this run. Raises UpstreamError in a replay, where nothing does."""
        if self._config.playback is not None and not self._config.playback.live:
            self._config.playback.dialled("a connection")
            raise UpstreamError("a replay dials nothing")
        if self._dialler is None:
            from mediator.dial import Dialler, UpstreamTrust

            trust = UpstreamTrust(self._config.host_roots, *self._config.upstream_roots)
            self._dialler = Dialler(self._redirects, trust, self._appointed, self._config.proxies)
        return self._dialler

    def _is_near(self, target: Destination) -> bool:
        playback = self._config.playback
        if playback is not None and not playback.live:
            return not self._config.near.isdisjoint((target.host, str(target)))
        return is_near(target, self._redirects, self._appointed(target))

    def _appointed(self, target: Destination) -> Address | None:
        return appointed(self._standing.policy, target.host, target.port)

    def branched(self) -> None:
        """As `recheck`, where a fork's own policy has come into force. Raises RecordError.

        What is answered still is answered to its end: every other request there is judged by itself.
        """
        for connection, grounds in list(self._open.items()):
            if grounds is not None and connection.busy and not connection.is_raw:
                self._open[connection] = None
        self.recheck()

    def recheck(self) -> None:
        """End the connections that the policy in force allows no longer. Raises RecordError."""
        now = self._standing.now()
        for connection, grounds in list(self._open.items()):
            reason = grounds.gone(self._standing.policy, now) if grounds is not None else ""
            if grounds is not None and reason:
                self._ledger.warn(f"the connection to {grounds.target} was ended: {reason}")
                connection.end(reason)
                self._open.pop(connection, None)

    async def stop(self) -> None:
        """Give what is under way a moment, then record its end and close it."""
        self._ending = True
        if self._loading is not None and not self._loading.done():
            await asyncio.wait([self._loading])
        deadline = time.monotonic() + RAGGED_S
        while self._busy() and time.monotonic() < deadline:  # noqa: ASYNC110  # ends by the agents' doing
            await asyncio.sleep(0.01)
        for connection in list(self._open):
            connection.end(RUN_ENDED)
        if self._dialler is not None:
            self._dialler.abort_all()

    def _busy(self) -> bool:
        return any(connection.busy for connection in self._open)

    def _parts(self) -> tuple[str, ...]:
        return _PARTS if self._stays_played() else (_DIALS, *_PARTS)

    def _stays_played(self) -> bool:
        """Tell whether nothing is dialled. What is replayed seldom speaks HTTP/2: it is loaded if it does."""
        return self._config.playback is not None and self._config.ahead is None

    def _load(self) -> AgentContexts | None:
        """Load it all; None where the run ends before that, and nobody waits."""
        from mediator import lean

        lean.prepare()  # before mitmproxy
        lean.hide_certificates()  # before OpenSSL
        for part in self._parts():
            if self._ending and not self._wanted:
                return None
            importlib.import_module(part)
        if not self._stays_played():
            h2.load()
        from mediator.tls import AgentContexts

        return AgentContexts(self._ca)

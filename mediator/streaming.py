"""An exchange that became a stream of bytes, by an upgrade to a protocol that is not read here.

Always: what a side says is on the record before any byte of it passes; a stream with a placeholder or a real
value in it ends both ways before the byte that completes it is passed, as raw TCP does (`mediator.tunnel`).
From a server that knows a credential a word at the end of a piece waits for what follows. It passes alone
only where that server was listened to in vain for `LATER_S` and less than half of a value can stand in it.
The end of what one side says is passed as that, and a reset as a reset.

Not done here: telling a server over TLS that the agent has said all, which asyncio's TLS cannot express.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http import SendHttp
from mitmproxy.proxy.layers.http._events import RequestEndOfMessage, ResponseEndOfMessage

from hark.bundle.events import AGENT_LEFT, STREAM
from hark.policy.decide import Deny
from mediator import answers, strays, upgrade
from mediator.playback.words import WENT_LIVE
from mediator.scan import FoundError
from mediator.settled import SettledHook
from mediator.sliced import is_slow
from mediator.stream import Agent, Commands, Server
from mediator.talking import Talking
from mediator.transcript import Headers

if TYPE_CHECKING:
    from mediator.scan import StreamSwap

LATER_S: Final = 1.0
"""For the rest of a value that a server which knows it sends in two pieces. Without an end both sides of a
protocol of frames could wait for each other behind any short word."""
LOOKS: Final = 4
"""In that time: in each of them the server is being read, and nothing of it lies there. An agent that takes
nothing keeps hark from reading."""
SILENT_S: Final = 10.0
"""After which it is said that a word is kept back, and why."""
KEPT_BACK: Final = (
    "an upgraded connection to {} stopped within a long word, which hark keeps back since most of a "
    "credential may stand in it; bind that to another host, or to another port, if they have to talk so"
)
SERVER_RESET: Final = "the server reset the connection"


class Streaming(Talking):
    """Bytes of both sides, once the server has agreed."""

    _ways: "dict[bool, StreamSwap] | None" = None
    """By whether it is the agent's: what looks for credentials in it."""
    _later: commands.RequestWakeup | None = None
    _quiet = 0
    """Looks, one after another, that found nothing more of the server."""
    _hushed: frozenset[bool] = frozenset()
    """Who has said all."""

    @property
    def _talks(self) -> bool:
        """Tell whether this is no HTTP any more."""
        return self._ways is not None or super()._talks

    def _agreed(self, response: http.Response, headers: Headers) -> str:
        """Begin to stream, or say what is wrong with the server's agreement."""
        forward, asked = self._forward, self._asked
        if forward is None or asked is None or not forward.upgrades:
            return super()._agreed(response, headers)
        if asked.data.http_version != b"HTTP/1.1":
            return "it switched protocols unasked"
        if self._agent is not Agent.DONE:
            return "it switched protocols amid the request"
        wrong = upgrade.answer_wrong(forward.headers, headers) or answers.unreadable(response)
        if not wrong:
            broker = self.link.broker
            knows = broker.binds(self.link.target)
            self._ways = {
                True: broker.stopping(from_agent=True),
                False: broker.stopping(from_agent=False, patient=knows and not self._played),
            }
        return wrong

    def _on_talk(self, data: bytes, *, from_agent: bool) -> Commands:
        """One side said something."""
        if self._ways is None:
            yield from super()._on_talk(data, from_agent=from_agent)
            return
        if self._server is not Server.BODY or from_agent in self._hushed:
            return
        yield from self._stream(data, from_agent=from_agent)
        if from_agent and self._is_left and self._server is Server.BODY:
            yield from self._cut(WENT_LIVE)

    def _stream(self, data: bytes, *, from_agent: bool) -> Commands:
        """Pass on what may pass; without data, also what was held, and that this is the end."""
        way = (self._ways or {})[from_agent]
        try:
            look = partial(way.at_once, data) if data else way.finish
            passed = (yield from self._sliced(look)) if is_slow(data) else look()
        except FoundError as found:
            yield from self._stop(found, from_agent=from_agent)
            return
        if not data:
            self._hushed |= {from_agent}
        if passed or not data:
            self.transcript.message(STREAM, passed, more=bool(data), from_agent=from_agent)
        if passed:
            yield self._say(passed, to_agent=not from_agent)
        if not from_agent:
            self._quiet, self._later = 0, None
            if data and way.holding:
                yield from self._look_later(LATER_S / LOOKS)

    def _look_later(self, after_s: float) -> Commands:
        self._later = commands.RequestWakeup(after_s)
        yield self._later

    def _on_later(self, event: events.Wakeup) -> Commands:
        """Pass on what was held of the server's words, if it was listened to for long and said nothing."""
        if self._ways is None or event.command is not self._later or self._server is not Server.BODY:
            return
        self._quiet = self._quiet + 1 if self._upstream and self.listens_to(self._upstream) else 0
        if self._quiet < LOOKS:
            yield from self._look_later(LATER_S / LOOKS)
            return
        passed = self._ways[False].after_silence()
        if passed:
            self.transcript.message(STREAM, passed, more=True, from_agent=False)
            yield self._say(passed, to_agent=True)
        elif self._quiet == LOOKS:
            yield from self._look_later(SILENT_S)
        else:
            self.link.ledger.warn(KEPT_BACK.format(self.link.target))

    def _stop(self, found: FoundError, *, from_agent: bool) -> Commands:
        """End a stream in which a credential stands; the piece with it is not recorded."""
        if from_agent:
            why = f"the placeholder of secrets.{found.name} stands in it, and an upgraded connection"
            why += " has no place for it"
            denied = Deny(why, "")
            self.link.ledger.attempt(self.link.target, "upgrade", self.link.sni_text, denied)
            yield SettledHook()
        else:
            why = self._came(found.name)
        yield from self._cut(why)

    def _came(self, name: str) -> str:
        """Say that the server sent a value."""
        if name in self.link.broker.astray_at(self.link.target):
            return strays.reason(name)
        return f"the server sent the value of secrets.{name}, which the agent must not see"

    def _on_hush(self, *, from_agent: bool) -> Commands:
        """One side has said all, or is gone."""
        if self._ways is None:
            yield from super()._on_hush(from_agent=from_agent)
            return
        if self._server is not Server.BODY or from_agent in self._hushed:
            return
        gone = self._gone(from_agent=from_agent)
        if gone:
            yield from self._cut(gone)
            return
        yield from self._stream(b"", from_agent=from_agent)
        if not self.transcript.open:
            return
        if len(self._hushed) == len((True, False)):
            yield from self._hang_up_both("")
        elif from_agent and self._upstream is not None:
            yield SendHttp(RequestEndOfMessage(self.stream_id), self._upstream)
        else:
            yield self._to_agent(ResponseEndOfMessage(self.stream_id))

    def _gone(self, *, from_agent: bool) -> str:
        """Say that a side neither says anything more nor hears; empty where it only has said all."""
        if from_agent:
            return AGENT_LEFT if not self.context.client.state and not self._hushed else ""
        return SERVER_RESET if self._upstream is not None and self._upstream.error else ""

    def _on_played_end(self, reason: str) -> Commands:
        """In a replay: it ended for this reason when it was recorded, and nobody here has ended it."""
        if self._ways is None:
            yield from super()._on_played_end(reason)
        elif self._server is Server.BODY:
            yield from self._cut(reason)

    def _cut(self, reason: str) -> Commands:
        """End both sides, and let neither take that for a regular end."""
        if reason != AGENT_LEFT:
            self.link.ledger.warn(f"the upgraded connection to {self.link.target} was ended: {reason}")
            self.context.client.error = reason
        yield from self._hang_up_both(reason)

"""What led to what in a run: links that are read from the data, and links that are only inferred.

What always holds: a link says which of the two it is and by what it was found. Read are an identifier that comes
back, and a URL of a tool call's arguments that is then requested or denied. Inferred are a text that is found
again, equal names and arguments, and order in time: each may be a coincidence, and the page says so. Tables
are bounded, so that a long run has the links of its recent past alone.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.conversation import loose
from hark.conversation.exchanges import Heard
from hark.conversation.model import ModelCall, ToolCall
from hark.replay.recorded import Frame

MAX_KNOWN: Final = 4_096  # calls, URLs and messages that later events are compared with
MAX_PAGES: Final = 64  # answers whose text is looked for
MAX_LINKS: Final = 2_000
MAX_TRIED: Final = 256  # of the last calls: those that a message to a tool server is compared with
MAX_KEY: Final = 200  # characters of a name that is kept as it is, and not as its hash
MAX_SEARCHED: Final = 200_000  # characters of one prompt
PROBE: Final = 48  # characters; a shorter text is found by chance
_URL: Final = re.compile(r"https?://([^\s\"'<>\\/?#]+)([^\s\"'<>\\?#)]*)", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]{0,500}>")


class Link(NamedTuple):
    """One thing led to another. `read`: from the data; else it is inferred."""

    read: bool
    source: int
    """Event."""
    begin_ns: int
    cause: str
    target: int
    end_ns: int
    effect: str
    how: str


class _Known(NamedTuple):
    seq: int
    time_ns: int
    words: str


class _Table(OrderedDict[object, _Known]):
    """A table that forgets its oldest."""

    def keep(self, key: object, known: _Known, most: int = MAX_KNOWN) -> None:
        self[key] = known
        if len(self) > most:
            self.popitem(last=False)


class Links:
    """Takes what happened, in its order; `found` are the links."""

    def __init__(self) -> None:
        self.found: list[Link] = []
        self.left_out = 0
        self._calls = _Table()
        self._urls = _Table()
        self._hosts = _Table()
        self._rpc = _Table()
        self._tools = _Table()
        self._pages = _Table()
        self._latest: _Known | None = None
        self._answered = _Table()

    def event(self, frame: Frame) -> None:
        """Take an event that is no HTTP exchange."""
        match frame.event:
            case ev.EgressDecision(allowed=False) as event:
                self._denied(frame, event.host)
            case ev.DnsDecision(allowed=False) as event:
                self._denied(frame, event.name)
            case ev.McpMessage() as event if event.data and len(event.data) < MAX_SEARCHED:
                self._message(frame, event)
            case ev.ToolCallRequest() as event:
                known = _Known(frame.seq, frame.time_ns, f"tool {event.server} {event.tool}")
                self._rpc.keep(("tool", event.exchange), known)
            case ev.ToolCallResult() as event:
                self._answer(
                    ("tool", event.exchange), frame, f"{event.server} {event.tool}", "its exchange number"
                )

    def hear(self, heard: Heard, call: ModelCall | None) -> None:
        """Take an exchange that ended."""
        if call is None:
            self._request(heard)
            self._remember(heard)
            return
        self._prompt(heard, call)
        if call.reply is None or heard.ended_seq is None or heard.ended_ns is None:
            return
        for one in call.reply.calls:
            known = _Known(heard.ended_seq, heard.ended_ns, f"tool call {one.name}"[:MAX_KEY])
            self._call(known, one)
            self._latest = known

    def _call(self, known: _Known, call: ToolCall) -> None:
        if call.id:
            self._calls.keep(_key(call.id), known)
        self._tools.keep((call.name[:MAX_KEY], _canonical(call.arguments)), known)
        for host, path in _urls(call.arguments):
            self._urls.keep((_key(host), _key(path)), known)
            self._hosts.keep(_key(host.partition(":")[0]), known)

    def _prompt(self, heard: Heard, call: ModelCall) -> None:
        """Link calls to their results, and pages to the prompts that hold them."""
        target = (heard.seq, heard.time_ns, f"prompt to {call.model or 'a model'}"[:MAX_KEY])
        for turn in call.turns:
            for result in turn.results:
                key = _key(result.id)
                known = self._calls.get(key)
                if known is not None and key not in self._answered and known.time_ns <= heard.time_ns:
                    self._answered.keep(key, known)
                    how = f"its result comes back by the id {result.id[:MAX_KEY]}"
                    self._link(known, *target, read=True, how=how)
        recent = call.turns[-1:]
        said = "\n".join(
            [turn.text for turn in recent] + [one.text for turn in recent for one in turn.results]
        )
        read = _plain(said[:MAX_SEARCHED]) if self._pages else ""
        for probe, known in list(self._pages.items()):
            if known.time_ns <= heard.time_ns and str(probe) in read:
                del self._pages[probe]
                self._link(known, *target, read=False, how="its text stands in the prompt")

    def _request(self, heard: Heard) -> None:
        host, path = _key(heard.host.lower()), heard.path.partition("?")[0]
        known = self._urls.get((host, _key(path))) or self._urls.get((host, _key(path.rstrip("/"))))
        words = f"{heard.method} {heard.host}{heard.path}"[:120]
        if known is not None and known.time_ns <= heard.time_ns:
            self._link(
                known, heard.seq, heard.time_ns, words, read=True, how="its URL stands in the arguments"
            )
        elif self._latest is not None and self._latest.time_ns <= heard.time_ns:
            self._link(self._latest, heard.seq, heard.time_ns, words, read=False, how="it came next in time")
        self._latest = None

    def _remember(self, heard: Heard) -> None:
        if heard.refused or heard.ended_seq is None or heard.ended_ns is None:
            return
        known = _Known(heard.ended_seq, heard.ended_ns, f"answer of {heard.host}{heard.path}"[:120])
        page = _plain(heard.answer[: 4 * MAX_SEARCHED].decode("utf-8", "replace"))
        middle = max(0, len(page) // 2 - PROBE // 2)
        probe = page[middle : middle + PROBE].strip()
        if len(probe) >= PROBE // 2:
            self._pages.keep(probe, known, MAX_PAGES)

    def _denied(self, frame: Frame, host: str) -> None:
        known = self._hosts.get(_key(host.lower()))
        if known is not None:
            self._link(
                known,
                frame.seq,
                frame.time_ns,
                f"denied {host}"[:MAX_KEY],
                read=True,
                how="the host of a URL in the arguments",
            )
            self._latest = None

    def _message(self, frame: Frame, event: ev.McpMessage) -> None:
        message = loose.mapping(loose.load(event.data))
        identity, where = message.get("id"), (event.server, event.connection)
        if not isinstance(identity, str | int):
            return
        if isinstance(identity, str):
            identity = _key(identity)
        key = (*where, event.from_agent, identity)
        if "method" not in message:
            how = f"the answer has the id {identity}"
            self._answer((*where, not event.from_agent, identity), frame, f"answer of {event.server}", how)
            return
        name = loose.text(loose.at(message, "params", "name"))
        words = f"{event.server} {loose.text(message['method'])} {name}".strip()[:MAX_KEY]
        self._rpc.keep(key, _Known(frame.seq, frame.time_ns, words))
        if message["method"] == "tools/call":
            self._same_tool(frame, name, loose.at(message, "params", "arguments"), words)

    def _same_tool(self, frame: Frame, name: str, arguments: object, words: str) -> None:
        written = _canonical(loose.dump(arguments))
        for (called, given), known in self._named():
            if given == written and name and called.endswith(name):
                self._link(known, frame.seq, frame.time_ns, words, read=False, how="same tool and arguments")
                self._latest = None
                return

    def _named(self) -> Iterator[tuple[tuple[str, str], _Known]]:
        for key, known in islice(reversed(self._tools.items()), MAX_TRIED):
            if isinstance(key, tuple):
                yield (str(key[0]), str(key[1])), known

    def _answer(self, key: object, frame: Frame, words: str, how: str) -> None:
        known = self._rpc.pop(key, None)
        if known is not None:
            self._link(known, frame.seq, frame.time_ns, words, read=True, how=how)

    def _link(self, known: _Known, seq: int, time_ns: int, effect: str, *, read: bool, how: str) -> None:
        if len(self.found) >= MAX_LINKS:
            self.left_out += 1
            return
        self.found.append(Link(read, known.seq, known.time_ns, known.words, seq, time_ns, effect, how))


def _key(name: str) -> str:
    """Return a name as it is kept: the recording chooses how long it is."""
    if len(name) <= MAX_KEY:
        return name
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()


def _canonical(arguments: str) -> str:
    value = loose.load(arguments)
    return _key(arguments if value is None else json.dumps(value, sort_keys=True))


def _urls(text: str) -> Iterator[tuple[str, str]]:
    for found in _URL.finditer(text[:MAX_SEARCHED]):
        host, path = found[1].lower(), found[2] or "/"
        yield host.rpartition("@")[2].removesuffix(":443").removesuffix(":80"), path


def _plain(text: str) -> str:
    """Return a text without tags, with single blanks: as a page looks to a reader."""
    return " ".join(_TAG.sub(" ", text).split())

"""The values of a conversation, and how they are put together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hark.conversation import loose
from hark.conversation.exchanges import Heard


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. An empty id: the API gives none."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the agent says a tool gave."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said at once."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the answer counts them; None where it does not. `input` is all of it, cached or not."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    """Of the input: read from a cache."""
    written: int | None = None
    """Of the input: put into a cache, where that costs more."""
    written_1h: int | None = None
    """Of those: to be kept for an hour, which costs more again."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request holds."""

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What an answer holds."""

    turn: Turn | None = None
    model: str = ""
    stop: str = ""
    usage: Usage = Usage()
    id: str = ""
    """What the API calls this answer; empty where it gives it no name."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model and its answer."""

    provider: str
    """anthropic, openai.chat, openai.responses, gemini."""
    heard: Heard
    model: str
    answered_by: str
    """The model that the answer names."""
    turns: tuple[Turn, ...]
    reply: Turn | None
    usage: Usage
    stop: str
    streamed: bool
    tools: tuple[str, ...]
    """The names of the tools that the model was offered."""
    parameters: Mapping[str, object]
    id: str = ""
    """What the API calls the answer."""


class Growing:
    """A reply that is put together from pieces: texts and calls, each at its place."""

    def __init__(self) -> None:
        self._texts: dict[Any, list[str]] = {}
        self._calls: dict[Any, tuple[str, str, list[str]]] = {}
        self.seen = False
        """Whether anything was said at all, be it empty."""

    def text(self, place: Any, piece: str) -> None:
        """Add a piece of the text at `place`."""
        self.seen = True
        self._texts.setdefault(place, []).append(piece)

    def call(self, place: Any, identity: str = "", name: str = "", piece: str = "") -> None:
        """Add to the call at `place`; the first identity and name that are given stay."""
        self.seen = True
        before = self._calls.get(place, ("", "", []))
        before[2].append(piece)
        self._calls[place] = (before[0] or identity, before[1] or name, before[2])

    def replace_arguments(self, place: Any, arguments: str) -> None:
        """Set a call's arguments: an event that repeats them whole."""
        before = self._calls.get(place, ("", "", []))
        self._calls[place] = (before[0], before[1], [arguments])

    def turn(self, role: str = "assistant") -> Turn | None:
        """Return what has come so far; None where nothing has."""
        if not self.seen:
            return None
        parts = ["".join(pieces) for pieces in self._texts.values()]
        calls = (ToolCall(one, name, "".join(pieces)) for one, name, pieces in self._calls.values())
        return Turn(role, "\n\n".join(part for part in parts if part), tuple(calls))


def placeholder(part: Mapping[str, Any]) -> str:
    """Return words for a part of a message that is no text: a picture, a file."""
    return f"[{loose.text(part.get('type')) or 'part without a type'}]"

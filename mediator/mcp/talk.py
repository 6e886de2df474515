"""One conversation over stdio: which of the agent's lines pass, and which call an answer belongs to. No IO.

Always: a line passes as it came or not at all; a denied call denies its whole line; while a call is not
answered its id is not taken again, so that a result is never put under another call.

What is not a tool call passes and is recorded: initialize, lists, resources, prompts, and what a server asks
of the agent (sampling, elicitation, roots). A list of tools is not thinned out: the agent is told why it may
not call one when it tries.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from mediator.mcp.jsonrpc import Call, Id, Response, compact, read, readable
from mediator.mcp.judge import Denied, Tools, answer, judge

MAX_PENDING: Final = 1024  # calls that wait for their result; an agent has some dozen tools at work


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call under the number of an exchange of its own."""

    exchange: int
    tool: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """What a call came to."""

    asked: Asked
    result: bytes
    is_error: bool


@dataclass(frozen=True, slots=True)
class Passed:
    """The line may go on, with these calls in it."""

    calls: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The line goes nowhere; `reply` (perhaps empty) goes back."""

    denied: Denied
    calls: tuple[Asked, ...]
    reply: bytes


class Talk:
    """The state of one connection. `number` MUST return another number each time."""

    def __init__(
        self, tools: Tools, key: str, number: Callable[[], int], again: Callable[[str], str] = lambda _: ""
    ) -> None:
        """`again` says why a tool is not called a second time, in a fork, or nothing."""
        self.tools = tools
        """The list that is in force."""
        self._again = again
        self._key = key
        self._number = number
        self._pending: dict[Id, Asked] = {}

    def from_agent(self, line: bytes) -> Passed | Refused:
        """Judge a line of the agent's. Raises MessageError where it cannot be read."""
        packet = read(line)
        calls = [message for message in packet.messages if isinstance(message, Call)]
        asked = tuple(Asked(self._number(), readable(call.tool), compact(call.arguments)) for call in calls)
        denied = judge(self.tools, packet, self._key) or self._repeated(calls) or self._overtaken(calls)
        if denied is not None:
            return Refused(denied, asked, answer(packet, denied.words))
        for call, one in zip(calls, asked, strict=True):
            if call.id is not None:
                self._pending[call.id] = replace(
                    one, arguments=b""
                )  # they are on the record, and may be long
        return Passed(asked)

    def refused(self, line: bytes, reason: str) -> Refused:
        """Refuse a line of the agent's for another reason than its tools. Raises MessageError likewise."""
        denied = Denied("", reason, "")
        return Refused(denied, (), answer(read(line), denied.words))

    def from_server(self, line: bytes) -> tuple[Answered, ...]:
        """Return the calls that a line of the server's answers. Raises MessageError if it cannot be read."""
        found = []
        for message in read(line).messages:
            if isinstance(message, Response):
                asked = self._pending.pop(message.id, None)
                if asked is not None:
                    found.append(Answered(asked, message.result, message.is_error))
        return tuple(found)

    def exchange_of(self, line: bytes) -> int:
        """Return the number of the first call in a line that waits for its answer; 0: there is none."""
        calls = (message for message in read(line).messages if isinstance(message, Call))
        found = (self._pending.get(call.id) for call in calls)
        return next((asked.exchange for asked in found if asked is not None), 0)

    def _repeated(self, calls: list[Call]) -> Denied | None:
        """Deny a call that changes the world and was made already."""
        found = ((readable(call.tool), self._again(readable(call.tool))) for call in calls)
        return next((Denied(tool, why, "") for tool, why in found if why), None)

    def _overtaken(self, calls: list[Call]) -> Denied | None:
        """Deny a call whose answer could be taken for another's, or one more than are kept."""
        ids = [call.id for call in calls if call.id is not None]
        if len(set(ids)) < len(ids) or any(number in self._pending for number in ids):
            return Denied(calls[0].tool, "a call with the same id is not answered yet", "")
        if len(self._pending) + len(ids) > MAX_PENDING:
            return Denied(calls[0].tool, f"{MAX_PENDING} calls are not answered yet", "")
        return None

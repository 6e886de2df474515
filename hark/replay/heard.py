"""What a replay's record says of conversations that are no HTTP, told to those that were recorded. No IO."""

from hark.bundle.events import REFUSED, STREAM, McpMessage, TunnelData, WebSocketMessage
from hark.replay.conversing import BY_AGENT, is_compared, lane_of
from hark.replay.exchanges import Messages
from hark.replay.marks import Marks
from hark.replay.talks import MCP, Differs, Talks, by_value, message


class Heard:
    """Takes the events of a replay, in order."""

    def __init__(self, talks: Talks, marks: Marks) -> None:
        self._talks = talks
        self._marks = marks
        self._messages: dict[int, Messages] = {}

    def take(self, event: TunnelData | McpMessage | WebSocketMessage) -> Differs | None:
        """Take one; what the agent said differently is returned."""
        match event:
            case TunnelData():
                return self._tunnel(event)
            case McpMessage():
                return self._mcp(event)
            case WebSocketMessage():
                return self._message(event)

    def _tunnel(self, event: TunnelData) -> Differs | None:
        number = event.exchange
        found = None
        if event.host:
            found = self._talks.begun(number, lane_of(event.host))
        elif event.from_agent and event.data and not event.error.startswith(REFUSED):
            found = self._talks.said(number, event.data)
        if (
            event.end
            and event.from_agent
            and (not event.error or event.error.startswith((REFUSED, *BY_AGENT)))
        ):
            found = found or self._talks.hushed(number)
        if event.end and event.error:
            self._talks.ended(number, event.error)
        return found

    def _mcp(self, event: McpMessage) -> Differs | None:
        found = None
        if self._talks.of(event.connection) is None:
            found = self._talks.begun(event.connection, (MCP, event.server))
        if found is None and event.data and event.from_agent:
            found = self._talks.said(event.connection, message(event, "", by_value(event.data, self._marks)))
        if not event.data:
            if found is None and event.note.startswith(BY_AGENT):
                found = self._talks.hushed(event.connection)
            self._talks.ended(event.connection, event.note)
        return found

    def _message(self, event: WebSocketMessage) -> Differs | None:
        if not event.from_agent or not is_compared(event):
            return None
        if event.type == STREAM:
            found = self._talks.said(event.exchange, event.data) if event.data else None
            return found if event.more else found or self._talks.hushed(event.exchange)
        messages = self._messages.get(event.exchange)
        if messages is None:
            messages = Messages(lambda data: by_value(data, self._marks))
            self._messages[event.exchange] = messages
        whole = messages.add(0, event)
        return None if whole is None else self._talks.said(event.exchange, message(event, *whole[1:]))

"""WebSocket messages on their way through the mediator, one direction at a time. Framing is wsproto's. No IO.

Always: what one side sent is taken apart, recorded as messages and framed anew for the other side, so nothing
passes that is not a frame of RFC 6455. A message of `MAX_PIECE` at most passes whole, and leaves in one frame
however it was fragmented; of a longer one, or where the run's room for held bytes is used up, each piece
leaves as a fragment. No extension is ever agreed on (`mediator.handshake`), so payloads are plain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed

from mediator.bodies import RequestBody
from mediator.credentials import Injection
from mediator.held import Room

MAX_PIECE: Final = 1 << 20  # as of a request's body: what one event holds

NO_FRAME: Final = "sent what is no WebSocket frame"

_TYPES: Final = {
    Opcode.TEXT: "text",
    Opcode.BINARY: "binary",
    Opcode.CLOSE: "close",
    Opcode.PING: "ping",
    Opcode.PONG: "pong",
}


class FramingError(Exception):
    """One side sent what is no WebSocket frame, or no frame that may stand there. `code` is RFC 6455's."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{NO_FRAME} (close code {code})")
        self.code = code


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, a part of one, or a control frame: what is recorded, and the frame for the other side."""

    type: str
    data: bytes
    more: bool
    wire: bytes
    injected: tuple[Injection, ...] = ()
    """The credentials that `wire` holds."""


class Direction:
    """What one side says. `way` is called for each message and returns what it passes (`mediator.bodies`)."""

    def __init__(self, *, from_agent: bool, way: Callable[[], RequestBody], room: Room) -> None:
        self._reader = FrameProtocol(client=not from_agent, extensions=[])
        self._writer = FrameProtocol(client=from_agent, extensions=[])
        self._room = room
        self._new_way = way
        self._way = way()
        self._held = bytearray()
        self._begun = False
        """Whether a part of the message that is under way has left."""
        self.closed = False
        """Whether this side has said that it says nothing more."""

    @property
    def holds(self) -> int:
        """Return how many bytes of a message are held until it is whole."""
        return len(self._held)

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Take bytes and yield what they complete. Raises FramingError and StoppedError."""
        self._reader.receive_bytes(data)
        try:
            for frame in self._reader.received_frames():
                if frame.opcode.iscontrol():
                    yield self._control(frame.opcode, frame.payload)
                    continue
                payload = frame.payload.encode() if isinstance(frame.payload, str) else bytes(frame.payload)  # type: ignore[arg-type]
                yield from self._part(frame.opcode, payload, last=frame.message_finished)
        except ParseFailed as failed:
            raise FramingError(failed.code) from None

    def let_go(self) -> None:
        """Hold nothing any more."""
        self._room.left += len(self._held)
        self._held.clear()

    def _part(self, opcode: Opcode, payload: bytes, *, last: bool) -> Iterator[Piece]:
        self._held += payload
        self._room.left -= len(payload)
        if not last and len(self._held) < MAX_PIECE and self._room.left > 0:
            return
        whole = bytes(self._held)
        self.let_go()
        data = self._way.checked.feed(whole) + (self._way.checked.finish() if last else b"")
        sent = self._way.sent.feed(data) + (self._way.sent.finish() if last else b"")
        if data or sent or last:
            wire = self._frame(opcode, sent, last=last) if sent or last else b""
            yield Piece(_TYPES[opcode], data, not last, wire, tuple(self._way.injected()) if last else ())
        if last:
            self._begun = False
            self._way = self._new_way()

    def _frame(self, opcode: Opcode, payload: bytes, *, last: bool) -> bytes:
        shown = Opcode.CONTINUATION if self._begun else opcode
        self._begun = True
        return bytes(self._writer._serialize_frame(shown, payload, fin=last))  # noqa: SLF001  # it alone takes bytes for text

    def _control(self, opcode: Opcode, payload: object) -> Piece:
        if opcode is Opcode.CLOSE:
            self.closed = True
            data = _close_data(payload)
        else:
            data = bytes(payload)  # type: ignore[call-overload]
        way = self._new_way()
        data = way.checked.feed(data) + way.checked.finish()
        sent = way.sent.feed(data) + way.sent.finish()
        frame = self._writer._serialize_frame(opcode, sent)  # noqa: SLF001  # as above
        return Piece(_TYPES[opcode], data, more=False, wire=bytes(frame), injected=tuple(way.injected()))


def goodbye(code: int, reason: str, *, to_agent: bool) -> bytes:
    """Return a close frame of hark's own."""
    return bytes(FrameProtocol(client=not to_agent, extensions=[]).close(code, reason))


def _close_data(payload: object) -> bytes:
    match payload:
        case (int(code), str(reason)) if code != CloseReason.NO_STATUS_RCVD:
            return code.to_bytes(2) + reason.encode()
        case _:
            return b""

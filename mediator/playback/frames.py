"""The server's side of a WebSocket that is played: frames of recorded messages, and pongs. By wsproto.

Always: the handshake answers the key that this agent drew, and a pong has the data of this agent's ping; as
many of its pings are answered as were when it was recorded, each at once, whatever the order of messages.
"""

from collections.abc import Iterator
from typing import Final

from wsproto.frame_protocol import FrameProtocol, Opcode, ParseFailed

from hark.bundle.fields import Pairs
from hark.replay.pieces import Message
from mediator import handshake

_OPCODES: Final = {
    "text": Opcode.TEXT,
    "binary": Opcode.BINARY,
    "close": Opcode.CLOSE,
    "ping": Opcode.PING,
    "pong": Opcode.PONG,
}
_ACCEPT: Final = b"sec-websocket-accept"


class Frames:
    """One WebSocket's."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._reader = FrameProtocol(client=False, extensions=[])
        self._writer = FrameProtocol(client=False, extensions=[])
        self._begun = False
        """Whether a part of the message that is under way has left."""
        self._talks = False
        self._pongs = 0

    @classmethod
    def asked(cls, headers: Pairs) -> "Frames | None":
        """Return them for a request, where it asks for a WebSocket."""
        keys = [value.strip() for name, value in headers if name.lower() == b"sec-websocket-key"]
        return cls(keys[0]) if handshake.wanted(headers) and keys else None

    def accepting(self, headers: Pairs) -> Pairs:
        """Return the recorded headers of the server's agreement, for this agent's key."""
        accept = handshake.accept(self._key)
        return tuple((name, accept if name.lower() == _ACCEPT else value) for name, value in headers)

    def began(self, pongs: int) -> None:
        """Begin to listen; so many pings are answered."""
        self._talks = True
        self._pongs = pongs

    def framed(self, message: Message) -> bytes:
        """Return a recorded message or piece as a frame."""
        opcode = _OPCODES.get(message.type, Opcode.BINARY)  # no recorder writes another
        if opcode.iscontrol():
            return self._frame(opcode, message.data, last=True)
        shown = Opcode.CONTINUATION if self._begun else opcode
        self._begun = message.more
        return self._frame(shown, message.data, last=not message.more)

    def heard(self, data: bytes) -> Iterator[bytes]:
        """Take what the agent's side sent, and yield the pongs that it gets at once."""
        if not self._talks:
            return
        self._reader.receive_bytes(data)
        try:
            for frame in self._reader.received_frames():
                if frame.opcode is Opcode.PING and self._pongs:
                    self._pongs -= 1
                    yield self._frame(Opcode.PONG, bytes(frame.payload), last=True)  # type: ignore[arg-type]
        except ParseFailed:  # it was judged before: only what hark frames comes here
            self._talks = False

    def _frame(self, opcode: Opcode, payload: bytes, *, last: bool) -> bytes:
        return bytes(self._writer._serialize_frame(opcode, payload, fin=last))  # noqa: SLF001  # it alone takes bytes for text

"""HTTP/2's state with bounded windows, so that nobody can fill our memory and one slow stream stops no other.

Always: what a peer may send is bounded by two windows (RFC 9113, 5.2), a stream's and the connection's. Bytes
are acknowledged, which lets the peer send as many again, only while what they lead to is not backed up; else
they are owed, and acknowledged later. What we send waits for the peer's windows, which it may take back below
zero (6.9.2), but for the empty frame that ends a stream, which needs none (6.9) and waits only below zero:
there h2 as a peer takes it for an error. A peer that goes away (GOAWAY) still finishes what it has begun. No
IO here.
"""

from collections.abc import Buffer, Callable
from typing import Final, override

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event
from hyperframe.frame import Frame, GoAwayFrame
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection, SendH2Data

STREAM_WINDOW: Final = 1 << 19  # 40 Mbit/s to a server 100 ms away
CONNECTION_WINDOW: Final = 1 << 24  # thirty-two streams may be stuck and the others still go on
_FIRST_WINDOW: Final = 65535  # RFC 9113, 6.9.2


class GoingAway(Event):
    """The peer takes no new streams, and none after `last`."""

    last: int = 0


class FlowControlled(BufferedH2Connection):
    """One side of a connection. `stuck` tells of a stream whether what it says is backed up."""

    def __init__(self, config: H2Configuration, *, push: bool = True) -> None:
        super().__init__(config)
        self.stuck: Callable[[int], bool] = lambda _stream: False
        self._owed: dict[int, int] = {}
        self.local_settings.initial_window_size = STREAM_WINDOW
        if not push:
            self.local_settings.enable_push = 0
        self.local_settings.acknowledge()

    def initiate_connection(self) -> None:
        """Begin, with our window over the whole connection."""
        H2Connection.initiate_connection(self)
        self.increment_flow_control_window(CONNECTION_WINDOW - _FIRST_WINDOW)

    def receive_data(self, data: Buffer) -> list[Event]:
        """Read frames. DATA of one stream that comes at once is one event, however it is framed."""
        found: list[Event] = []
        pieces: dict[int, list[DataReceived]] = {}
        for event in super().receive_data(data):
            if not isinstance(event, DataReceived) or event.stream_id is None:
                _join(pieces)
                found.append(event)
            elif event.stream_id in pieces:
                pieces[event.stream_id].append(event)
            else:
                pieces[event.stream_id] = [event]
                found.append(event)
        _join(pieces)
        return found

    def acknowledge_received_data(self, acknowledged_size: int, stream_id: int) -> None:
        """Let the peer send as much again, now or once what it said has gone on."""
        if stream_id in self._owed or self.stuck(stream_id):
            self._owed[stream_id] = self._owed.get(stream_id, 0) + acknowledged_size
        else:
            super().acknowledge_received_data(acknowledged_size, stream_id)

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        """As of h2, which would refuse every frame after this one although streams are under way."""
        event = GoingAway()
        event.last = frame.last_stream_id
        return [], [event]

    @override
    def local_flow_control_window(self, stream_id: int) -> int:
        """Return how many bytes may be sent on a stream: none where the peer took back more than was left."""
        return max(0, super().local_flow_control_window(stream_id))

    @override
    def send_data(  # type: ignore[override]  # mitmproxy's, which takes bytes alone and pads nothing
        self, stream_id: int, data: bytes, end_stream: bool = False, pad_length: None = None
    ) -> None:
        """Send what the windows let pass, and the rest when they do."""
        if not data and self._is_overdrawn(stream_id):
            self.stream_buffers[stream_id].append(SendH2Data(data, end_stream))
        else:
            super().send_data(stream_id, data, end_stream, pad_length)

    @override
    def stream_window_updated(self, stream_id: int) -> bool:
        """Send what waits on a stream, as far as its window goes, and its end if nothing else waits."""
        sent = super().stream_window_updated(stream_id)
        waiting = self.stream_buffers.get(stream_id)
        if waiting and waiting[0].end_stream and not waiting[0].data and not self._is_overdrawn(stream_id):
            del self.stream_buffers[stream_id]
            H2Connection.send_data(self, stream_id, b"", end_stream=True)
        return sent

    def _is_overdrawn(self, stream_id: int) -> bool:
        return super().local_flow_control_window(stream_id) < 0

    def release(self) -> bool:
        """Acknowledge what is no longer stuck. Tell whether there was any."""
        free = [stream for stream in self._owed if not self.stuck(stream)]
        for stream in free:
            super().acknowledge_received_data(self._owed.pop(stream), stream)
        return bool(free)

    def waiting(self, stream_id: int) -> int:
        """Return how many bytes wait for the peer's window on a stream."""
        return sum(len(piece.data) for piece in self.stream_buffers.get(stream_id, ()))


def _join(pieces: dict[int, list[DataReceived]]) -> None:
    """Put into the first event of each stream what the others of it hold."""
    for first, *others in pieces.values():
        if others:
            first.data = b"".join(piece.data or b"" for piece in (first, *others))
            first.flow_controlled_length = sum(
                piece.flow_controlled_length or 0 for piece in (first, *others)
            )
    pieces.clear()

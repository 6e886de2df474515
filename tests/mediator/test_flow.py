"""What is stuck is owed, and acknowledged once it is not: the peer's window closes and opens accordingly."""

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
from h2.settings import SettingCodes
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection, SendH2Data

from mediator.flow import CONNECTION_WINDOW, STREAM_WINDOW, FlowControlled, GoingAway


def opened() -> tuple[FlowControlled, h2.connection.H2Connection]:
    """Return our side of a connection, and a client with one stream open on it."""
    ours = FlowControlled(h2.config.H2Configuration(client_side=False, header_encoding=False))
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding=None))
    ours.initiate_connection()
    client.initiate_connection()
    client.send_headers(
        1, [(":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]
    )
    exchange(ours, client)
    return ours, client


def exchange(ours: FlowControlled, client: h2.connection.H2Connection) -> None:
    for _ in range(3):
        client.receive_data(ours.data_to_send())
        for event in ours.receive_data(client.data_to_send()):
            if isinstance(event, h2.events.DataReceived):
                ours.acknowledge_received_data(event.flow_controlled_length, event.stream_id)


def upload(ours: FlowControlled, client: h2.connection.H2Connection) -> int:
    """Send for as long as the window lets us, to a bound."""
    sent = 0
    while sent < 4 * STREAM_WINDOW and (room := client.local_flow_control_window(1)):
        client.send_data(1, b"x" * min(room, 16384))
        sent += min(room, 16384)
        exchange(ours, client)
    return sent


def test_the_windows_are_ours() -> None:
    _, client = opened()
    assert client.local_flow_control_window(1) == STREAM_WINDOW
    assert client.outbound_flow_control_window == CONNECTION_WINDOW


def test_the_control_what_is_not_stuck_goes_on_for_ever() -> None:
    assert upload(*opened()) == 4 * STREAM_WINDOW


def test_what_is_stuck_stops_its_sender_until_it_is_released() -> None:
    ours, client = opened()
    stuck = True
    ours.stuck = lambda _stream: stuck
    assert upload(ours, client) == STREAM_WINDOW
    assert not ours.release()
    stuck = False
    assert ours.release()
    assert not ours.release()
    exchange(ours, client)
    assert client.local_flow_control_window(1) == STREAM_WINDOW


def test_a_peer_that_goes_away_is_still_heard() -> None:
    ours, client = opened()
    (event,) = ours.receive_data(b"\0\0\x08\x07\0\0\0\0\0" + b"\0\0\0\x05" + b"\0\0\0\0")
    assert isinstance(event, GoingAway)
    assert event.last == 5
    client.send_data(1, b"more", end_stream=True)
    assert any(isinstance(event, h2.events.StreamEnded) for event in ours.receive_data(client.data_to_send()))


def test_data_that_comes_at_once_is_one_piece_for_each_stream_and_owed_whole() -> None:
    """As a piece each, one segment of tiny frames would keep everybody else waiting for seconds."""
    ours, client = opened()
    heads = [(":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]
    client.send_headers(3, heads)
    for number in range(2000):
        client.send_data(1 + 2 * (number % 2), b"%d" % (number % 10), end_stream=number > 1997)
    found = ours.receive_data(client.data_to_send())
    pieces = [event for event in found if isinstance(event, h2.events.DataReceived)]
    assert [piece.stream_id for piece in pieces] == [
        1,
        3,
        3,
    ]  # the last one comes behind the end of the first
    assert pieces[0].data == b"02468" * 200
    assert sum(piece.flow_controlled_length for piece in pieces) == 2000
    assert b"".join(piece.data for piece in pieces if piece.stream_id == 3) == b"13579" * 200
    ended = [event.stream_id for event in found if isinstance(event, h2.events.StreamEnded)]
    assert ended == [1, 3]


HEADS = [(":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]


def answering(kind: type[BufferedH2Connection]) -> tuple[BufferedH2Connection, h2.connection.H2Connection]:
    """Return a side that has begun to answer, and its peer, which has then taken all of its window back."""
    ours = kind(h2.config.H2Configuration(client_side=False, header_encoding=False))
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding=None))
    ours.initiate_connection()
    client.initiate_connection()
    client.send_headers(1, HEADS, end_stream=True)
    client.receive_data(ours.data_to_send())
    ours.receive_data(client.data_to_send())
    ours.send_headers(1, [(b":status", b"200")])
    ours.send_data(1, b"a" * 100)
    client.receive_data(ours.data_to_send())
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    ours.receive_data(client.data_to_send())
    return ours, client


def answered(ours: BufferedH2Connection, client: h2.connection.H2Connection) -> tuple[int, bool]:
    """Return how much of an answer the peer has just got, and whether it has ended."""
    found = client.receive_data(ours.data_to_send())
    sizes = [len(event.data or b"") for event in found if isinstance(event, h2.events.DataReceived)]
    return sum(sizes), any(isinstance(event, h2.events.StreamEnded) for event in found)


def test_a_window_that_was_taken_back_below_zero_holds_back_and_ends_nothing() -> None:
    ours, client = answering(FlowControlled)
    ours.send_data(1, b"b" * 50)
    assert answered(ours, client) == (0, False)
    client.increment_flow_control_window(120, 1)
    ours.receive_data(client.data_to_send())
    assert answered(ours, client) == (20, False)  # 100 of the 120 were owed
    client.increment_flow_control_window(1000, 1)
    ours.receive_data(client.data_to_send())
    assert answered(ours, client) == (30, False)


def test_the_control_such_a_window_is_an_error_as_mitmproxy_has_it() -> None:
    ours, _ = answering(BufferedH2Connection)
    with pytest.raises(h2.exceptions.FlowControlError):
        ours.send_data(1, b"b" * 5000)


def test_the_end_of_a_stream_needs_no_window_but_waits_below_zero() -> None:
    ours, client = answering(FlowControlled)
    ours.end_stream(1)
    assert answered(ours, client) == (0, False)
    client.increment_flow_control_window(100, 1)
    ours.receive_data(client.data_to_send())
    assert answered(ours, client) == (0, True)


@pytest.mark.parametrize(("kind", "ended"), [(FlowControlled, True), (BufferedH2Connection, False)])
def test_an_end_that_waited_behind_data_goes_with_the_last_of_it(
    kind: type[BufferedH2Connection], ended: bool
) -> None:
    """The second is the control: the window that fits all the data to the byte leaves no room for an end."""
    ours, client = answering(FlowControlled)
    ours.__class__ = kind
    ours.stream_buffers[1].append(SendH2Data(b"b" * 50, False))
    ours.end_stream(1)
    assert answered(ours, client) == (0, False)
    client.increment_flow_control_window(150, 1)
    ours.receive_data(client.data_to_send())
    assert answered(ours, client) == (50, ended)

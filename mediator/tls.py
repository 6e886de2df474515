"""TLS toward the agent: the run's certificate for the judged name, and a connection that ends as TLS does.

Always: the name that OpenSSL read is the name that was judged, or the connection dies. A body that was cut
ends without close_notify, so that a client can tell it from one that is complete.
"""

import sys
import warnings
from typing import Any, Final

from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.tls import ClientTLSLayer
from mitmproxy.proxy.tunnel import TunnelState
from mitmproxy.tls import TlsData
from OpenSSL import SSL, crypto

from hark.errors import HarkError
from mediator.ca import RunCA
from mediator.link import Link

AT_ONCE: Final = 1 << 16
HEAD: Final = 5  # bytes, of a record
IN_A_RECORD: Final = 1 << 14  # bytes at most, decrypted
ALPN: Final = (b"h2", b"http/1.1", b"http/1.0")
"""In the order in which servers choose. Clients list what they can, some the older protocol first: httpx,
which then takes for granted that HTTP/2 is spoken, since every server that can speaks it."""


class NameMismatch(HarkError):  # noqa: N818  # reads as what it is: two parsers of one message disagreed
    """OpenSSL read another server name than the one that was judged."""

    exit_code = 123


class Records:
    """Counts the TLS records that are whole, by the lengths in their heads (RFC 8446, 5.1)."""

    __slots__ = ("_head", "_missing")

    def __init__(self) -> None:
        self._head = b""
        """What there is of a head that is cut."""
        self._missing = 0
        """How many bytes of the last record are still to come."""

    def completed(self, data: bytes) -> int:
        """Return how many records end in the next bytes."""
        if self._head:
            data, self._head = self._head + data, b""
        at, size, whole = self._missing, len(data), 0
        if at and at <= size:
            whole = 1
        while at + HEAD <= size:
            at += HEAD + (data[at + 3] << 8 | data[at + 4])
            whole += at <= size
        if at < size:
            self._head = data[at:]
        self._missing = max(at - size, 0)
        return whole


class AgentTls(ClientTLSLayer):
    """mitmproxy's layer, with a close_notify at a regular end."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._records = Records()

    def handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As mitmproxy does; of data once the handshake is over nothing is decided or waited for."""
        if (
            self._paused is not None
            or self.tunnel_state is not TunnelState.OPEN
            or type(event) is not events.DataReceived
        ):
            return super().handle_event(event)
        if event.connection is self.conn:
            return self.receive_data(event.data)
        return self.event_to_child(event)

    def event_to_child(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Pass an event on, and encrypt what comes of it for the agent."""
        if self.tunnel_state is not TunnelState.OPEN:
            yield from super().event_to_child(event)
            return
        for command in self.child_layer.handle_event(event):
            if type(command) is commands.SendData:
                if command.connection is self.conn:
                    yield from self.send_data(command.data)
                else:
                    yield command
            else:
                yield from self._handle_command(command)

    def receive_handshake_data(self, data: bytes) -> layer.CommandGenerator[tuple[bool, str | None]]:
        """As mitmproxy does."""
        self._records.completed(data)
        return super().receive_handshake_data(data)

    def receive_data(self, data: bytes) -> layer.CommandGenerator[None]:
        """Decrypt and pass on. A read gives what is in one record: that nothing is left is known without one
        more, which would say so by an exception. OpenSSL has something to say only where one said it.
        """
        if data:
            self.tls.bio_write(data)
        most = self._records.completed(data) if data else sys.maxsize
        pieces: list[bytes] = []
        ended, spoke = False, not data
        try:
            while len(pieces) < most:
                pieces.append(self.tls.recv(IN_A_RECORD))
        except SSL.ZeroReturnError:
            ended = spoke = True
        except SSL.Error:  # nothing more is there; or it is an alert, or no TLS, and OpenSSL answers it
            spoke = True
        if spoke:
            yield from self.tls_interact()
        if pieces:
            plain = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            yield from self.event_to_child(events.DataReceived(self.conn, plain))
        if ended:
            self.conn.state &= ~ConnectionState.CAN_READ
            yield from self.event_to_child(events.ConnectionClosed(self.conn))

    def tls_interact(self) -> layer.CommandGenerator[None]:
        """Send what OpenSSL has to send. That nothing is left, a read that is not filled says already."""
        while True:
            try:
                data = self.tls.bio_read(AT_ONCE)
            except SSL.WantReadError:
                return
            yield commands.SendData(self.conn, data)
            if len(data) < AT_ONCE:
                return

    def send_data(self, data: bytes) -> layer.CommandGenerator[None]:
        """Encrypt and send. To an agent that broke TLS nothing can be said any more: its connection ends."""
        try:
            self.tls.sendall(data)
        except (SSL.ZeroReturnError, SSL.SysCallError):
            pass  # it ended its half, and may still say something
        except SSL.Error:
            self.conn.error = "the agent's program broke TLS"
            yield commands.CloseConnection(self.conn)
            return
        yield from self.tls_interact()

    def send_close(self, command: commands.CloseConnection) -> layer.CommandGenerator[None]:
        """Close; say so in TLS unless something was cut."""
        if self.tls is not None and not self.conn.error:
            try:
                self.tls.shutdown()
            except SSL.Error:
                pass  # the handshake never ended, or the peer is gone: nothing to say goodbye to
            else:
                yield from self.tls_interact()
        yield from super().send_close(command)


class Below(layer.Layer):
    """The bottom of the stack. ClientTLSLayer looks at what stands below it, so something must stand."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        raise RuntimeError(f"{type(event).__name__} has no place below TLS")


class AgentContexts:
    """OpenSSL contexts for the agent's side, one a host."""

    def __init__(self, ca: RunCA) -> None:
        self._ca = ca
        self._contexts: dict[str, SSL.Context] = {}

    def start(self, data: TlsData, link: Link) -> None:
        """Give mitmproxy the connection object it asks for."""
        connection = SSL.Connection(self._context(link.target.host))
        connection.set_accept_state()
        data.ssl_conn = connection

    def _context(self, host: str) -> SSL.Context:
        known = self._contexts.get(host)
        if known is None:
            known = SSL.Context(SSL.TLS_SERVER_METHOD)
            known.set_min_proto_version(SSL.TLS1_2_VERSION)
            known.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
            _certify(known, self._ca.leaf(host))
            known.use_privatekey(self._ca.leaf_key)
            known.set_alpn_select_callback(_select)
            self._contexts[host] = known
        return known


def _certify(context: SSL.Context, leaf: bytes) -> None:
    """Give a context its certificate as it is: what OpenSSL would rather be given takes long to load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.use_certificate(crypto.load_certificate(crypto.FILETYPE_ASN1, leaf))


def check_name(data: TlsData, link: Link) -> None:
    """Compare what OpenSSL read with what was judged. Raises NameMismatch."""
    read = data.ssl_conn.get_servername() if data.ssl_conn is not None else None
    if read != link.sni:
        raise NameMismatch(f"TLS to {link.target} carries two readings of its server name")


def _select(_connection: SSL.Connection, offered: list[bytes]) -> bytes | Any:
    for protocol in ALPN:
        if protocol in offered:
            return protocol
    return SSL.NO_OVERLAPPING_PROTOCOLS

"""TLS toward the agent: its own certificate a name, ALPN, a goodbye at a regular end."""

import contextlib
import os
import select
import socket
import ssl
import threading

from hypothesis import given
from hypothesis import strategies as st

from hark.bundle.events import LlmResponseEnd
from mediator.tls import Records
from tests.fakes.upstream import Call, early, serving
from tests.mediator.rig import API, OTHER, pair, running


def test_each_name_is_shown_its_own_certificate_signed_by_the_run() -> None:
    with running(API, OTHER) as rig:
        for name in (API, OTHER):
            with rig.tls(name) as sock:
                certificate = sock.getpeercert()
                assert certificate is not None
                assert certificate["subjectAltName"] == (("DNS", name),)


def test_the_newest_protocol_that_the_agent_offers_is_spoken_in_whatever_order_it_lists_them() -> None:
    with running(API) as rig:
        for offered, chosen in (
            (("h2", "http/1.1"), "h2"),
            (("http/1.1", "h2"), "h2"),
            (("spdy/3", "http/1.1"), "http/1.1"),
            (("http/1.1",), "http/1.1"),
            ((), None),
        ):
            with rig.tls(API, 443, None, *offered) as sock:
                assert sock.selected_alpn_protocol() == chosen


def test_old_protocol_versions_are_not_spoken() -> None:
    with running(API) as rig, rig.tls(API) as sock:
        assert sock.version() in ("TLSv1.2", "TLSv1.3")


def test_a_body_that_ends_with_the_connection_ends_with_a_goodbye() -> None:
    """Without close_notify a strict client takes it for cut: its error is the control below."""
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):

        @upstream.on("/whole")
        def whole(call: Call) -> None:
            call.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
            call.cut()

        with rig.tls(API) as sock:
            sock.suppress_ragged_eofs = False
            sock.sendall(f"GET /whole HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            got = b""
            while piece := _recv(sock):
                got += piece
            assert got.endswith(b"all of it")


def test_the_control_a_cut_body_ends_without_a_goodbye() -> None:
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):

        @upstream.on("/cut")
        def cut(call: Call) -> None:
            call.begin_chunked("text/plain")
            call.chunk(b"half")
            call.cut()

        with rig.tls(API) as sock:
            sock.suppress_ragged_eofs = False
            sock.sendall(f"GET /cut HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            ended = ""
            while not ended:
                try:
                    ended = "" if _recv(sock) else "goodbye"
                except (ssl.SSLEOFError, ConnectionResetError):
                    ended = "cut"
            assert ended == "cut"


def _recv(sock: socket.socket) -> bytes:
    try:
        return sock.recv(4096)
    except ssl.SSLZeroReturnError:
        return b""


def test_an_agent_that_breaks_tls_while_it_is_answered_ends_its_connection_and_no_run() -> None:
    asked, broken = threading.Event(), threading.Event()
    with pair() as (rig, upstream):

        @upstream.on("/slow")
        def slow(call: Call) -> None:
            asked.set()
            broken.wait(60)
            call.reply(200, b"late")

        with rig.tls(API) as sock:
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            got = b""
            while not got.endswith(b"GET / 0"):  # and what belongs to the handshake is read too
                got += sock.recv(4096)
            sock.sendall(f"GET /slow HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            assert asked.wait(60)
            os.write(sock.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))  # a record that nobody encrypted
            assert select.select([sock], [], [], 10)[0]  # its alert: the record was read
            broken.set()
            rig.recorder.wait_for(LlmResponseEnd, 2)
            with contextlib.suppress(OSError):
                assert sock.recv(100) == b""
        with rig.https() as client:
            client.request("GET", "/")
            assert client.getresponse().status == 200
        assert rig.fatal == []


@given(st.lists(st.integers(0, 40), max_size=5), st.data())
def test_records_are_counted_where_they_end_however_they_are_divided(
    sizes: list[int], data: st.DataObject
) -> None:
    wire = b"".join(b"\x17\x03\x03" + size.to_bytes(2) + bytes([23]) * size for size in sizes)
    ends = [sum(5 + size for size in sizes[: number + 1]) for number in range(len(sizes))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    records, before = Records(), 0
    for cut in (*cuts, len(wire)):
        ended = records.completed(wire[before:cut])
        assert ended == sum(before < end <= cut for end in ends)
        before = cut


def test_a_request_is_read_however_its_records_are_divided() -> None:
    """Through TLS by hand: several records in one piece, one in several."""
    with pair() as (rig, upstream):

        @upstream.on("/up")
        @early
        def up(call: Call) -> None:
            call.reply(200, b"%d" % sum(map(len, call.pieces())))

        for step in (1, 7, 5000, 1 << 20):
            with rig.dial(rig.address(API)) as raw:
                assert _uploaded(raw, rig.context(), step).endswith(b"9000")


def _uploaded(raw: socket.socket, trusting: ssl.SSLContext, step: int) -> bytes:
    """Send ten records, `step` bytes at a time, and return what is answered."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting.wrap_bio(coming, going, server_hostname=API)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            raw.sendall(going.read())
            coming.write(raw.recv(1 << 16))
    tls.write(f"POST /up HTTP/1.1\r\nHost: {API}\r\nContent-Length: 9000\r\n\r\n".encode())
    for _ in range(9):
        tls.write(bytes(1000))
    wire = going.read()
    for at in range(0, len(wire), step):
        raw.sendall(wire[at : at + step])
    got = b""
    while not got.endswith(b"\r\n\r\n9000"):
        coming.write(raw.recv(1 << 16))
        with contextlib.suppress(ssl.SSLWantReadError):
            got += tls.read(1 << 16)
    return got

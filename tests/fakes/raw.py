"""A raw TCP server on loopback: each connection is served by a function, in a thread of its own."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

type Serve = Callable[[socket.socket], None]


@dataclass
class RawServer:
    """A running server. `dials` counts accepted connections."""

    port: int
    dials: int = 0
    errors: list[BaseException] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Return what `-upstream HOST=` takes."""
        return f"127.0.0.1:{self.port}"


@contextmanager
def raw_server(serve: Serve) -> Iterator[RawServer]:
    """Serve until the block ends. What `serve` raises but for a lost connection is kept in `errors`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.listen(1024)
        server = RawServer(listener.getsockname()[1])
        open_now: set[socket.socket] = set()
        thread = threading.Thread(target=_accept, args=(listener, server, serve, open_now), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for connection in list(open_now):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            thread.join(60)


def _accept(listener: socket.socket, server: RawServer, serve: Serve, open_now: set[socket.socket]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        server.dials += 1
        connection.settimeout(60)
        open_now.add(connection)
        args = (connection, server, serve, open_now)
        threading.Thread(target=_one, args=args, daemon=True).start()


def _one(connection: socket.socket, server: RawServer, serve: Serve, open_now: set[socket.socket]) -> None:
    try:
        with connection:
            serve(connection)
    except OSError:
        pass  # the other side went away
    except BaseException as error:
        server.errors.append(error)
    finally:
        open_now.discard(connection)


def echo(connection: socket.socket) -> None:
    """Send back what comes, then end."""
    while piece := connection.recv(1 << 16):
        connection.sendall(piece)


def read_all(connection: socket.socket) -> bytes:
    """Read to the other side's end."""
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def rudely(connection: socket.socket) -> None:
    """End a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

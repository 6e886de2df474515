"""What the agent's client starts as its tool server: joins stdin and stdout to hark's door. Run by the agent.

    python -I -S stub.py ADDRESS PORT

Nothing rests on this program: it is the agent's, and whatever it sends is judged at the door. It is run by
hark's own interpreter, which the agent is shown for it, and imports nothing but the standard library.
"""

import os
import socket
import sys
import threading
from typing import Final

_STEP: Final = 1 << 16


def main(address: str, port: int) -> int:
    """Copy both ways until the server's side ends."""
    try:
        door = socket.create_connection((address, port))
    except OSError as error:
        print(f"hark: the tool server cannot be reached: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=_send, args=(door,), daemon=True).start()
    try:
        while piece := door.recv(_STEP):
            _write(piece)
    except OSError:
        return 1
    return 0


def _send(door: socket.socket) -> None:
    try:
        while piece := os.read(0, _STEP):
            door.sendall(piece)
        door.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _write(piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    code = main(sys.argv[1], int(sys.argv[2]))
    os._exit(code)  # the other direction may wait for a stdin that never ends

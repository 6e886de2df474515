"""The attendant of one test: `python -m hark.inprocess DESCRIPTOR`. Started by `hark.inprocess.session`."""

import os
import signal
import socket
import sys


def main() -> None:
    """Attend the test at the other end of the channel."""
    from hark import starting

    starting.begin()
    from hark.inprocess.attendant import attend

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        os.set_inheritable(channel.fileno(), False)  # noqa: FBT003  (its one argument)
        attend(channel, os.environ)


if __name__ == "__main__":
    main()

"""Runs a command with loopback and no other network, as the caller: `offline.py COMMAND...`.

Proves by being offline that unit tests need no network. A new network namespace is asked for directly, as
root may, and otherwise inside a new user namespace that maps the caller to itself. Where the host allows
neither it says so on stderr and runs the command with the network there is: the tests' result is the same,
only the proof is missing.
"""

import fcntl
import os
import socket
import struct
import sys
from typing import Final

SIOCGIFFLAGS: Final = 0x8913
SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 1


def bring_loopback_up() -> None:
    """A new network namespace has `lo`, down; tests of servers on 127.0.0.1 need it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def leave_the_network() -> None:
    """Unshare the network; raises OSError where the host forbids it."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        os.unshare(os.CLONE_NEWNET)
    except PermissionError:
        os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
        itself = {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
        for name, text in itself.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    bring_loopback_up()


def host_allows_it() -> bool:
    """Try in a child: a host that refuses only the last step would leave us without loopback."""
    child = os.fork()
    if child == 0:
        try:
            leave_the_network()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main(command: list[str]) -> None:
    """Replace this process by `command`, offline where that is possible."""
    if host_allows_it():
        leave_the_network()
    else:
        print("not offline: this host lets us make no network namespace", file=sys.stderr)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])

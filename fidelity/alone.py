"""Runs one command as a user, in a network namespace where nothing else is, and counts what it sends there.

    python -m fidelity.alone REPORT UID GID PORTS FOLDER COMMAND...

COMMAND is run in FOLDER, on a host of another name (HOST_NAME). The namespace has a loopback that is up, and
a listener at each of PORTS, where the recorded run's servers were. REPORT is then JSON: `code`, and where
there was such a namespace `sent`, packets that left or were to leave it (those without a route are counted
too), with `dialled`, connections to the listeners. Where the host allows no namespace, `sent` is null, and
the listeners stand on the host itself.
Namespaces that the command makes for itself are not counted: nothing leads out of them but this one.
"""

import ctypes
import fcntl
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

SIOCSIFFLAGS: Final = 0x8914
IFF_UP: Final = 0x1
COUNTED_V4: Final = ("OutRequests", "OutNoRoutes")
COUNTED_V6: Final = ("Ip6OutRequests", "Ip6OutNoRoutes")
PDEATHSIG: Final = 1
SIGKILL: Final = 9
HOST_NAME: Final = "hark-replays-elsewhere"


def enter() -> bool:
    """Enter a network of one's own, loopback up, on a host of another name; false where there can be none."""
    uid, gid = os.getuid(), os.getgid()
    try:
        own = os.CLONE_NEWNET | os.CLONE_NEWUTS
        os.unshare(own if uid == 0 else os.CLONE_NEWUSER | own)
    except OSError:
        return False
    if uid != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    socket.sethostname(HOST_NAME)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return True


def packets() -> int:
    """How many packets were sent in this network namespace, or would have been had there been a route."""
    rows = [line.split() for line in Path("/proc/self/net/snmp").read_text().splitlines()]
    pairs = [(names, values) for names, values in itertools.pairwise(rows) if names[0] == values[0] == "Ip:"]
    v4 = dict(zip(*pairs[0], strict=True))
    sent = sum(int(v4[name]) for name in COUNTED_V4)
    v6 = Path("/proc/self/net/snmp6")
    others = dict(line.split() for line in v6.read_text().splitlines()) if v6.exists() else {}
    return sent + sum(int(others.get(name, 0)) for name in COUNTED_V6)


@contextmanager
def listening(ports: Sequence[int]) -> Iterator[list[int]]:
    """Listen at the ports; the list grows by the port of each connection that comes."""
    dialled: list[int] = []
    listeners = [socket.create_server(("127.0.0.1", port)) for port in ports]
    wake, woken = socket.socketpair()

    def accept() -> None:
        while True:
            ready, _, _ = select.select([woken, *listeners], [], [])
            if woken in ready:
                return
            for one in ready:
                one.accept()[0].close()
                dialled.append(one.getsockname()[1])

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield dialled
    finally:
        wake.close()
        thread.join()
        for one in (woken, *listeners):
            one.close()


def run(uid: int, gid: int, ports: Sequence[int], folder: str, command: Sequence[str]) -> dict[str, Any]:
    """Run the command to its end and count."""
    libc = ctypes.CDLL(None)

    def with_us() -> None:
        libc.prctl(PDEATHSIG, SIGKILL)

    who: dict[str, Any] = {"user": uid, "group": gid, "extra_groups": []} if os.geteuid() != uid else {}
    inside = enter()
    with listening(ports) as dialled:
        before = packets()
        ended = subprocess.run(command, cwd=folder, check=False, preexec_fn=with_us, **who)
        sent = packets() - before
    return {"code": ended.returncode, "sent": sent if inside else None, "dialled": len(dialled)}


def main(words: list[str]) -> int:
    """Run, write the report, end with 0."""
    report, uid, gid, ports, folder, *command = words
    found = run(int(uid), int(gid), [int(port) for port in ports.split(",") if port], folder, command)
    Path(report).write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

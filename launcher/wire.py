"""Messages between the supervisor and the processes that build and hold the boundary.

One datagram on a SOCK_SEQPACKET pair is one message: a word, then fields, separated by NUL (so any path
fits). The agent never holds either end: both are closed before it is executed.

    up      sockets (+5 descriptors) | doorway (+1, with published ports) | grants | withheld
            init (+2: its pidfd, who answers `whose`) | shared (+3: page, log, process 1's own)
            ready (+1 with a terminal) | started (+1: the watch over the covers)
            failed | stopped | refused | unreached | unheard | replaced | ended
    down    start (+1: the files) | signal | continue
    ahead   networks (+7: namespaces of user and network, the five sockets), from `launcher.ahead`
    whose   of a connection: whose; answered with: process
"""

import os
import socket
from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

_MAX_MESSAGE: Final = 1 << 20
_MAX_DESCRIPTORS: Final = 7
_SIZE: Final = 8

CONFINEMENT: Final = "confinement"
NOT_FOUND: Final = "not-found"
NOT_EXECUTABLE: Final = "not-executable"
NEVER_EXECUTED: Final = 126  # exit status of a process that could not become the agent; nobody shows it


class Message(NamedTuple):
    """What was received; an empty word means that the other end is gone."""

    word: str
    fields: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


def send(channel: socket.socket, word: str, *fields: str, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message."""
    data = "\0".join((word, *fields)).encode(errors="surrogateescape")
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))] if descriptors else []
    channel.sendmsg([data], rights, socket.MSG_NOSIGNAL)


def receive(channel: socket.socket) -> Message:
    """Wait for one message. The descriptors in it are not inherited by programs that we start."""
    # Not socket.recv_fds, which drops the flags: a program that the caller starts would inherit them.
    room = socket.CMSG_LEN(_MAX_DESCRIPTORS * array("i").itemsize)
    try:
        data, rights, _flags, _sender = channel.recvmsg(_MAX_MESSAGE, room, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:  # it died before it had read what we sent
        return Message("")
    descriptors = array("i")
    for _level, _kind, content in rights:
        descriptors.frombytes(content)
    word, *fields = data.decode(errors="surrogateescape").split("\0")
    return Message(word, tuple(fields), tuple(descriptors))


def pack_files(files: Mapping[str, bytes]) -> int:
    """An anonymous file that holds `files`: they may be larger than a datagram."""
    descriptor = os.memfd_create("hark-files", os.MFD_CLOEXEC)
    with open(os.dup(descriptor), "wb") as file:
        for path, content in files.items():
            file.writelines(len(part).to_bytes(_SIZE) + part for part in (os.fsencode(path), content))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def unpack_files(descriptor: int) -> dict[str, bytes]:
    """What `pack_files` put in; the descriptor is closed."""
    with open(descriptor, "rb") as file:
        data = file.read()
    parts: list[bytes] = []
    offset = 0
    while offset < len(data):
        start = offset + _SIZE
        offset = start + int.from_bytes(data[offset:start])
        parts.append(data[start:offset])
    return {os.fsdecode(path): content for path, content in zip(parts[::2], parts[1::2], strict=True)}

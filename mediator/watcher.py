"""Records what nftables rejects: an attempt and its denial for each target, the first time it is tried.

Repeats are not recorded again (a client retries, and an event tells nothing new). A flood does not end the
run: packets beyond `MAX_TARGETS`, and those that the socket lost, are counted and told in one event each at
the end. Not done here: judging; whatever is named here has been rejected by the kernel already.
"""

import socket
import struct
from typing import Final

from hark.bundle.events import ShimReport
from hark.errors import RecordError
from hark.policy.decide import Deny
from mediator.authority import Destination
from mediator.ledger import Ledger
from mediator.packets import MAX_FRAME, Rejected, rejected

SOURCE: Final = "the agent"
MAX_TARGETS: Final = 4096  # an address scan goes on for ever; its extent is told in one event at the end
_BATCH: Final = 256  # frames looked at before others get their turn
_SOL_PACKET: Final = 263
_PACKET_STATISTICS: Final = 6
_PACKET_OUTGOING: Final = 4
_COUNTS: Final = struct.Struct("II")


class Watcher:
    """Reads the packet socket."""

    def __init__(self, packets: socket.socket, ledger: Ledger) -> None:
        self._packets = packets
        self._ledger = ledger
        self._seen: set[Rejected] = set()
        self._beyond = 0

    def read(self) -> None:
        """Take the frames that wait, a batch at most. Errors of the record have marked the run already."""
        known = len(self._seen)
        self._take_batch()
        if len(self._seen) > known:
            self._ledger.settle()  # nobody waits for it: the kernel has answered

    def _take_batch(self) -> None:
        for _ in range(_BATCH):
            try:
                frame, address = self._packets.recvfrom(MAX_FRAME, socket.MSG_DONTWAIT)
            except OSError:
                return
            if address[2] == _PACKET_OUTGOING:
                continue
            try:
                self.take(frame)
            except RecordError:
                return

    def take(self, frame: bytes) -> None:
        """Record what one frame tried. Raises RecordError."""
        tried = rejected(frame)
        if tried is None or tried in self._seen:
            return
        if len(self._seen) >= MAX_TARGETS:
            self._beyond += 1
            return
        self._seen.add(tried)
        target = Destination(tried.address, tried.port)
        why = f"{tried.protocol} is not passed: hark carries TCP and DNS"
        self._ledger.attempt(target, tried.protocol, "", Deny(why, ""))

    def close(self) -> None:
        """Record what was not looked at one by one. Raises RecordError."""
        dropped = self._dropped()
        for count, why in (
            (self._beyond, f"rejected, and more than {MAX_TARGETS} different targets were tried"),
            (dropped, "they came faster than they could be read; what had to be rejected was rejected"),
        ):
            if count:
                what = f"{count} packet{'s' if count > 1 else ''}"
                self._ledger.append(ShimReport(source=SOURCE, what=what, why=why))
                self._ledger.warn(f"{what} of {SOURCE} are not in the record one by one: {why}")

    def _dropped(self) -> int:
        try:
            raw = self._packets.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _COUNTS.size)
        except OSError:
            return 0  # not a packet socket (a test's)
        return int(_COUNTS.unpack(raw)[1])

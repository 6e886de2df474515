"""What a writer writes, as bytes: each event's frame, the seal, the footer. No IO, no clock, no lock.

What always holds: an event that is refused (too long, not encodable, stopped by the guard) changes nothing
here, so the next one takes its sequence number. Times never go backwards. Every payload carries a salt that
only the holder of the run's secret can compute. RunStart gets the hash of the header; the seal covers every
frame before it, and its own time. After `seal` there is nothing left to assemble.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle import checkpoint, frame, sha256tree
from hark.bundle.bounds import SEAL, RunStart, Seal
from hark.bundle.events import Event, Unknown, encode, kind_of
from hark.bundle.hashing import ZERO_HASH, chain_hash, leaf_hash
from hark.bundle.header import Footer, Header, encode_footer, encode_header
from hark.bundle.mmr import Mmr
from hark.bundle.tree_head import Signer, TreeHead, signed_bytes
from hark.errors import RecordError

SALT_SIZE: Final = 16
_SALT_CONTEXT: Final = "hark 2025 bundle v1 payload salt"
_SEQ: Final = Struct(">Q")

type Guard = Callable[[bytes], None]
"""Looks at a payload before it is recorded. MUST raise if it may not be: then nothing of it is written."""


class NoRoomError(Exception):
    """The frame is larger than the room that there is for it."""


class Sealed(NamedTuple):
    """What a sealed bundle commits to."""

    leaf_count: int
    root: bytes
    final_chain: bytes
    tree_head: TreeHead | None


class Assembler:
    """The state of one bundle that is being written, from its header to its footer."""

    def __init__(self, header: Header, secret: bytes, guard: Guard | None = None) -> None:
        header_bytes = encode_header(header)
        frame.check_length(len(header_bytes), "header")
        self.preamble: Final = frame.MAGIC + frame.block(header_bytes)
        """The bytes that the file begins with."""
        self.header: Final = header
        self._header_hash = blake3(header_bytes).digest()
        self._salt_key = blake3(secret, derive_key_context=_SALT_CONTEXT).digest()
        self._guard = guard
        self._mmr = Mmr()
        self._tree = sha256tree.Tree()
        self._chain = ZERO_HASH
        self._frames = blake3()
        self._counts: dict[int, int] = {}
        self._time = 0

    @property
    def count(self) -> int:
        """How many events were assembled, which is the sequence number of the next."""
        return self._mmr.count

    def add(self, event: Event | Unknown, time: int, room: int | None = None) -> bytes:
        """The frame of `event`; a RecordError (or what the guard raises) if it cannot be recorded.

        A frame of more than `room` bytes is refused with NoRoomError.
        """
        if isinstance(event, RunStart):
            event = event._replace(header_hash=self._header_hash)
        kind = kind_of(event)
        if kind == SEAL:
            raise RecordError("only sealing a bundle writes a Seal")
        return self._add(event, kind, time, room)

    def seal(self, outcome: str, time: int, signed_at: int, signer: Signer | None) -> tuple[bytes, Sealed]:
        """Seal frame and footer in one piece, and what they commit to."""
        time = max(time, self._time)
        named = signer is not None and bool(checkpoint.origin(self.header.run_id))
        seal = Seal(self._frames.digest(), self._counts, outcome, time, checkpoint=named)
        last = self._add(seal, SEAL, time)
        root = self._mmr.root()
        head = self._sign(root, signed_at, signer) if signer else None
        footer = encode_footer(
            Footer(self.count, root, self._chain, head, checkpoint=self._checkpoint(signer))
        )
        end = frame.LENGTH.pack(frame.FOOTER_SENTINEL) + frame.block(footer)
        return last + end, Sealed(self.count, root, self._chain, head)

    def _sign(self, root: bytes, signed_at: int, signer: Signer) -> TreeHead:
        message = signed_bytes(self.header.run_id, self.count, root, signed_at)
        signature = signer.sign(message)
        return TreeHead(self.header.run_id, self.count, root, signed_at, signer.public_key, signature)

    def _checkpoint(self, signer: Signer | None) -> str:
        """The root as transparency logs have theirs; nothing where nobody signs."""
        if signer is None:
            return ""
        return checkpoint.sign(self.header.run_id, sha256tree.size_of(self.count), self._tree.root(), signer)

    def _add(self, event: Event | Unknown, kind: int, time: int, room: int | None = None) -> bytes:
        seq = self._mmr.count
        payload = encode(event, self._salt(seq))
        if len(payload) > frame.MAX_PAYLOAD:
            raise RecordError(
                f"an event of {len(payload)} bytes is larger than format 1 allows: {frame.MAX_PAYLOAD}"
            )
        if room is not None and frame.FRAME_OVERHEAD + len(payload) > room:
            raise NoRoomError
        if self._guard is not None:
            self._guard(payload)
        self._time = max(time, self._time)
        leaf = leaf_hash(seq, kind, payload)
        data = frame.pack(frame.Frame(kind, seq, self._time, self._chain, payload, leaf))
        self._chain = chain_hash(self._chain, leaf)
        self._mmr.append(leaf)
        self._tree.add(leaf)
        self._frames.update(data[frame.SEALED_PART])
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return data

    def _salt(self, seq: int) -> bytes:
        return blake3(_SEQ.pack(seq), key=self._salt_key).digest(SALT_SIZE)

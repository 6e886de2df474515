"""Signed notes and the checkpoints in them (C2SP signed-note, tlog-checkpoint, tlog-cosignature), and
verifier keys.

What always holds: the text that was signed is the text that is read, byte for byte; a note has one blank line
in front of its signatures, and every line behind it is a signature. A line of a key that was not asked for
says nothing and is passed over.
"""

from hashlib import sha256
from struct import Struct
from typing import Final, NamedTuple

from hark.anchor.inclusion import HASH_SIZE
from hark.anchor.jsonform import MalformedError, unbase64
from hark.anchor.keys import PublicKey, from_ed25519
from hark.anchor.outcome import MANY

MAX_NOTE: Final = 64 << 10  # a checkpoint has three lines, and a line for each witness
ID_SIZE: Final = 4
ED25519: Final = b"\1"
COSIGNATURE: Final = b"\4"
_DASH: Final = "\N{EM DASH} "
_TIME: Final = Struct(">Q")


class Signature(NamedTuple):
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes


class Note(NamedTuple):
    """A note: what was signed, and by whom it says."""

    text: str
    """Its last line break included."""
    signatures: tuple[Signature, ...]


class Checkpoint(NamedTuple):
    """What a log says of itself in a note."""

    origin: str
    size: int
    root: bytes


class Verifier(NamedTuple):
    """A key that notes are signed with, by name."""

    name: str
    key_id: bytes
    key: PublicKey
    cosigns: bool = False


def parse(envelope: str) -> Note:
    """Read a signed note."""
    if len(envelope) > MAX_NOTE:
        raise MalformedError(f"the checkpoint is larger than {MAX_NOTE} characters")
    text, blank, lines = envelope.rpartition("\n\n")
    if not blank or not lines.endswith("\n") or any(ord(char) < 0x20 and char != "\n" for char in envelope):
        raise MalformedError("the checkpoint is no signed note")
    found = lines[:-1].split("\n")
    if len(found) > MANY:
        raise MalformedError(f"the checkpoint has more than {MANY} signatures")
    return Note(text + "\n", tuple(_signature(line) for line in found))


def _signature(line: str) -> Signature:
    name, _, body = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not name or "+" in name:
        raise MalformedError("the checkpoint has a line that is no signature")
    data = unbase64(body, "a signature of the checkpoint")
    if len(data) <= ID_SIZE:
        raise MalformedError("the checkpoint has a signature without bytes")
    return Signature(name, data[:ID_SIZE], data[ID_SIZE:])


def checkpoint(note: Note) -> Checkpoint:
    """Read the note's text as a checkpoint; lines behind the third are the log's own affair."""
    lines = note.text.split("\n")
    if len(lines) < 4 or not lines[0]:
        raise MalformedError("the checkpoint has no origin, size and root")
    size = lines[1]
    if not (size.isascii() and size.isdigit()) or len(size) > 19 or str(int(size)) != size:
        raise MalformedError("the checkpoint's size is no number")
    root = unbase64(lines[2], "the checkpoint's root")
    if len(root) != HASH_SIZE:
        raise MalformedError("the checkpoint's root is no hash")
    return Checkpoint(lines[0], int(size), root)


def signed_by(note: Note, verifier: Verifier) -> bool:
    """Tell whether the verifier's key signed the note."""
    return any(
        verifier.key.has_signed(note.text.encode(), line.signature)
        for line in note.signatures
        if (line.name, line.key_id) == (verifier.name, verifier.key_id)
    )


def cosigned_at(note: Note, witness: Verifier) -> int | None:
    """Return the Unix time at which the witness cosigned the note; None if it did not."""
    for line in note.signatures:
        if (line.name, line.key_id) != (witness.name, witness.key_id) or len(line.signature) <= _TIME.size:
            continue
        (time,) = _TIME.unpack_from(line.signature)
        message = f"cosignature/v1\ntime {time}\n{note.text}"
        if witness.key.has_signed(message.encode(), line.signature[_TIME.size :]):
            return int(time)
    return None


def key_id(name: str, kind: bytes, raw: bytes) -> bytes:
    """Return the 32 bytes whose first four stand in front of a signature by this key."""
    return sha256(name.encode() + b"\n" + kind + raw).digest()


def verifier_key(text: str) -> Verifier:
    """Read `NAME+HASH+BASE64`, as logs and witnesses publish their Ed25519 keys."""
    name, _, rest = text.strip().partition("+")
    digits, _, encoded = rest.partition("+")
    data = unbase64(encoded, "the verifier key")
    kind, raw = data[:1], data[1:]
    if not name or any(char.isspace() for char in name) or kind not in {ED25519, COSIGNATURE}:
        raise MalformedError("a verifier key is NAME+HASH+KEY, of Ed25519 or of a witness")
    identifier = key_id(name, kind, raw)[:ID_SIZE]
    if digits != identifier.hex():
        raise MalformedError("the verifier key's hash is not that of its name and key")
    return Verifier(name, identifier, from_ed25519(raw), kind == COSIGNATURE)

"""Signed notes, and the checkpoints and cosignatures in them, as C2SP specifies them.

What always holds: what is signed is the text up to and with the line break before the blank line, to the
byte; a note is read only if it has the specified form to the last character; a signature line of a name or
key id that was not asked for says nothing. Whose key it is, is not known here.

Signatures are Ed25519 over the text (type 1), or a witness's over a time and the text (type 4); a key of
another kind brings its own check (`is_signed`). ML-DSA is not read here: its lines are passed over like any
stranger's.
"""

import binascii
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final, NamedTuple

from hark.bundle.hashing import HASH_SIZE, sha256
from hark.bundle.tree_head import KEY_SIZE, Signer, is_signature
from hark.errors import BundleError, UsageError

MAX_NOTE: Final = 64 << 10  # a checkpoint has three lines, and one for each signature of some 100 characters
MAX_SIGNATURES: Final = 32  # of which a verifier must take at least 16
ED25519: Final = 1
COSIGNATURE: Final = 4
ID_SIZE: Final = 4
_DASH: Final = "\N{EM DASH} "
_TIME: Final = Struct(">Q")


class Signature(NamedTuple):
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes

    def line(self) -> str:
        """The line as it stands in a note."""
        return f"{_DASH}{self.name} {b64(self.key_id + self.signature)}\n"


class Note(NamedTuple):
    """What was signed, and by whom it says."""

    text: str
    signatures: tuple[Signature, ...]


class Checkpoint(NamedTuple):
    """What a log says of itself."""

    origin: str
    size: int
    root: bytes


class Verifier(NamedTuple):
    """A name and a key that notes are signed with."""

    name: str
    kind: int
    key: bytes

    @property
    def key_id(self) -> bytes:
        """What stands before a signature by it."""
        head = f"{self.name}\n".encode() + bytes((self.kind,))
        return bytes(sha256(head + self.key).digest()[:ID_SIZE])

    def text(self) -> str:
        """The key as one word, as logs and witnesses publish theirs."""
        return f"{self.name}+{self.key_id.hex()}+{b64(bytes((self.kind,)) + self.key)}"


def parse(text: str) -> Note:
    """Read a signed note."""
    if len(text) > MAX_NOTE:
        raise BundleError(f"a note has at most {MAX_NOTE} characters")
    body, blank, lines = text.rpartition("\n\n")
    if not blank or not lines.endswith("\n"):
        raise BundleError("a note ends with a blank line and signature lines")
    if any(char < " " and char != "\n" for char in text):
        raise BundleError("a note has no control characters")
    found = lines[:-1].split("\n")
    if len(found) > MAX_SIGNATURES:
        raise BundleError(f"a note has at most {MAX_SIGNATURES} signatures")
    return Note(body + "\n", tuple(map(read_line, found)))


def read_line(line: str) -> Signature:
    """Read one signature line, without its line break."""
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    data = unbase64(encoded)
    if not line.startswith(_DASH) or not is_name(name) or len(data) <= ID_SIZE:
        raise BundleError("a signature line of a note is a dash, a name, and base64 of key id and signature")
    return Signature(name, data[:ID_SIZE], data[ID_SIZE:])


def is_name(name: str) -> bool:
    """Whether keys may be called so."""
    return bool(name) and "+" not in name and not any(char.isspace() or char < " " for char in name)


def checkpoint(text: str) -> Checkpoint:
    """Read a note's text as a checkpoint. Lines behind the third are the log's own affair, and not empty."""
    *lines, end = text.split("\n")
    if len(lines) < 3 or not all(lines) or end:
        raise BundleError("a checkpoint has three lines: origin, size and root")
    size = decimal(lines[1])
    root = unbase64(lines[2])
    if len(root) != HASH_SIZE:
        raise BundleError("a checkpoint's root is the base64 of 32 bytes")
    return Checkpoint(lines[0], size, root)


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """The text of a checkpoint, which is what is signed."""
    return f"{origin}\n{size}\n{b64(root)}\n"


def decimal(text: str) -> int:
    """A number as checkpoints and proofs write it: no sign, no leading zero."""
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or str(int(text)) != text:
        raise BundleError(f"not a number as these formats write it: {text[:20]!r}")
    return int(text)


def signed(name: str, text: str, signer: Signer) -> str:
    """The note: the text, signed under `name`."""
    verifier = Verifier(name, ED25519, signer.public_key)
    return f"{text}\n{Signature(name, verifier.key_id, signer.sign(text.encode())).line()}"


def is_signed(note: Note, name: str, key_id: bytes, has_signed: Callable[[bytes, bytes], bool]) -> bool:
    """Whether a key has signed the note: there is a line of its, and each of them is good.

    `has_signed` is asked with the message and the signature.
    """
    own = [one for one in note.signatures if (one.name, one.key_id) == (name, key_id)]
    message = note.text.encode()
    return bool(own) and all(has_signed(message, one.signature) for one in own)


def is_signed_by(note: Note, verifier: Verifier) -> bool:
    """Whether an Ed25519 key has signed the note."""

    def has_signed(message: bytes, signature: bytes) -> bool:
        return is_signature(verifier.key, signature, message)

    return is_signed(note, verifier.name, verifier.key_id, has_signed)


def cosigned_at(note: Note, witness: Verifier) -> int | None:
    """When the witness says that it saw the checkpoint, in Unix seconds; None if it has not cosigned it.

    A BundleError if a line of its is not good.
    """
    if witness.kind != COSIGNATURE:
        return None
    own = [one for one in note.signatures if (one.name, one.key_id) == (witness.name, witness.key_id)]
    return max((_cosigned(note.text, one.signature, witness) for one in own), default=None)


def _cosigned(text: str, signature: bytes, witness: Verifier) -> int:
    seconds = claimed_time(signature)
    message = f"cosignature/v1\ntime {seconds}\n{text}".encode()
    if seconds is None or not is_signature(witness.key, signature[_TIME.size :], message):
        raise BundleError(f"the cosignature in the name of {witness.name} is not good")
    return seconds


def claimed_time(signature: bytes) -> int | None:
    """The time in what could be a cosignature; None if it has no cosignature's size."""
    if len(signature) != _TIME.size + 64:
        return None
    seconds: int = _TIME.unpack_from(signature)[0]
    return seconds if seconds < 1 << 63 else None


def verifier_key(text: str) -> Verifier:
    """Read a key as logs and witnesses publish theirs: `NAME+ID+BASE64`."""
    name, _, rest = text.strip().partition("+")
    digits, _, encoded = rest.partition("+")
    data = unbase64(encoded) if encoded else b""
    if not is_name(name) or len(data) != 1 + KEY_SIZE or data[0] not in {ED25519, COSIGNATURE}:
        raise BundleError("a verifier key is NAME+ID+KEY, of Ed25519 (C2SP signed-note)")
    verifier = Verifier(name, data[0], data[1:])
    if digits != verifier.key_id.hex():
        raise BundleError(f"the verifier key of {name} is damaged: its id is not that of its name and key")
    return verifier


def witness_keys(texts: Sequence[str], option: str) -> tuple[Verifier, ...]:
    """The witnesses that a command's `option` named; a UsageError for what is no witness's key."""
    found = []
    for text in texts:
        try:
            found.append(verifier_key(text))
        except BundleError as error:
            raise UsageError(f"{option} {text}: {error}") from None
        if found[-1].kind != COSIGNATURE:
            words = "that key is a log's; a witness's has the type 4 (cosignature/v1)"
            raise UsageError(f"{option} {text}: {words}")
    return tuple(found)


def b64(data: bytes) -> str:
    """Base64 as all these formats have it."""
    return binascii.b2a_base64(data, newline=False).decode()


def unbase64(text: str) -> bytes:
    """The bytes, if `text` is the one way to write them; else a BundleError."""
    try:
        data = binascii.a2b_base64(text.encode(), strict_mode=True)
    except ValueError:
        data = b""
    if not data or b64(data) != text:
        raise BundleError("what should be base64 is not")
    return data

"""What a log can get wrong or forge, each by name, so that a test can ask for it.

What always holds: a lie about an entry is signed as far as the log's own keys can sign it, so that it is
found by checking the thing that it is about, and by nothing else on the way.
"""

from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from demo.translog import certificates, notes
from demo.translog.log import Log, Proven

UNANSWERED: Final = ("500", "garbage", "hang", "endless")
"""An error, what is no answer, no answer, and one without an end: of any service."""
ABOUT: Final = (
    "entry",  # the entry before this one: proved and signed, and another's
    "root",  # a root and a checkpoint, well signed, that the proof does not lead to
    "proof",  # one bit of the proof turned
    "checkpoint",  # a checkpoint that a stranger signed in the log's name
    "promise",  # a stranger's signed entry timestamp (v1)
)
HOW: Final = (*UNANSWERED, *ABOUT)


def told(log: Log, index: int, how: str) -> tuple[int, Proven]:
    """What a log says of an entry, and of which."""
    honest = log.prove(index)
    match how:
        case "entry":
            return index - 1, log.prove(index - 1)
        case "proof":
            return index, honest._replace(hashes=[flipped(honest.hashes[0]), *honest.hashes[1:]])
        case "root":
            forged = notes.checkpoint(log.signer, log.origin, honest.size, bytes(32))
            return index, honest._replace(root=bytes(32), checkpoint=forged)
        case "checkpoint":
            forged = notes.checkpoint(stranger(log.signer), log.origin, honest.size, honest.root)
            return index, honest._replace(checkpoint=forged)
        case "promise":
            return index, honest._replace(promiser=stranger(log.signer))
    return index, honest


def stranger(signer: notes.Signer) -> notes.Signer:
    """One who has the signer's name and key id, and not the key."""
    if len(signer.spki) == len(notes.spki(key := Ed25519PrivateKey.generate())):
        other = notes.ed25519_signer(signer.name, key)
    else:
        other = notes.ecdsa_signer(signer.name, certificates.new_key())
    return other._replace(key_id=signer.key_id)


def flipped(data: bytes) -> bytes:
    """The data with its first bit turned."""
    return bytes([data[0] ^ 0x80]) + data[1:]

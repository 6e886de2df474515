"""The digest of a run: 32 bytes that two runs share exactly where all their streams have the same actions.

What always holds: it follows from the streams, the version and nothing else; streams are taken in the order
of their names, actions in their own. What is in a stream is `hark.replay.treatment`'s to say.
"""

from typing import Final

from blake3 import blake3

from hark.bundle import cbor
from hark.replay.actions import Action, Streams

DIGEST_VERSION: Final = 1
CONTEXT: Final = "hark replay digest v1"
"""BLAKE3's key derivation context."""


def of_stream(actions: list[Action]) -> bytes:
    """Return the digest of one stream."""
    hasher = blake3(derive_key_context=CONTEXT)
    for action in actions:
        hasher.update(action.digest)
    return hasher.digest()


def of_run(streams: Streams) -> bytes:
    """Return the digest of a run."""
    found = [[name, len(actions), of_stream(actions)] for name, actions in sorted(streams.actions.items())]
    hasher = blake3(derive_key_context=CONTEXT)
    hasher.update(cbor.encode([DIGEST_VERSION, found]))
    return hasher.digest()

"""The checkpoint of a run: its root under SHA-256, signed as logs sign theirs, for witnesses and other tools.

What always holds: a run is a log of its own, whose origin is `hark/run/` and the run's id, and is signed by
the key of the tree head under that name. So a checkpoint that was taken from another run, other events or
another key is not this one's. The two signatures of one key cannot be mistaken for one another: what a tree
head's is over holds bytes that no note may hold.
"""

from typing import Final

from hark.bundle import note
from hark.bundle.note import Checkpoint, Note, Verifier
from hark.bundle.tree_head import Signer
from hark.errors import BundleError

PREFIX: Final = "hark/run/"


def origin(run_id: str) -> str:
    """The name of the log that a run is; empty if its id cannot be part of one."""
    return f"{PREFIX}{run_id}" if note.is_name(run_id) and run_id.isprintable() else ""


def run_of(log: str) -> str:
    """The run's id, from the name of its log; a BundleError if that is no run's."""
    run_id = log.removeprefix(PREFIX)
    if not run_id or run_id == log:
        raise BundleError(f"the log {log!r} is no run of hark: those are called {PREFIX}ID")
    return run_id


def verifier(run_id: str, public_key: bytes) -> Verifier:
    """The key of a run's log."""
    return Verifier(origin(run_id), note.ED25519, public_key)


def sign(run_id: str, size: int, root: bytes, signer: Signer) -> str:
    """The signed checkpoint; empty for a run whose id no log could have."""
    name = origin(run_id)
    return note.signed(name, note.checkpoint_text(name, size, root), signer) if name else ""


def read(text: str, public_key: bytes) -> tuple[Checkpoint, Note]:
    """A run's checkpoint, whose signature by the key is good; a BundleError says what is wrong with it."""
    read = note.parse(text)
    found = note.checkpoint(read.text)
    if note.checkpoint_text(*found) != read.text:
        raise BundleError("it has lines that no run's checkpoint has")
    if not note.is_signed_by(read, verifier(run_of(found.origin), public_key)):
        raise BundleError("it is not signed by the run's key")
    return found, read

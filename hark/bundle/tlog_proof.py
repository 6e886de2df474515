"""A `.tlog-proof` (C2SP tlog-proof): that one entry is in the tree of a run's checkpoint, in one text.

What always holds: the text is read only as it would be written, to the character. What hark needs besides, to
show one event of the entry, is in the extra data, which nothing vouches for: it is believed no further than
it leads to the checkpoint's root. Checking all that is `hark.tlogproof`'s.
"""

from typing import Final, NamedTuple

from hark.bundle import cbor
from hark.bundle.fields import BYTES, HASH, UINT, Layout, dump, load
from hark.bundle.note import b64, decimal, unbase64
from hark.errors import BundleError

FIRST_LINE: Final = "c2sp.org/tlog-proof@v1"
EXTRA: Final = "extra "
INDEX: Final = "index "
MAX_HASHES: Final = 63  # of a tree with 2^63 entries
MAX_PROOF: Final = 4 << 20


class TlogProof(NamedTuple):
    """The lines of the text."""

    extra: bytes
    number: int
    """Of the entry."""
    hashes: tuple[bytes, ...]
    checkpoint: str


class Extra(NamedTuple):
    """What hark puts into the extra data: one event of the entry, and how to find it there."""

    seq: int = 0
    kind: int = 0
    payload: bytes = b""
    """Empty where it was taken out, or is too long for a proof."""
    entry: bytes = b""
    public_key: bytes = b""


_EXTRA: Final[Layout] = {1: UINT, 2: UINT, 3: BYTES, 4: BYTES, 5: HASH}


def is_one(data: bytes) -> bool:
    """Whether a file begins as these proofs do."""
    return data.startswith(FIRST_LINE.encode())


def write(proof: TlogProof) -> str:
    """The text."""
    extra = f"{EXTRA}{b64(proof.extra)}\n" if proof.extra else ""
    hashes = "".join(f"{b64(node)}\n" for node in proof.hashes)
    return f"{FIRST_LINE}\n{extra}{INDEX}{proof.number}\n{hashes}\n{proof.checkpoint}"


def read(data: bytes) -> TlogProof:
    """Read the text."""
    try:
        head, _, checkpoint = data.decode().partition("\n\n")
    except ValueError:
        raise BundleError("not a tlog-proof: it is not UTF-8") from None
    first, *lines = head.split("\n")
    extra = unbase64(lines.pop(0).removeprefix(EXTRA)) if lines and lines[0].startswith(EXTRA) else b""
    if first != FIRST_LINE or not lines or not lines[0].startswith(INDEX):
        raise BundleError(f"not a tlog-proof: it begins with {FIRST_LINE}, and then comes its index")
    if len(lines) > 1 + MAX_HASHES:
        raise BundleError(f"not a tlog-proof: it has more than {MAX_HASHES} hashes")
    number = decimal(lines[0].removeprefix(INDEX))
    return TlogProof(extra, number, tuple(map(unbase64, lines[1:])), checkpoint)


def write_extra(extra: Extra) -> bytes:
    """The extra data's bytes."""
    return cbor.encode(dump("extra data", _EXTRA, extra))


def read_extra(data: bytes) -> Extra:
    """Read the extra data as hark writes it."""
    if not data:
        raise BundleError("the proof has no extra data, so there is no telling which event it is of")
    extra = Extra(*load("extra data", _EXTRA, cbor.decode(data)))
    if write_extra(extra) != data:
        raise BundleError("the proof's extra data is not written as hark writes it")
    return extra

"""What logs answer to a request to take an entry in, read as the entry that a bundle holds.

What always holds: nothing in an answer is believed here; it has its form, or is MalformedError. Version 1
answers with a map of the entry's name to what it is, in hexadecimal; version 2 with the very message that a
sigstore bundle holds.
"""

from hark.anchor import body, jsonform
from hark.anchor.entry import Entry, Proof, parse_entry
from hark.anchor.jsonform import MalformedError, Object
from hark.anchor.outcome import MANY

MAX_ANSWER = 1 << 20  # bytes: a hundred times what logs answer


def from_v2(data: bytes) -> Entry:
    """Read the answer of a log of version 2."""
    return parse_entry(jsonform.load(data, "the log's answer", MAX_ANSWER))


def from_v1(data: bytes) -> Entry:
    """Read the answer of a log of version 1."""
    answer = jsonform.load(data, "the log's answer", MAX_ANSWER)
    if len(answer) != 1:
        raise MalformedError(f"the log's answer has {len(answer)} entries, not one")
    (name,) = answer
    entry = jsonform.child(answer, name)
    verification = jsonform.child(entry, "verification")
    content = jsonform.octets(entry, "body")
    _, version = body.parse(content)
    return Entry(
        jsonform.number(entry, "logIndex"),
        _hex(entry, "logID"),
        body.KIND,
        version,
        jsonform.number(entry, "integratedTime"),
        jsonform.octets(verification, "signedEntryTimestamp"),
        _proof(jsonform.child(verification, "inclusionProof")),
        content,
    )


def _proof(value: Object) -> Proof:
    hashes = value.get("hashes")
    if not isinstance(hashes, list) or len(hashes) > 2 * MANY:
        raise MalformedError("the log's answer has a proof without hashes, or with too many")
    return Proof(
        jsonform.number(value, "logIndex"),
        jsonform.number(value, "treeSize"),
        _hex(value, "rootHash"),
        tuple(_hex({"hash": one}, "hash") for one in hashes),
        jsonform.text(value, "checkpoint"),
    )


def _hex(value: Object, name: str) -> bytes:
    try:
        return bytes.fromhex(jsonform.text(value, name))
    except ValueError:
        raise MalformedError(f"{name} is not hexadecimal") from None

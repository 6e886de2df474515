"""What a verdict does not say, in whole sentences. They stand under every verdict, also a good one.

What always holds: nothing here depends on who asks; a limit is dropped only if something was checked instead.
"""

from typing import Final

from hark.verify.result import ANCHORED, BROKEN, REJECTED, TRUNCATED, Result

COMPLETENESS: Final = (
    "That the writer saw everything: the record is as its writer left it, and what does not cross the "
    "boundary is not recorded."
)
UNSIGNED: Final = (
    "Who wrote it: nobody signed it, so whoever holds the file could have written all of it anew."
)
NO_PIN: Final = (
    "Whose key it is: compare it with one that you got from the signer, or give that one with -key."
)
OPERATOR: Final = (
    "Anything against the holder of the key, who can write another record and sign that: only an anchor "
    "does, and it has none that holds."
)
ANCHORED_ONLY: Final = (
    "That it is the only record: its anchor says that this one was there by then and was not changed "
    "since, and the holder of the key could have had others anchored too."
)
NO_IDENTITY: Final = (
    "Whose anchor it was to be: anybody can anchor a bundle under an identity of theirs; give the one that "
    "you expect with -identity and -issuer."
)
WITNESSED_ONLY: Final = (
    "That it is the only record: a witness says that this one was there by then and that it cosigned no "
    "other of this run, and the holder of the key could have written other runs."
)
NO_CHECKPOINT: Final = (
    "Anything to witnesses and to tools for transparency logs: it holds no checkpoint, as bundles of earlier "
    "versions do not."
)
NO_HEADER_HASH: Final = (
    "What the header says of policy, arguments, fork parent and creation time: RunStart holds no hash of it, "
    "so it could have been changed."
)
NO_START: Final = (
    "What was run: its first event, RunStart, cannot be read, and what shows or replays a bundle refuses it."
)
NO_SEAL: Final = (
    "When the events happened: there is no Seal, so their times are under no hash and could have been "
    "changed."
)
CUT: Final = (
    "What came after the last whole event, if anything did: it is not in the file, and nobody signed what is."
)
UNSAFE: Final = (
    "That a policy held anything back: the run was started with --unsafe-allow-all, and every host and port "
    "was allowed."
)
POLICY_REDACTED: Final = (
    "Whether a policy held anything back: the event that holds it was taken out, which needs no key, and the "
    "run may have been started with --unsafe-allow-all."
)
UNCONTAINED: Final = (
    "That anything was held back, or recorded beyond what went through Python's sockets: no boundary stood "
    "around what ran, and it could have reached the network, files and keys of its user by another way."
)
REDACTED: Final = "What stood in the redacted events: it is committed to, but cannot be read."
HASHED: Final = (
    "What stood in the bodies that the policy keeps out of the record: their length and hash are in it, "
    "no more."
)
UNCHECKED: Final = "Anything beyond the fault that is named: the rest of the file was not judged."


def limits(
    result: Result, *, legible: bool, header_covered: bool, times_covered: bool, hashed: bool
) -> tuple[str, ...]:
    """The limits of `result`; `hashed` says that there are bodies of which only the hash was recorded.

    With `legible`, RunStart can be read, or there is none.
    """
    if result.verdict == BROKEN:
        return (UNCHECKED,)
    said = [
        (True, COMPLETENESS),
        (result.verdict == TRUNCATED, CUT),
        (result.verdict != TRUNCATED and not result.public_key, UNSIGNED),
        (bool(result.public_key) and not _known(result) and result.verdict != REJECTED, NO_PIN),
        (bool(result.public_key), _against_the_signer(result)),
        (_by_anybody(result), NO_IDENTITY),
        (bool(result.public_key) and result.tlog is None, NO_CHECKPOINT),
        (not legible, NO_START),
        (not header_covered, NO_HEADER_HASH),
        (not times_covered, NO_SEAL),
        (result.unsafe, UNSAFE),
        (not result.policy_known, POLICY_REDACTED),
        (bool(result.uncontained), UNCONTAINED),
        (bool(result.redacted), REDACTED),
        (hashed, HASHED),
    ]
    return tuple(words for holds, words in said if holds)


def _against_the_signer(result: Result) -> str:
    """How far it goes as evidence against the holder of the key."""
    if result.anchored:
        return ANCHORED_ONLY
    return WITNESSED_ONLY if any(one.checked for one in result.cosignatures) else OPERATOR


def _by_anybody(result: Result) -> bool:
    """Whether it is anchored under identities alone, of which the caller named none."""
    held = [anchor for anchor in result.anchors if anchor.state == ANCHORED]
    return result.anchored and all(anchor.identity and not anchor.expected for anchor in held)


def _known(result: Result) -> bool:
    return result.pinned or result.own

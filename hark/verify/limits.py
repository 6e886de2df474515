"""What a verdict does not say, in whole sentences. They stand under every verdict, also a good one.

What always holds: nothing here depends on who asks; a limit is dropped only if something was checked instead.
"""

from typing import Final

from hark.verify.result import BROKEN, TRUNCATED, Result

COMPLETENESS: Final = (
    "It says that the record is as its writer left it, not that the writer saw everything: "
    "what does not cross the boundary is not recorded."
)
UNSIGNED: Final = "Nobody signed it: whoever holds the file could have written all of it anew."
NO_PIN: Final = (
    "Nobody vouches for the key: compare it with one that you got from the signer, "
    "or give that one with -key."
)
OPERATOR: Final = (
    "A signature says nothing against the holder of the key, who can write another record and sign that: "
    "only an anchor does."
)
ANCHOR: Final = "There is an anchor in it, but the anchor was not checked here."
NO_HEADER_HASH: Final = (
    "RunStart holds no hash of the header: policy hash, argument hash, fork parent and creation time in the "
    "header could have been changed."
)
NO_SEAL: Final = "There is no Seal: the times of the events are under no hash and could have been changed."
CUT: Final = (
    "What came after the last whole event, if anything did, is not in the file, and nobody signed what is."
)
REDACTED: Final = (
    "The payloads of redacted events are gone: what stood there is committed to, but cannot be read."
)
UNCHECKED: Final = "Beyond the fault that is named, nothing of the file is vouched for."


def limits(result: Result, *, header_covered: bool, times_covered: bool) -> tuple[str, ...]:
    """The limits of `result`."""
    if result.verdict == BROKEN:
        return (UNCHECKED,)
    said = [
        (True, COMPLETENESS),
        (result.verdict == TRUNCATED, CUT),
        (result.verdict != TRUNCATED and not result.public_key, UNSIGNED),
        (bool(result.public_key) and not result.pinned, NO_PIN),
        (bool(result.public_key), OPERATOR),
        (result.anchored, ANCHOR),
        (not header_covered, NO_HEADER_HASH),
        (not times_covered, NO_SEAL),
        (bool(result.redacted), REDACTED),
    ]
    return tuple(words for holds, words in said if holds)

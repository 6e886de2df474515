"""Files that the agent was shown with placeholders in them (`mounted`), on the record and back from it.

Always: what is recorded is what was shown, so no value of a secret stands in it; each is one kind 38
under a name of its own. What a bundle says may be anything: `hark.rerun.restaging` judges what is shown.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from hark.bundle.events import Snapshot
from hark.bundle.hashing import content_hash

MOUNTED: Final = "mounted "
"""How the name of such a file begins on the record; its path follows."""
MOST: Final = 64  # of them: a policy names a file for each secret
MAX_BYTES: Final = 2 << 20  # of one: what is mounted is a program's settings, and placeholders may be longer


def events_of(files: Mapping[str, bytes]) -> Iterator[Snapshot]:
    """Yield what goes on the record; a file whose path is no UTF-8 is left out, and shown in no replay."""
    for path, content in sorted(files.items()):
        if path.encode(errors="surrogateescape").decode(errors="replace") == path:
            yield Snapshot(MOUNTED + path, content_hash(content), 0, content, last=True)


def recorded(event: Snapshot) -> tuple[str, bytes] | None:
    """Return path and content of such a file; None of any other event of the kind."""
    whole = event.seq == 0 and event.last and len(event.data) <= MAX_BYTES
    if not event.name.startswith(MOUNTED) or not whole or content_hash(event.data) != event.hash:
        return None
    return event.name.removeprefix(MOUNTED), event.data

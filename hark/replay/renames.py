"""Answers for requests that differ from recorded ones by identifiers alone, where that was asked for. No IO.

Always: an answer is renamed before its first piece is let in, by all that is known then. What stands for an
identifier is as long as it, so that no length and no border between pieces changes, and one that spans a
border is renamed too: all pieces of a recorded answer are at hand. A packed body stays as it was recorded.
"""

from collections.abc import Iterable, Sequence

from hark.bundle.fields import Pairs
from hark.replay.canonical import Canonical, Rules
from hark.replay.pieces import Data, Early, Head, Message, Part, Piece, Tail
from hark.replay.recorded import Recorded
from hark.replay.renamed import Renaming, find


class Renames:
    """The renaming of one replay, which grows with its requests."""

    def __init__(self) -> None:
        self.renaming = Renaming()

    def find(self, request: Canonical, recorded: Iterable[Recorded], rules: Rules) -> Recorded | None:
        """Return the first recorded request that this one is but for identifiers, and keep what they are."""
        by_event = {one.seq: one for one in recorded}
        forms = ((seq, one.gathered.canonical(rules)) for seq, one in by_event.items())
        found = find(request, forms, self.renaming)
        if found is None:
            return None
        self.renaming = found.renaming
        return by_event[found.seq]

    def serve(self, recorded: Recorded) -> None:
        """Rename an answer of which nothing was let in yet."""
        if self.renaming.pairs:
            recorded.parts = renamed(recorded.parts, self.renaming)


def renamed(parts: Sequence[Part], renaming: Renaming) -> list[Part]:
    """Return an answer with the replay's identifiers, in the same pieces."""
    body = b"".join(part.piece.data for part in parts if isinstance(part.piece, Data))
    changed = body if any(_is_packed(part.piece) for part in parts) else renaming.applied(body)
    found, at = [], 0
    for part in parts:
        piece: Piece = part.piece
        match piece:
            case Data():
                piece = Data(changed[at : at + len(piece.data)])
                at += len(piece.data)
            case Head() | Early() | Tail():
                piece = piece._replace(headers=_fields(piece.headers, renaming))
            case Message():
                piece = piece._replace(data=renaming.applied(piece.data))
            case _:
                pass
        found.append(part._replace(piece=piece))
    return found


def _fields(fields: Pairs, renaming: Renaming) -> Pairs:
    return tuple((name, renaming.applied(value)) for name, value in fields)


def _is_packed(piece: Piece) -> bool:
    if not isinstance(piece, Head):
        return False
    codings = {value.strip().lower() for name, value in piece.headers if name.lower() == b"content-encoding"}
    return not codings <= {b"identity", b""}

"""What is still to be recorded of a played answer whose agent has left: `hark.replay.leaving` says when."""

from hark.replay.leaving import KERNELS, left_when_recorded, not_told_apart
from hark.replay.live import to_come
from hark.replay.pieces import Data, Piece
from mediator.playback.playback import Playback


def rest(playback: Playback, exchange: int) -> list[Piece] | None:
    """Return what had come by then, and take it as let in. None: the agent's leaving counts.

    Where it left when it was recorded it does here; but what had come then is taken as let in all the same.
    """
    score = playback.score
    live = score.of(exchange)
    if live is None or playback.live or playback.diverged:
        return None
    if live.recorded is None or not not_told_apart(live, score.last_ns, score.may_release):
        return None
    found: list[Piece] = []
    size = 0
    for number, part in enumerate(live.recorded.parts):
        piece = playback.loaded(part)
        if piece is None:
            return None
        size += len(piece.data) if isinstance(piece, Data) else 0
        if size > KERNELS:
            return None
        if number >= live.told:
            found.append(piece)
    playback.drop(live.part)
    while (upcoming := to_come(live)) is not None:
        playback.skip(upcoming)
    return None if left_when_recorded(live.recorded) else found

"""What playback came to, as values: how often it waited, what was not used, and why it could not go on."""

from dataclasses import dataclass

from hark.replay.pieces import Action, Failed, Head, Part, Withheld
from hark.replay.score import Score


@dataclass(frozen=True, slots=True)
class Divergence:
    """Why a replay cannot go on as the recording did."""

    kind: str
    """`miss`: no such request was recorded; `difference`: it said something else in a connection; `stall`:
    something did not come; `policy`: it was allowed and was refused then, or the other way round;
    `uncovered`: it was recorded in a way that is not played back."""
    words: str
    """One sentence for the user."""
    event: int | None = None
    """The event of the recording that it is about."""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What playback came to."""

    released: int
    held: int
    """How many releases had to wait for the agent to do what came before them."""
    held_s: float
    """For how long in all."""
    early: tuple[str, ...]
    """What went on before its turn."""
    unconsumed: tuple[str, ...]
    """Recorded answers that were not used to their end."""
    divergences: tuple[Divergence, ...]
    dials: int


def nothing_comes(score: Score, idle_s: float) -> Divergence | None:
    """Say what an agent does not come to do that waits, and for nothing which was recorded.

    None: it may sleep yet. That is measured by the whole time that the recording took up to there, since
    nobody knows when it began to.
    """
    awaited = score.awaited() or score.recording.ended
    if awaited is None or idle_s <= awaited.time_ns / 1e9:
        return None
    words = f"{awaited.words} (event {awaited.seq}) did not come, and the agent waits"
    return Divergence("stall", f"{words} for nothing that was recorded", awaited.seq)


def stall(part: Part, words: str, awaited: Action | None) -> Divergence:
    """Say what does not come, and who waits for it."""
    what = "its next piece"
    if isinstance(part.piece, (Head, Failed)):
        what = "its beginning"
    if awaited is None and isinstance(part.piece, Withheld):
        words = f"the agent waits for more of {words} than was recorded before the recording ends"
        return Divergence("stall", f"{words} (event {part.seq})", part.seq)
    if awaited is None:
        return Divergence("stall", f"the agent takes no more of {words} (event {part.seq})", part.seq)
    return Divergence(
        "stall",
        f"{awaited.words} (event {awaited.seq}) did not come, and {words} waits for it with {what} "
        f"(event {part.seq})",
        awaited.seq,
    )

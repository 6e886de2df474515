"""The conductor of a fork: a replay up to its branch point, and from there on the run is live.

Always: before the branch point it is a replay, lock-step and all, and its first divergence ends it. At the
branch point nothing of what came before is missing, `on_live` has returned before anything live passes, and
from then on nothing is compared or held. What was begun before is played to its end: exchanges as they were
recorded, talks as far as the recording goes without another word of the agent's.

Not done here: what is different then (`mediator.branching`), and what is done to requests (`hark.patch`).
"""

from collections.abc import Callable, Set
from datetime import datetime
from typing import Any

from hark.bundle.events import Event, LlmResponseEnd, RequestChunk
from hark.replay.pieces import Branched, Part, Refused, Withheld
from hark.replay.recorded import Recorded
from hark.replay.score import Score
from hark.replay.talks import Talk
from mediator.playback.altering import Altering
from mediator.playback.playback import Playback
from mediator.playback.report import Divergence
from mediator.wall import local_now


class Forking(Playback):
    """One fork's. Used as a Playback is."""

    def __init__(
        self,
        score: Score,
        on_diverged: Callable[[Divergence], None],
        branch: Part,
        altering: Altering,
        *,
        typed: Set[int] = frozenset(),
        **named: Any,
    ) -> None:
        """`branch` is the part of `score` with which the run goes live; `named` is as of a Playback.

        `typed` are the events of what was typed at a terminal: nothing is, once it is live.
        """
        super().__init__(score, on_diverged, **named)
        self.altering = altering
        self._branch = branch
        self._typed = typed
        self._begun: frozenset[int] = frozenset()
        """The exchanges that the recording goes on to answer."""

    def plays(self, exchange: int) -> bool:
        """As of a Playback."""
        return not self.live or exchange in self._begun

    def observe(self, event: Event) -> None:
        """As of a Playback; once it is live, only what is played still is looked at."""
        if not self.live:
            super().observe(event)
        elif isinstance(event, (RequestChunk, LlmResponseEnd)) and event.exchange in self._begun:
            self.score.observe(event)  # a miss has no answer, and `wanted` says so

    def now(self) -> datetime:
        """As of a Playback; live rules are judged by the real time."""
        return local_now() if self.live else super().now()

    def dialled(self, what: str) -> None:
        """As of a Playback; live, nothing is wrong with it."""
        if not self.live:
            super().dialled(what)

    def wanted(self, exchange: int) -> Recorded | None:
        """As of a Playback."""
        if not self.live:
            return super().wanted(exchange)
        live = self.score.of(exchange)
        return None if live is None or exchange not in self._begun else live.recorded

    def upcoming(self, exchange: int) -> Part | None:
        """As of a Playback; of a talk, nothing that the agent has to say something for."""
        part = super().upcoming(exchange)
        live = self.score.of(exchange)
        if not self.live or part is None or live is None or live.recorded is None:
            return part
        return None if live.recorded.talk is not None and self.is_left(live.recorded.talk, part) else part

    def along_with(self, exchange: int, before: Part) -> Part | None:
        """As of a Playback; live, each part has its turn at once."""
        return None if self.live else super().along_with(exchange, before)

    def take(self) -> Part | None:
        """As of a Playback; live, nobody waits for a decision's turn."""
        return None if self.live else super().take()

    async def turn(self, part: Part | None) -> bool:
        """As of a Playback; live, whatever is played may come in at once, and what never comes may not."""
        if not self.live or part is None:
            return await super().turn(part)
        if self._over or isinstance(part.piece, (Refused, Withheld)):
            return False
        self.score.released(part)
        return True

    def is_left(self, talk: Talk, part: Part) -> bool:
        """As of a Playback; live, nothing comes that the agent has to say something for."""
        return self.live and _waits(talk, part)

    async def _input(self, seq: int) -> bool:
        """Standard input goes on being offered; what was typed at a terminal ends."""
        part = self.score.recording.inputs.get(seq)
        if self.live and part is not None:
            return seq not in self._typed
        return await super()._input(seq) and not (self.live and seq in self._typed)

    def _reached(self, part: Part) -> None:
        if part is self._branch:
            self._go_live(part)
        else:
            super()._reached(part)

    def _go_live(self, part: Part) -> None:
        """From here on nothing is held. All of it happens in one step of the event loop."""
        whose = next((number for number, one in self.score.under_way.items() if one.part is part), 0)
        self.live = True
        asked = {whose} if isinstance(part.piece, Branched) else set()
        self._begun = frozenset(self.score.under_way.keys() - asked)
        self.on_live(whose, self.score.verified)
        self._grant_all(part)

    def _grant_all(self, branch: Part) -> None:
        """Let in what waits, in its order, but for what the operator's side did later."""
        recording = self.score.recording
        operators = (*recording.changes, *recording.branches, *(part for part, _ in recording.calls))
        never = {part.seq for part in operators}
        for seq, waiting in sorted(self._waiting.items()):
            if waiting.part is branch or waiting.go.done():
                continue
            fit = seq not in never and not isinstance(waiting.part.piece, (Refused, Withheld))
            fit = fit and not self._is_answer_to_more(waiting.part)
            if fit:
                self.score.released(waiting.part)
            waiting.go.set_result(fit)

    def _is_answer_to_more(self, part: Part) -> bool:
        """Tell whether a part came after something that the agent has not said in its conversation."""
        talk = self.score.talks.whose(part)
        if talk is not None:
            return self.is_left(talk.talk, part)
        live = next((one for one in self.score.under_way.values() if one.part is part), None)
        recorded = None if live is None else live.recorded
        return recorded is not None and recorded.talk is not None and self.is_left(recorded.talk, part)


def _waits(talk: Talk, part: Part) -> bool:
    """Tell whether the agent had said more in a talk before a part of the other side's."""
    acts = [action for _, action in talk.acts]
    if talk.hushed is not None:
        acts.append(talk.hushed)
    return any(not action.done and action.seq < part.seq for action in acts)

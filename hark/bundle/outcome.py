"""How a run ended: the words of RunEnd's reason, and what a person is told about them.

What always holds: only plain `exit` with code 0 counts as success; a reason that we do not know is quoted,
never taken for a good end. Text from the file stands in quotes inside a sentence, so that it cannot pass
for what hark says.
"""

from typing import Final

from hark.bundle.bounds import RunEnd
from hark.visible import WORD, named, quoted

EXIT: Final = "exit"
SIGNAL: Final = "signal"
NEVER_STARTED: Final = "never-started"
INTERRUPTED: Final = "interrupted"
RECORDER_FAILED: Final = "recorder-failed"
FORK_DIVERGED: Final = "fork-diverged"
_AFTER: Final = "after SIG"
"""How the detail of `exit` begins, where there is one: what the agent was sent before, and outlived."""

_WORDS: Final = {
    NEVER_STARTED: "the run never started",
    INTERRUPTED: "the run was interrupted",
    RECORDER_FAILED: "the recorder failed and the run was ended",
    FORK_DIVERGED: "the fork diverged from its parent",
}


def reason(word: str, detail: str = "") -> str:
    """What RunEnd's reason holds for one of the words above: `signal SIGTERM`, `never-started: why`.

    A run that ended by itself after a signal was passed on is `exit: after SIGTERM`; one that a limit of the
    policy ended is `interrupted`, with the limit's sentence.
    """
    if not detail:
        return word
    return f"{word} {detail}" if word == SIGNAL else f"{word}: {detail}"


def split(text: str) -> tuple[str, str]:
    """Word and detail of a reason."""
    word, _, detail = text.partition(" ")
    return word.removesuffix(":"), detail.strip()


def _by_itself(text: str) -> bool:
    word, detail = split(text)
    after = detail.startswith(_AFTER) and WORD.issuperset(detail.removeprefix(_AFTER))
    return word == EXIT and (not detail or after)


def succeeded(end: RunEnd | None) -> bool:
    """Whether the agent ran to its end, unasked, and said so with code 0."""
    return end is not None and end.reason == EXIT and end.exit_code == 0


def describe(end: RunEnd | None) -> str:
    """A part of a sentence: how the run ended."""
    if end is None:
        return "how the run ended is not recorded"
    word, detail = split(end.reason)
    if _by_itself(end.reason):
        noted = f" ({detail})" if detail else ""
        return f"the run ended with exit code {end.exit_code}{noted}"
    if word == SIGNAL and detail:
        return f"the run was ended by signal {named(detail)}"
    if word in _WORDS:
        return f"{_WORDS[word]} ({quoted(detail)})" if detail else _WORDS[word]
    return f"the run ended for the reason {quoted(end.reason)}"

"""What a run tells its user at its end, and the words by which the record names that end.

The lines of a policy that would allow what was denied come from `hark.running.allowing`. Nothing here prints.
"""

import json
import os
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from hark.bundle import outcome
from hark.bundle.store import SUFFIX
from hark.policy.host import format_authority
from hark.visible import visible
from launcher.report import Ended

if TYPE_CHECKING:
    from mediator.ledger import Summary

MAX_MASKED_SHOWN: Final = 5  # enough to see which kind it is; the record has them all
MAX_DENIALS_SHOWN: Final = 20  # targets printed at the end of a run; the record has them all


def laid_bare(name: str) -> str:
    """Return the sentence for a path that is kept from the agent and was replaced from outside."""
    return (
        f"{visible(name)} was replaced by another program during the run: "
        "the agent may have read or changed it in the moment before it was covered again"
    )


def moved_from(name: str) -> str:
    """Return the sentence for a path that is kept from the agent and whose folder is another one by now."""
    return (
        f"{visible(name)} was kept from the agent, and its folder was moved or replaced during the run: "
        "the agent may have read or changed what stands there now"
    )


def listened_on(name: str) -> str:
    """Return the sentence for a socket or FIFO on which somebody began to listen during the run."""
    return (
        f"a program of this machine began to listen on {visible(name)} during the run: what the agent may "
        "have said to it is in no record; start such a program before the run, which then masks that name"
    )


def acted_on(name: str, count: int) -> str:
    """Return the sentence for what the agent changed or made, and other programs act on."""
    files = "" if count == 1 else f" ({count} files)"
    return f"the agent changed {visible(name)}{files}, which other programs act on; look before they do"


def put_aside(name: str, now: str) -> str:
    """Return the sentence for what git would have run or followed, and has another name now, or has not."""
    if not now:
        return f"git may run what the agent left in {visible(name)}: it could not be renamed; remove it first"
    anew = "; `git reset` makes another" if os.path.basename(name) == "index" else ""
    return (
        f"git would have obeyed {visible(name)}, which the agent left: it is called {visible(now)} now{anew}"
    )


def kept_back(names: Iterable[str]) -> Iterator[str]:
    """Yield the sentence for a run that failed where files of the project are masked; bundles aside."""
    hidden = [name for name in names if not name.endswith(SUFFIX)]
    if not hidden:
        return
    more = len(hidden) - MAX_MASKED_SHOWN
    others = f" and {more} more" if more > 0 else ""
    shown = ", ".join(visible(name) for name in hidden[:MAX_MASKED_SHOWN])
    example = f"`unmask = [{json.dumps(hidden[0])}]` under [project] of the policy"
    yield f"masked in the project, so that the agent cannot read it: {shown}{others}; {example} shows one"


def holding(found: Mapping[bytes, str]) -> Iterator[str]:
    """Yield the sentences for files, by path in the project, in which the value of a secret stands."""
    for secret in dict.fromkeys(found.values()):
        names = [os.fsdecode(path) for path, held in found.items() if held == secret]
        more = len(names) - MAX_MASKED_SHOWN
        others = f" and {more} more" if more > 0 else ""
        shown = ", ".join(visible(name) for name in names[:MAX_MASKED_SHOWN])
        listed = ", ".join(visible(json.dumps(name, ensure_ascii=False)) for name in names[:MAX_MASKED_SHOWN])
        yield (
            f"the agent can read the value of secrets.{secret} in the project, in {shown}{others}; "
            f"move it out, or write `mask = [{listed}]` under [project] of the policy"
        )


def passed_over(paths: Collection[bytes]) -> Iterator[str]:
    """Yield the sentence for files of patterns, by path in the project, that match nothing."""
    names = [visible(os.fsdecode(path)) for path in paths]
    if names:
        more = len(names) - MAX_MASKED_SHOWN
        others = f" and {more} more" if more > 0 else ""
        yield (
            f"{', '.join(names[:MAX_MASKED_SHOWN])}{others}: patterns that are too many or too large were "
            "passed over, so what git ignores by them was recorded; shorten them, or look at who wrote them"
        )


def left_behind(count: int) -> str:
    """Return the sentence for processes that were ended because the agent's first one was."""
    what = "a process of the agent was" if count == 1 else f"{count} processes of the agent were"
    return f"{what} still running and ended with it; -wait-children waits for them"


def in_a_repository(workdir: str) -> Iterator[str]:
    """Say so where a project is a part of a git repository, which git inside cannot find."""
    above = workdir
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == (above := os.path.dirname(above)):
            return
    if above != workdir:
        from shlex import quote

        yield (
            f"the project is a part of the git repository {visible(above)}, of which the agent sees no more; "
            f"git works in all of it: -workdir {visible(quote(above))}"
        )


def behind_the_command(argv: Iterable[str]) -> Iterator[str]:
    """Say so where `-policy` came too late to be hark's; an agent may have an option of that name itself."""
    words = [word for word in argv if word.lstrip("-").partition("=")[0] == "policy" and word.startswith("-")]
    for word in words[:1]:
        yield f"{word} stands behind the command, which was given it: options of hark run stand before it"


def not_found(unseen: tuple[str, ...]) -> str:
    """Return the sentence for an agent that could not find a program, and whose PATH lost directories."""
    grants = " ".join(f"-read {directory}" for directory in unseen)
    return f"the agent does not see the programs in some directories of your PATH; to show them: {grants}"


def of_denials(summary: "Summary") -> Iterator[str]:
    """Yield the sentences for the end of a run: what was denied, and why where no rule would lift it."""
    for denied in summary.denied[:MAX_DENIALS_SHOWN]:
        times = "" if denied.count == 1 else f", {denied.count} times"
        place = format_authority(denied.host, denied.port) if denied.port else denied.host
        why = "" if denied.rule else f": {denied.reason}"
        yield f"denied {place} ({denied.protocol}{times}){why}"
    more = len(summary.denied) - MAX_DENIALS_SHOWN + summary.denied_uncounted
    if more > 0:
        yield f"denied {more} more; `hark inspect` lists them"
    yield from summary.warnings
    seen = sorted({f"{token.name} ({token.host})" for token in summary.tokens if token.where != "minted"})
    if seen:
        others = "" if len(seen) <= MAX_DENIALS_SHOWN else f" and {len(seen) - MAX_DENIALS_SHOWN} more"
        yield f"the agent was given what look like tokens: {', '.join(seen[:MAX_DENIALS_SHOWN])}{others}"


def reason(ended: Ended) -> str:
    if ended.interrupted is not None:
        return outcome.reason(outcome.INTERRUPTED, signal_name(ended.interrupted))
    if ended.signal is not None:
        return outcome.reason(outcome.SIGNAL, signal_name(ended.signal))
    if ended.passed_on is not None:
        return outcome.reason(outcome.EXIT, f"after {signal_name(ended.passed_on)}")
    return outcome.EXIT


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"

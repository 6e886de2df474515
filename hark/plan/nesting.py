"""What `[sandbox] nested = true` cannot be had together with, and what is said where it was missed.

A mount holds only as long as the namespace that it is in. Whoever may make a mount namespace can pivot away
from the agent's tree and unmount it; a name in a writable folder that they still hold open is then no mount
point any more, and can be moved to where no mask lies over it (tests/attacks/containment/nested.py does it).
So what mounts keep from the agent inside a writable grant, they do not keep from a nested one, and such a run
is refused. What is inside a read-only grant cannot be moved and stays covered. Files that other programs act
on (`.git/hooks`) can be changed then; the end of the run lists them, as everywhere.
"""

from typing import Final

from hark.errors import PolicyError
from hark.places import within
from hark.visible import visible
from launcher.plan import Access, Grant, Plan

_NAMED: Final = 3  # paths in one sentence
_ASKED_FOR: Final = ("read_paths", "-read")
SETTING: Final = "[sandbox] nested = true"


def check(plan: Plan, watched: tuple[str, ...]) -> None:
    """Refuse a nested plan that promises what it cannot keep. `watched` paths are compared at the end.

    Raises PolicyError.
    """
    if plan.executables is not None:
        raise PolicyError(
            f"{SETTING} cannot be had together with exec, which needs Landlock: leave one of them out"
        )
    writable = [grant.path for grant in plan.grants if grant.access is Access.WRITE]

    def held(paths: tuple[str, ...]) -> list[str]:
        return [path for path in paths if within(path, writable)]

    _refuse(held(plan.masked), "move it out, or let the agent read it with [project] unmask")
    _refuse(held(tuple(plan.files)), "move it out: its placeholders lie over the real file")
    _refuse(held(plan.hidden), "keep hark's own files outside of what the agent may write")
    kept = tuple(path for path in plan.protected if path not in watched)
    _refuse(held(kept), "keep it outside of the project and of what the agent may write")
    _refuse(held(_read_only(plan.grants)), "keep it outside of what the agent may write")


def _read_only(grants: tuple[Grant, ...]) -> tuple[str, ...]:
    return tuple(grant.path for grant in grants if grant.access is Access.READ and grant.why in _ASKED_FOR)


def _refuse(paths: list[str], remedy: str) -> None:
    if not paths:
        return
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    raise PolicyError(
        f"{SETTING} cannot keep {', '.join(paths[:_NAMED])}{more} from the agent, who may write there: "
        f"{remedy}, or leave the setting out"
    )


def refused(programs: tuple[str, ...]) -> str:
    """The sentence for programs that were refused a user namespace."""
    return (
        f"{', '.join(map(visible, programs))} was refused a user namespace; {SETTING} in the policy allows it"
    )

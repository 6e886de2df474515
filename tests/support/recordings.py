"""A recorded run in events, as small as one can be that hark replays, for tests that change it."""

from pathlib import Path
from typing import Any, Final

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.header import Header
from hark.bundle.tree_head import SigningKey
from tests.support.rerecorded import STRANGER, Told, write

RUN: Final = "01J8X00000000000000000TEST"
STARTED: Final = 1_755_400_000_000_000_000
HEADER: Final = Header(run_id=RUN, created_at=STARTED, recorder="hark test")
PROJECT: Final = "/home/ann/project"
ENV: Final = {"HOME": "/home/ann", "USER": "ann", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
BOUNDARY: Final = ev.Boundary(landlock_abi=6, kernel="6.18", uid=1000, gid=1000)


def recording(*more: Any, **changes: Any) -> list[Told]:
    """The events of a run of /bin/true; `more` come before its end, `changes` name events to replace.

    Names of changes: start, policy, env, boundary, end; None leaves the event out.
    """
    events = {
        "start": RunStart(
            run_id=RUN, started_at=STARTED, recorder="hark test", working_dir=PROJECT, argv=("true",)
        ),
        "policy": ev.PolicyLoaded("policy.toml", raw=b""),
        "env": ev.EnvSnapshot(ENV),
        "boundary": BOUNDARY,
        "end": RunEnd(ended_at=STARTED + 5, reason="exit"),
    } | changes
    end = events.pop("end")
    listed = [*events.values(), *more, end]
    return [(1000 * at, event) for at, event in enumerate(one for one in listed if one is not None)]


def bundle(
    path: Path, *more: Any, key: SigningKey | None = STRANGER, seal: bool = True, **changes: Any
) -> str:
    """Write that run to `path`."""
    return str(write(path, recording(*more, **changes), HEADER, key=key, seal=seal))

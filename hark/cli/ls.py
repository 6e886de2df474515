"""`hark ls`: the runs that are kept on this machine, newest first."""

import os
import sys
import time
from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Spec

if TYPE_CHECKING:
    from hark.bundle.store import Run

SPEC: Final = Spec(
    "ls",
    "list the runs kept on this machine",
    options=(Option("json", "print one JSON object a line"),),
    about="""\
Runs are kept in $XDG_STATE_HOME/hark/runs (~/.local/state/hark/runs), newest first. A run is
running, sealed, killed (no footer: what is there still verifies as far as
it goes) or unreadable. Nothing is verified here; `hark verify` does that. Times are local, with their
distance from UTC. A replay's command begins with REPLAY, a fork's with FORK. Where a command takes a
bundle, a RUN of this list will do, or as much of its beginning as no other run has.""",
)

REPLAY: Final = "REPLAY "
FORK: Final = "FORK "


def run(args: Args) -> int:
    """Print them."""
    from hark import runs
    from hark.bundle.store import runs_directory
    from hark.cli import output

    directory = runs_directory(os.environ)
    found = runs.newest_first(directory)
    if args.flag("json"):
        for one in found:
            output.say_json(_record(one))
    elif found:
        _table(found)
    else:
        output.error_line(f"no runs in {directory}")
    return 0


def _table(found: list["Run"]) -> None:
    from hark import runs
    from hark.cli import output
    from hark.visible import visible

    rows = [("RUN", "STARTED", "STATE", "SIZE", "COMMAND")]
    for one in found:
        began = runs.opening(one)
        kind = FORK if runs.lineage(one).parent_root else REPLAY if began.replayed else ""
        command = kind + visible(" ".join(began.command))
        rows.append((one.run_id, _when(runs.started_at(one)), one.state, output.size(one.size), command))
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    for run_id, started, state, size, command in rows:
        line = f"{run_id:<{wide[0]}}  {started:<{wide[1]}}  {state:<{wide[2]}}  {size:>{wide[3]}}  {command}"
        print(output.cut(line.rstrip(), output.width(sys.stdout)))


def _when(unix_ns: int) -> str:
    """Local time and how far it is from UTC; empty if the file names none, or one that no calendar has."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(unix_ns // 10**9)) if unix_ns else ""
    except (OverflowError, OSError, ValueError):
        return ""


def _record(one: "Run") -> dict[str, object]:
    from hark import runs

    began = runs.opening(one)
    return {
        "run": one.run_id,
        "path": one.path,
        "state": one.state,
        "size": one.size,
        "events": one.events,
        "started_at_ns": runs.started_at(one) or None,
        "command": list(began.command),
        "replayed": began.replayed.hex() or None,
        "fork": runs.lineage(one).record(),
    }

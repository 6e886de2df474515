"""`hark gc`: remove runs that have ended. Never one that is running, never a file that is no bundle."""

import os
import time
from typing import Final

from hark.cli.spec import Args, Option, Spec
from hark.errors import UsageError

SPEC: Final = Spec(
    "gc",
    "remove old runs kept on this machine",
    options=(
        Option("keep", "keep the newest N runs that have ended, or those younger than AGE", "N|AGE"),
        Option("dry-run", "say what would be removed, and remove nothing"),
    ),
    about="""\
AGE is a number with a unit: 90s, 30m, 12h, 30d, 2w, counted from when the run began. Only runs that
have ended, sealed or killed, are removed; bundles written elsewhere with -o are not touched.""",
)


def run(args: Args) -> int:
    """Remove them, and say which."""
    from hark import runs
    from hark.bundle.store import runs_directory
    from hark.cli import output
    from hark.snapshot import copies

    keep = args.text("keep")
    if keep is None:
        raise UsageError("hark gc needs -keep N or -keep AGE, so that nothing is removed by accident")
    wanted = runs.parse_keep(keep)
    found = runs.newest_first(runs_directory(os.environ))
    dry = args.flag("dry-run")
    if not dry and (left_over := copies.sweep(copies.beside(runs_directory(os.environ)))):
        swept = "1 copy" if left_over == 1 else f"{left_over} copies"
        print(f"removed {swept} of a project, left by a replay that was killed")
    doomed = runs.removable(found, wanted, time.time_ns())
    freed = 0
    for one in doomed:
        if not dry:
            os.unlink(one.path)
        freed += one.size
        word = "would remove" if dry else "removed"
        print(f"{word} {one.run_id}  {one.state}  {output.size(one.size)}")
    left = len(found) - len(doomed)
    gone, free = ("to remove", "would free") if dry else ("removed", "freed")
    runs_gone = "1 run" if len(doomed) == 1 else f"{len(doomed)} runs"
    print(f"{runs_gone} {gone}, {left} left; {free} {output.size(freed)}")
    return 0

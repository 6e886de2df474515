"""Records and replays the shapes, and prints the table of docs/fidelity.md: `make fidelity`.

    python -m fidelity [-n N] [-j JOBS] [--quick] [--heavy] [--only NAME]... [--write FILE [--keep]]

The page is written after each row, so what a run that is cut off has tried is there.

Exits with 1 if a row is not as promised or a control is not seen.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from fidelity import page
from fidelity.controls import Control, controls, subject
from fidelity.page import Row
from fidelity.people import recorder, replayer
from fidelity.recording import Kit, recorded
from fidelity.replaying import replay
from fidelity.shape import ROOT, Folder, folders
from tests.support.user import User


def main() -> int:
    """Run what is asked for."""
    asked = arguments()
    os.umask(0o022)
    chosen = choose(asked)
    with recorder() as kit:
        user = replayer(kit.user)
        print(page.HEAD, flush=True)
        rows = []
        with ThreadPoolExecutor(asked.j) as pool:
            for one in pool.map(lambda folder: row(folder, kit, user, asked.n), chosen):
                rows.append(one)
                print(one.cells(), flush=True)
                put_down(rows, [], asked)
        print(f"\n{page.HEAD_CONTROLS}", flush=True)
        found = checked(kit, user)
    put_down(rows, found, asked)
    return verdict(rows, found)


def put_down(rows: Sequence[Row], found: Sequence[Control], asked: argparse.Namespace) -> None:
    """Write the page, where one is asked for."""
    words = " ".join(["python -m fidelity", *sys.argv[1:]])
    if asked.write:
        page.write(rows, found, f"make fidelity    # {words}", asked.write, keep=asked.keep)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m fidelity", description=__doc__, add_help=True)
    parser.add_argument("-n", type=int, default=10, help="how often each recording is replayed")
    parser.add_argument("-j", type=int, default=1, help="how many shapes at a time")
    parser.add_argument("--quick", action="store_true", help="only those of make test")
    parser.add_argument("--heavy", action="store_true", help="the agents of fidelity/heavy too")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="only this shape; may be repeated, and is tried in this order",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--keep", action="store_true", help="keep the page's rows of other shapes")
    return parser.parse_args()


def choose(asked: argparse.Namespace) -> list[Folder]:
    """The shapes that are asked for. Ends with 2 where one of them is none."""
    known = [*folders(), *(folders("heavy") if asked.heavy else ())]
    names = {folder.name for folder in known}
    for name in asked.only or ():
        if name not in names:
            print(
                f"fidelity: there is no shape {name}; there are: {', '.join(sorted(names))}", file=sys.stderr
            )
            raise SystemExit(2)
    wanted = [folder for folder in known if asked.only is None or folder.name in asked.only]
    wanted.sort(key=lambda folder: asked.only.index(folder.name) if asked.only else 0)
    return [folder for folder in wanted if folder.in_make_test or not asked.quick]


def row(folder: Folder, kit: Kit, user: User, times: int) -> Row:
    """Record and replay one shape."""
    began = datetime.now(UTC).strftime("%m-%d %H:%M")
    if missing := missing_for(folder, kit):
        return Row(folder, "", missing=missing, tried=began)
    with ExitStack() as stack:
        try:
            recording = stack.enter_context(recorded(folder, kit))
        except AssertionError as error:
            return Row(folder, str(error) or "the recorded run was not as meant", tried=began)
        faults = [replay(recording, kit, user, turn).fault(recording.out) for turn in range(times)]
        return Row(folder, "", tuple(faults), tried=began)


def missing_for(folder: Folder, kit: Kit) -> str:
    """What a shape needs and this machine has not."""
    program = folder.shape.program
    if program and not shutil.which(program, path=kit.user.env["PATH"]):
        return f"{program} is not on this machine"
    if folder.shape.agents and kit.agents is None:
        return "needs make .agents/.done"
    return "needs make .clients/.done" if folder.shape.packages and kit.packages is None else ""


def checked(kit: Kit, user: User) -> list[Control]:
    """Try the controls, and print what came of them."""
    found = []
    with recorded(subject(), kit) as recording:
        for control in controls(recording, kit, user):
            found.append(control)
            print(page.control_row(control), flush=True)
    return found


def verdict(rows: Sequence[Row], found: Sequence[Control]) -> int:
    """Say what is not as promised; 0 if nothing is, and there was something to say it of."""
    wrong = [one.folder.name for one in rows if not one.holds]
    unseen = [control.name for control in found if not control.seen]
    if wrong:
        print(f"not as promised: {', '.join(wrong)}")
    if unseen:
        print(f"controls that were not seen: {', '.join(unseen)}")
    return 0 if rows and found and not wrong and not unseen else 1


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())

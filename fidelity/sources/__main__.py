"""Records and replays the probes, and prints the table of sources: `python -m fidelity.sources`.

    python -m fidelity.sources [-j JOBS] [--only RUNTIME]... [--write FILE]

Exits with 1 if a source that is promised differs, or a program that no shim reached is not in the record.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fidelity.people import recorder, replayer
from fidelity.recording import Kit
from fidelity.shape import ROOT
from fidelity.sources import table
from fidelity.sources.cells import cell
from fidelity.sources.rows import SOURCES
from fidelity.sources.runs import REAL, bare, recorded_and_replayed
from fidelity.sources.runtimes import FINDERS
from fidelity.sources.table import Measured
from tests.support.user import User


def main() -> int:
    """Run what is asked for."""
    asked = arguments()
    os.umask(0o022)
    with recorder() as kit:
        user = replayer(kit.user)
        place = kit.user.home.parent / "runtimes"
        place.mkdir(mode=0o755)
        found: list[Measured] = []
        with ThreadPoolExecutor(asked.j) as pool:
            for one in pool.map(lambda name: measured(name, kit, user, place), asked.only or FINDERS):
                found.append(one)
                print(table.summary(one), flush=True)
                if asked.write:  # again after each: what was measured stays, if the rest is cut off
                    table.write(found, f"python -m fidelity.sources {' '.join(sys.argv[1:])}", asked.write)
    print("\n".join(table.lines(found)))
    return verdict(found)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m fidelity.sources", description=__doc__)
    parser.add_argument("-j", type=int, default=1, help="how many runtimes at a time")
    parser.add_argument("--only", action="append", choices=sorted(FINDERS), help="only this runtime")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table into this page")
    return parser.parse_args()


def measured(name: str, kit: Kit, user: User, place: Path) -> Measured:
    """One column."""
    runtime = FINDERS[name](kit, place)
    if runtime.missing:
        return Measured(runtime)
    try:
        pair = recorded_and_replayed(runtime, kit, user)
        controls = [bare(runtime, kit, user), recorded_and_replayed(runtime, kit, user, REAL)]
    except RuntimeError as error:
        return Measured(runtime, fault=str(error))
    told = pair.first.keys() | pair.second.keys()
    if unknown := told - SOURCES.keys():
        return Measured(runtime, fault=f"the probe tells of {sorted(unknown)}, of which there is no row")
    cells = {source: cell(name, source, pair, controls) for source in SOURCES}
    return Measured(runtime, cells, pair.reports, notified="clock notify" in pair.in_force)


def verdict(found: list[Measured]) -> int:
    """Say what is not as promised; 0 if nothing is."""
    wrong = [words for one in found for words in one.faults()]
    for words in wrong:
        print(f"not as promised: {words}")
    return 1 if wrong or not any(one.cells for one in found) else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())

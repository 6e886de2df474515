"""Traps 7 and 9: a boundary in which ordinary programs fail, or beside which there is no room for another.

The attack is the day's work: it succeeds if the work fails.
"""

import itertools
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from launcher import kernel, mounts, network, view
from launcher.trees import Tree
from tests.attacks.containment.programs import CALLER, inside
from tests.attacks.registry import Outcome, Verdict, add
from tests.launcher.rig import SYSTEM_PYTHON, apart, without

_add_devices: Final = mounts._add_devices


def _without_shared_memory(devices: Mapping[str, Tree], room: str) -> None:
    _add_devices(devices, room)
    kernel.unmount("./dev/shm")


NO_DEVICES: Final = without(mounts, "_add_devices", lambda _, room: _add_devices({}, room))
NO_SHARED_MEMORY: Final = without(mounts, "_add_devices", _without_shared_memory)
NO_SCRATCH: Final = without(view, "_scratch_paths", lambda *_: [])

POOL: Final = "import multiprocessing as m\nif m.Pool(1).map(abs, [-1]) != [1]: raise SystemExit(1)"
SHARED: Final = (
    "from multiprocessing.shared_memory import SharedMemory as S\ns = S(create=True, size=9)\ns.unlink()"
)
TEMPORARY: Final = "import tempfile\ntempfile.TemporaryFile(dir='/tmp').write(b'x')"
EVERYDAY: Final = {
    "a shell's `> /dev/null` fails": (["/bin/sh", "-c", "echo x > /dev/null"], NO_DEVICES),
    "a pool of processes fails": ([SYSTEM_PYTHON, "-I", "-c", POOL], NO_SHARED_MEMORY),
    "shared memory fails": ([SYSTEM_PYTHON, "-I", "-c", SHARED], NO_SHARED_MEMORY),
    "a temporary file fails": ([SYSTEM_PYTHON, "-I", "-c", TEMPORARY], NO_SCRATCH),
}


def _everyday(name: str, argv: list[str], taken_away: Any) -> None:
    program = f"""
import subprocess
done = subprocess.run({argv!r}, capture_output=True, text=True)
print("SUCCEEDED" if done.returncode else "REFUSED", done.stderr.strip().rpartition("\\n")[2])
"""
    add(7, name, lambda: inside(program), lambda: inside(program, change=taken_away))


for _name, (_argv, _taken_away) in EVERYDAY.items():
    _everyday(_name, _argv, _taken_away)


def _two_at_once() -> Outcome:
    """Build two networks of the same addresses, the first still in use when the second is made."""
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
    with ExitStack() as taken:
        for number in ("first", "second"):
            try:
                sockets, _ = network.build(0)
            except OSError as error:
                verdict = Verdict.SUCCEEDED if number == "second" else Verdict.UNKNOWN
                return Outcome(verdict, f"the {number}: {error}")
            for sock in sockets:
                taken.enter_context(sock)
    return Outcome.seen("both stand", succeeded=False)


def _on_the_callers_side() -> None:
    """Put each gateway's end into the namespace that the caller is in, as a bridge of the host would."""
    own, calls = network._namespace, itertools.count()
    shared: list[int] = []

    def namespace() -> int:
        if next(calls) % 2:
            return own()
        if not shared:
            shared.append(os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        os.setns(shared[0], os.CLONE_NEWNET)
        return os.dup(shared[0])

    without(network, "_namespace", namespace)()


def _apart(**options: Any) -> Outcome:
    outcome: Outcome = apart(_two_at_once, who=CALLER, **options)
    return outcome


add(9, "a second run finds its addresses taken", _apart, lambda: _apart(change=_on_the_callers_side))

"""What a command does before anything else when it is about to start an agent, and when it has started it.

Always: nothing is imported any more from a place that an earlier agent may have written to. What is loaded
on the way is not searched for garbage, since nearly all of it stays until the end.
"""

import gc
import sys
from typing import Any, cast

from hark import deferring
from hark.installation import isolate_imports


def begin() -> None:
    """Be careful where modules come from, and quick to load them. MUST be called before they are imported."""
    isolate_imports()
    deferring.install()


def hold_collector() -> None:
    """Search for no garbage until `release_collector`."""
    gc.disable()


def leave_out_tls() -> None:
    """Have the standard library's TLS loaded by nobody: a replay dials nothing, and who would does not load.

    The agent is spoken to by another library. What has it loaded already keeps it.
    """
    sys.modules.setdefault("ssl", cast(Any, None))


def make_networks() -> None:
    """Have the networks of the one run that this process will start made beside all else."""
    from launcher import ahead

    ahead.begin()


def release_collector() -> None:
    """Search again from now on, but never through what is there by now. Does nothing where it is not held."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()

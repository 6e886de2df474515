"""What of the caller's own limits a run cannot do without. `hark run` and `hark doctor` both ask here.

Always: only soft limits count, which are what the agent gets too; nothing is raised.
"""

import resource
from typing import Final

from hark.errors import ConfinementError

LEAST: Final = (
    ("open files", "n", resource.RLIMIT_NOFILE, 128),
    ("processes", "u", resource.RLIMIT_NPROC, 16),
    ("a file's bytes", "f", resource.RLIMIT_FSIZE, 2 << 20),
)
"""With ulimit's letter. Files: one for each grant while the boundary is built, and some thirty. Bytes: a log
of what the clock said has one MiB from the start; a record that outgrows the limit ends the run later."""


def check_limits() -> None:
    """Raise ConfinementError for a limit that no run would get by with."""
    for name, option, what, least in LEAST:
        soft, _ = resource.getrlimit(what)
        if soft != resource.RLIM_INFINITY and soft < least:
            raise ConfinementError(
                f"the limit of {name} is {soft} and has to be {least}: raise it with ulimit -{option}"
            )

"""`hark version`: what a bug report needs, in plain lines, without importing anything that costs time."""

import os
import sys
from typing import Final

import hark
from hark.cli.spec import Args, Spec

SPEC: Final = Spec(
    "version",
    "print the versions of hark, the bundle format, Python and the kernel",
)

FORMAT_VERSION: Final = 1  # hark.bundle would say it too, for the price of importing BLAKE3


def run(_args: Args) -> int:
    """Print the versions."""
    system = os.uname()
    print(f"hark {hark.__version__}")
    print(f"bundle format {FORMAT_VERSION}")
    print(f"{sys.implementation.name} {'.'.join(str(part) for part in sys.version_info[:3])}")
    print(f"{system.sysname} {system.release} {system.machine}")
    return 0

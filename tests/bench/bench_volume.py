"""What 300 MiB up and 1 GiB down cost in memory, through the real `hark run`, with every byte in the bundle.

Run by hand: `python -m tests.bench.bench_volume`. What is aimed at: 64 MB of growth at most. Prints numbers;
asserts nothing.
"""

import tempfile
from pathlib import Path
from typing import Final

from tests.e2e.rig import desk
from tests.support.user import ordinary_user
from tests.support.volume import measure

UP: Final = 300 << 20
DOWN: Final = 1 << 30


def main() -> None:
    """Measure once; most of the time goes into reading the bundle back."""
    with (
        ordinary_user() as user,
        tempfile.TemporaryDirectory(prefix="hark-bench-") as folder,
        desk(user, Path(folder)) as at,
    ):
        found = measure(at, up=UP, down=DOWN)
        size = at.bundle.stat().st_size
    print(
        f"{UP >> 20} MiB up and {DOWN >> 20} MiB down in {found.seconds:.1f} s: peak memory "
        f"{found.before / 1e6:.0f} MB before, {found.after / 1e6:.0f} MB after, grown by "
        f"{(found.after - found.before) / 1e6:.1f} MB; in the bundle {found.up >> 20} MiB up and "
        f"{found.down >> 20} MiB down, {size >> 20} MiB in all"
    )


if __name__ == "__main__":
    main()

"""The ceiling of connections follows the limit of open files, which is raised for this process alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from mediator.descriptors import EACH, RESERVED, WANTED, connections

ROOT = str(Path(__file__).resolve().parents[2])
PROGRAM = """
import resource, sys
sys.path.insert(0, {root!r})
from mediator import descriptors
descriptors.WANTED = 500
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(descriptors.raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("limit", "room"), [(1024, 384), (1 << 20, (WANTED - RESERVED) // EACH), (16, 1)])
def test_the_ceiling_leaves_room_for_the_rest(limit: int, room: int) -> None:
    assert connections(limit) == room


@pytest.mark.parametrize(
    ("soft", "hard", "now"), [(256, 300, 300), (300, 300, 300), (256, 900, 500), (600, 900, 600)]
)
def test_the_soft_limit_is_raised_toward_the_hard_one_and_never_lowered(
    soft: int, hard: int, now: int
) -> None:
    program = PROGRAM.format(root=ROOT, soft=soft, hard=hard)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(now), str(now), str(hard)]

"""Seeds that bash makes of process numbers: $RANDOM is the same again whatever else was started meanwhile."""

import pytest

from tests.shims.rig import python

pytestmark = pytest.mark.attack

BESIDE = """
import subprocess, threading
def others():
    for _ in range({count}): subprocess.run(["/bin/true"])
beside = threading.Thread(target=others)
beside.start()
beside.join()
subprocess.run(["/bin/bash", "-c", "echo $RANDOM $(echo $RANDOM) $RANDOM; echo $$ $BASHPID $PPID"])
"""


def test_random_of_bash_does_not_follow_from_its_number() -> None:
    alone, beside = (python(BESIDE.format(count=count)).out.splitlines() for count in (0, 3))
    assert alone[0] == beside[0]
    assert len(set(alone[0].split())) == 3
    assert alone[1] != beside[1], "the control: with others beside it, its number is another"


def test_bash_knows_its_own_number() -> None:
    numbers = python(BESIDE.format(count=0)).out.splitlines()[1].split()
    assert numbers[0] == numbers[1]
    assert 0 < int(numbers[2]) < int(numbers[0]) < 100


def test_another_seed_is_another_random() -> None:
    drawn = [python(BESIDE.format(count=0), seed=bytes([byte]) * 32).out.splitlines()[0] for byte in (1, 2)]
    assert drawn[0] != drawn[1]

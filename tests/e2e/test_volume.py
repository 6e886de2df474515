"""Memory does not grow with bodies: a bound far above the aim, which tests/bench/bench_volume.py measures."""

import pytest

from tests.e2e.rig import Desk
from tests.support.volume import measure

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

UP = 96 << 20
DOWN = 256 << 20


def test_large_bodies_pass_and_are_recorded_without_filling_memory(rootless: Desk):
    found = measure(rootless, up=UP, down=DOWN)
    assert found.up == UP
    assert DOWN <= found.down <= DOWN + (1 << 20)
    assert found.after - found.before < 96 << 20

"""numpy under the Python shim: it has generators of its own, which draw as the task's others do."""

from pathlib import Path

import pytest

from tests.clients.kit import FETCHED
from tests.shims.test_sitecustomize import Place

pytestmark = pytest.mark.clients

DRAWS = "import numpy; print(numpy.random.default_rng().random(), numpy.random.SeedSequence().entropy)"


def test_numpys_generators_draw_by_task(tmp_path: Path) -> None:
    place, other = Place(tmp_path / "one"), Place(tmp_path / "other")
    other.page(bytes(32))
    packages = str(FETCHED / "py")
    first = place.out(DRAWS, path=packages)
    assert len(first.split()) == 2
    assert place.out(DRAWS, path=packages) == first
    assert other.out(DRAWS, path=packages) != first  # the control

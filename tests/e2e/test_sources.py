"""Sources of time, chance and order, recorded and replayed (`fidelity.sources`): shell, Python, no shim."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fidelity.people import replayer
from fidelity.recording import Kit
from fidelity.sources.cells import State, cell
from fidelity.sources.rows import SOURCES
from fidelity.sources.runs import REAL, bare, recorded_and_replayed
from fidelity.sources.runtimes import FINDERS
from tests.support.user import User

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def seen() -> Iterator[Path]:
    """A folder that the user may look into, as pytest's own is not: what is compiled is run from there."""
    with tempfile.TemporaryDirectory(prefix="hark-sources-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    ("name", "equal"),
    [("bash", 16), ("CPython 3.11", 16), ("static C", 10), ("Go", 8)],
    ids=lambda one: f"{one}",
)
def test_a_replay_finds_in_every_source_what_was_recorded(
    name: str, equal: int, unprivileged: User, seen: Path
) -> None:
    kit = Kit(unprivileged, None)
    runtime = FINDERS[name](kit, seen)
    if runtime.missing:
        pytest.skip(runtime.missing)
    pair = recorded_and_replayed(runtime, kit, replayer(unprivileged))
    controls = [bare(runtime, kit, replayer(unprivileged))]
    cells = {source: cell(name, source, pair, controls) for source in SOURCES}
    assert {source: one.why for source, one in cells.items() if not one.holds} == {}
    assert sum(one.state is State.EQUAL for one in cells.values()) >= equal


def test_without_shims_the_sources_differ(unprivileged: User, tmp_path: Path) -> None:
    kit = Kit(unprivileged, None)
    pair = recorded_and_replayed(FINDERS["bash"](kit, tmp_path), kit, replayer(unprivileged), REAL)
    same = {source for source, value in pair.first.items() if pair.second[source] == value}
    assert not same & {"wall", "wall.date", "chance.srandom", "chance.openssl", "/dev/urandom"}

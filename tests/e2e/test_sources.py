"""Sources of time, chance and order, recorded and replayed, in bash and one Python (`fidelity.sources`)."""

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


@pytest.mark.parametrize("name", ["bash", "CPython 3.11"])
def test_a_replay_finds_in_every_source_what_was_recorded(
    name: str, unprivileged: User, tmp_path: Path
) -> None:
    kit = Kit(unprivileged, None)
    runtime = FINDERS[name](kit, tmp_path)
    if runtime.missing:
        pytest.skip(runtime.missing)
    pair = recorded_and_replayed(runtime, kit, replayer(unprivileged))
    controls = [bare(runtime, kit, replayer(unprivileged))]
    cells = {source: cell(name, source, pair, controls) for source in SOURCES}
    assert {source: one.why for source, one in cells.items() if not one.holds} == {}
    assert sum(one.state is State.EQUAL for one in cells.values()) > 15


def test_without_shims_the_sources_differ(unprivileged: User, tmp_path: Path) -> None:
    kit = Kit(unprivileged, None)
    pair = recorded_and_replayed(FINDERS["bash"](kit, tmp_path), kit, replayer(unprivileged), REAL)
    same = {source for source, value in pair.first.items() if pair.second[source] == value}
    assert not same & {"wall", "wall.date", "chance.srandom", "chance.openssl", "/dev/urandom"}

"""A bundle that is read again is the one that was verified, whatever was done to the file between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.bundle.bounds import RunStart
from hark.bundle.walk import BundleFile
from hark.errors import ReplayError
from hark.unchanged import Unchanged
from hark.verify.steps import verify
from tests.support.recordings import HEADER, PROJECT, bundle
from tests.support.rerecorded import retell, told, write

INPUTS = tuple(ev.Input("stdin", bytes([letter])) for letter in b"abcdef")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return bundle(tmp_path / "run.hark", *INPUTS)


def bytes_of(path: str, seq: int) -> tuple[int, int]:
    """Where an event's payload lies in the file."""
    with BundleFile(path) as file:
        placed = [*file.frames()][seq]
    return placed.offset + 53, len(placed.frame.payload)


def overwrite(path: str, at: int, data: bytes) -> None:
    whole = bytearray(Path(path).read_bytes())
    whole[at : at + len(data)] = data
    Path(path).write_bytes(whole)


def test_what_was_verified_is_yielded_each_time(path: str) -> None:
    file = Unchanged(path, verify(path))
    first = list(file.frames())
    assert [frame.seq for frame in first] == list(range(len(told(path)) + 1))
    assert list(file.frames()) == first


@pytest.mark.attack
@pytest.mark.parametrize("readings", [0, 1])
def test_an_event_changed_in_the_middle_is_noticed_though_all_after_it_is_as_it_was(
    path: str, readings: int
) -> None:
    file = Unchanged(path, verify(path))
    for _ in range(readings):
        list(file.frames())
    at, size = bytes_of(path, 5)
    overwrite(path, at, Path(path).read_bytes()[at : at + size].replace(b"b", b"X"))
    with pytest.raises(ReplayError, match="was changed while it was read"):
        list(file.frames())


@pytest.mark.attack
def test_a_time_that_was_changed_is_noticed(path: str) -> None:
    file = Unchanged(path, verify(path))
    at, _ = bytes_of(path, 5)
    overwrite(path, at - 40, (77).to_bytes(8))
    with pytest.raises(ReplayError, match="was changed"):
        list(file.frames())


@pytest.mark.attack
def test_a_time_of_a_record_that_breaks_off_is_noticed_from_the_first_reading_on(tmp_path: Path) -> None:
    path = bundle(tmp_path / "run.hark", *INPUTS, seal=False, end=None)
    file = Unchanged(path, verify(path))
    list(file.frames())
    at, _ = bytes_of(path, 5)
    overwrite(path, at - 40, (77).to_bytes(8))
    with pytest.raises(ReplayError, match="was changed"):
        list(file.frames())


@pytest.mark.attack
def test_an_event_that_was_taken_out_since_is_noticed(path: str) -> None:
    file = Unchanged(path, verify(path))
    at, size = bytes_of(path, 5)
    whole = bytearray(Path(path).read_bytes())
    whole[at - 53 : at - 49] = bytes(4)
    del whole[at : at + size]
    Path(path).write_bytes(whole)
    with pytest.raises(ReplayError, match="was changed"):
        list(file.frames())


@pytest.mark.attack
@pytest.mark.parametrize("what", ["another", "shorter", "none", "a folder"])
def test_another_file_in_its_place_is_noticed(tmp_path: Path, path: str, what: str) -> None:
    file = Unchanged(path, verify(path))
    if what == "another":
        evil = RunStart(argv=("evil",), working_dir=PROJECT)
        retell(path, path, lambda events: [(0, evil), *events[1:]])
    elif what == "shorter":
        write(path, told(path)[:5], HEADER, seal=False)
    else:
        Path(path).unlink()
    if what == "a folder":
        Path(path).mkdir()
    with pytest.raises(ReplayError, match="was changed"):
        list(file.frames())


@pytest.mark.attack
def test_whoever_stops_early_is_told_of_a_change_behind_it(path: str) -> None:
    file = Unchanged(path, verify(path))

    def taken() -> Iterator[int]:
        with file.through() as frames:
            yield next(frames).seq

    assert list(taken()) == [0]
    at, size = bytes_of(path, 7)
    overwrite(path, at, bytes(size))
    with pytest.raises(ReplayError, match="was changed"):
        list(taken())

"""How a record is ended and brought to its place, and what is said where it cannot be."""

from pathlib import Path

import pytest

from hark.bundle.writer import Writer
from hark.errors import RecordError
from hark.running.delivery import Delivery
from hark.running.keeping import find_place
from hark.verify.result import VERIFIED
from hark.verify.steps import verify
from tests.support.recordings import HEADER, recording


class Ending:
    """One record that is about to be ended, beside what is said of it."""

    def __init__(self, home: Path) -> None:
        self.said: list[str] = []
        (home / "out").mkdir()
        self.asked = str(home / "out/run.hark")
        self.place = find_place(self.asked, None, {"HOME": str(home)}, lambda _: None)
        self.delivery = Delivery(self.place, self.said.append)
        self.delivery.hold()
        self.writer = Writer.create(self.place.path, HEADER)
        for _, event in recording(end=None):
            self.writer.append(event)

    def seal(self, said: str | None = None) -> bool:
        return self.delivery.seal(self.writer, "exited", 0, said=said)


@pytest.fixture
def ending(tmp_path: Path) -> Ending:
    return Ending(tmp_path)


def test_a_record_that_is_sealed_lies_where_it_was_asked_for(ending: Ending) -> None:
    assert not ending.delivery.is_moved
    assert ending.seal()
    assert ending.delivery.is_moved
    assert ending.delivery.lies_at == ending.asked
    assert not Path(ending.place.path).exists()
    verified = verify(ending.asked)
    assert verified.verdict == VERIFIED
    assert ending.said == [f"recorded {verified.events} events in {ending.asked}"]
    assert ending.delivery.failure is None


def test_one_that_cannot_be_moved_is_whole_where_it_lies(ending: Ending) -> None:
    Path(ending.asked).write_bytes(b"somebody else's")
    assert not ending.seal()
    assert not ending.delivery.is_moved
    assert verify(ending.delivery.lies_at).verdict == VERIFIED
    assert ending.place.path in ending.said[-1]
    assert ending.delivery.failure is None


@pytest.mark.parametrize("said", [None, "the disk is full"], ids=["news", "said already"])
def test_one_that_cannot_be_sealed_says_why_once(
    ending: Ending, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    def full(*_: object) -> None:
        raise RecordError("the disk is full")

    monkeypatch.setattr(Writer, "seal", full)
    assert not ending.seal(said)
    failure = "the record was not sealed" + ("" if said else ": the disk is full")
    assert ending.delivery.failure == failure
    assert ending.said == [f"{failure}; what there is lies in {ending.place.path}"]
    ending.writer.close()

"""One reading makes facts, links, conversation and list."""

import io
from pathlib import Path

import pytest

from hark.bundle.frame import Frame
from hark.errors import BundleError
from hark.report.making import Made, pieces
from tests.hark.report.story import made


def test_one_reading_gives_all_parts(tmp_path: Path) -> None:
    talk, listed = io.StringIO(), io.StringIO()
    read = made(tmp_path / "run.hark", talk=talk, listed=listed)
    assert read.facts.exchanges == 3
    assert read.links.found
    assert talk.getvalue().count("<article") == 2
    assert 'id="e0"' in listed.getvalue()
    assert "".join(pieces(talk)) == talk.getvalue()


def test_an_event_that_was_taken_out_is_none_and_one_that_cannot_be_read_is_named() -> None:
    empty = Frame(3, 5, 0, bytes(32), b"", bytes(32))
    read = Made()
    read.read([empty])
    assert (read.facts.events, read.facts.kinds[3]) == (1, 1)
    with pytest.raises(BundleError, match="event 5"):
        read.read([empty._replace(payload=b"\xff")])

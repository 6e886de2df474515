"""Two bundles read by two processes are what one would have read."""

import os

import pytest

from hark.bundle import events as ev
from hark.diff import reading
from hark.diff.align import rows
from hark.diff.side import both
from hark.errors import BundleError
from tests.hark.cli import sample


def another(event):
    return event._replace(data=b"\xff\x01binary") if isinstance(event, ev.LlmResponseChunk) else event


@pytest.fixture
def pair(tmp_path):
    one = sample.write(tmp_path / "a.hark")
    return str(one), str(sample.write(tmp_path / "b.hark", tuple(map(another, sample.EVENTS))))


@pytest.fixture
def two(monkeypatch):
    """There is room for a second process; which were started."""
    started: list[int] = []
    fork = os.fork

    def noted():
        if pid := fork():
            started.append(pid)
        return pid

    monkeypatch.setattr(reading, "PAYS", 1)
    monkeypatch.setattr(reading, "spare_workers", lambda: 1)
    monkeypatch.setattr(os, "fork", noted)
    return started


def _refused():
    raise BlockingIOError("no more processes")


def test_two_processes_read_what_one_reads(pair, two, monkeypatch):
    by_two = reading.read_both(*pair)
    assert len(two) == 1
    with monkeypatch.context() as refusing:
        refusing.setattr(os, "fork", _refused)
        assert reading.read_both(*pair) == by_two
    monkeypatch.setattr(reading, "spare_workers", lambda: 0)
    assert reading.read_both(*pair) == by_two
    assert len(two) == 1
    assert by_two[0] != by_two[1]
    with both(*pair) as (a, b):
        assert [row.equal for row in rows(a.streams, b.streams)].count(False) == 1


def test_a_process_without_an_answer_is_made_up_for(pair, two, monkeypatch):
    whole = reading.read_both(*pair)
    monkeypatch.setattr(reading, "_read_and_leave", lambda _path, _out: os._exit(1))
    assert reading.read_both(*pair) == whole
    assert len(two) == 2


@pytest.mark.parametrize("which", [0, 1])
def test_a_broken_bundle_is_named_whichever_process_meets_it_and_none_is_left(pair, two, which):
    with open(pair[which], "r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(data.replace(b"agent.py", b"AGENT.py"))
    with pytest.raises(BundleError, match=f"nothing is compared with {pair[which]}"):
        reading.read_both(*pair)
    with pytest.raises(ChildProcessError):
        os.waitpid(two[0], 0)

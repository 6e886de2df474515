"""How two bundles are related."""

import pytest

from hark.bundle import events as ev
from hark.diff.lineage import sentences
from hark.diff.side import Side
from tests.support import recordings


@pytest.fixture
def parent(tmp_path):
    return recordings.bundle(tmp_path / "parent.hark")


def test_a_fork_and_its_parent_and_two_forks_of_one_are_told(tmp_path, parent):
    with Side(parent) as a:
        root = a.verified.root
        name = f"{root.hex()[:12]}..."
        branch = ev.Branch(root, 4, "response", note="strip \x1b it", exchange=1)
        first = recordings.bundle(tmp_path / "first.hark", branch)
        second = recordings.bundle(tmp_path / "second.hark", branch._replace(note="other"))
        with Side(first) as b, Side(second) as c:
            assert list(sentences(a, b)) == [
                "B is a fork of A from its event 4 on (response), confirmed by its root: strip \\e it"
            ]
            assert list(sentences(b, a)) == [
                "A is a fork of B from its event 4 on (response), confirmed by its root: strip \\e it"
            ]
            assert list(sentences(b, c)) == [
                f"both claim to be forks of the run with root {name} from its event 4 on (response)",
                "A: strip \\e it",
                "B: other",
            ]
            assert list(sentences(a, a)) == []


def test_an_event_that_the_parent_has_not_is_a_claim(tmp_path, parent):
    with Side(parent) as a:
        branch = ev.Branch(a.verified.root, a.verified.events, "response")
        with Side(recordings.bundle(tmp_path / "fork.hark", branch)) as b:
            (told,) = sentences(a, b)
    assert told.startswith("B claims to be a fork of A from its event ")
    assert told.endswith(" (response), an event that A has not")


def test_each_branch_is_told_once_however_many_there_are(tmp_path):
    branches = [ev.Branch(b"p" * 32, 4, "response", note=str(number)) for number in range(300)]
    path = recordings.bundle(tmp_path / "many.hark", *branches)
    with Side(path) as a, Side(path) as b:
        assert [line for line in sentences(a, b) if line[:2] in ("A:", "B:")] == ["A: 0", "B: 0"]

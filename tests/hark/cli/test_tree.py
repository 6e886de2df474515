"""`hark tree` as a user runs it."""

import json

import pytest

from hark.bundle import events as ev
from hark.bundle.header import Header
from hark.tree import look
from tests.hark.cli.program import hark
from tests.support.recordings import RUN, STARTED, recording
from tests.support.rerecorded import write


@pytest.fixture
def forest(tmp_path):
    folder = tmp_path / "bundles"
    folder.mkdir()
    root = look(str(write(folder / "a.hark", recording(), Header(RUN, STARTED, "hark test")))).root
    header = Header(RUN, STARTED + 1, "hark test", parent_root=root, fork_point=7)
    write(folder / "b.hark", recording(ev.Branch(root, 7, "response", note="strip \x1b it")), header)
    lost = header._replace(parent_root=b"\x07" * 32)
    write(folder / "c.hark", recording(), lost)
    return folder


def test_a_fork_stands_below_its_parent_with_its_note(forest):
    code, out, err = hark("tree", forest)
    assert (code, err) == (0, "")
    ended = "the run ended with exit code 0, 0 requests, 0.0 s"
    assert out.splitlines() == [
        f"a.hark  {ended}, true",
        f"  b.hark  FORK from event 7 (response) (confirmed): strip \\e it, {ended}",
        f"c.hark  claims to be a FORK from event 7 of 070707070707..., which is not here, {ended}, true",
    ]


def test_the_same_as_json(forest):
    records = [json.loads(line) for line in hark("tree", "-json", forest).out.splitlines()]
    assert [(one["depth"], one["parent_is_here"], one["fork_point"]) for one in records] == [
        (0, False, None),
        (1, True, 7),
        (0, False, 7),
    ]
    assert records[1]["parent"] == records[0]["root"]
    assert [one["parent_confirmed"] for one in records] == [False, True, False]
    assert {one["verified"] for one in records} == {False}


def test_no_bundles_are_no_error_and_no_directory_is(tmp_path):
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert hark("tree", env=env) == (0, "", f"hark: no runs in {tmp_path}/state/hark/runs\n")
    assert hark("tree", tmp_path)[:2] == (0, "")
    assert hark("tree", tmp_path / "none").code == 2


@pytest.mark.parametrize("which", ["a.hark", "b.hark"])
def test_a_parent_is_no_more_than_claimed_where_either_bundle_does_not_verify(forest, which):
    path = forest / which
    path.write_bytes(path.read_bytes().replace(b"true", b"TRUE", 1))  # what was run
    line = hark("tree", forest).out.splitlines()[1]
    assert line.startswith("  b.hark  claims to be a FORK from event 7 (response): strip")

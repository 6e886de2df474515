"""Bundles as a graph, by what their headers and footers say."""

import os

import pytest

from hark.bundle import events as ev
from hark.bundle.header import Header
from hark.errors import UsageError
from hark.tree import Node, bundles, graph, look
from tests.support.recordings import RUN, STARTED, recording
from tests.support.rerecorded import write


def names(nodes):
    return [(placed.depth, placed.node.path, placed.orphan) for placed in graph(nodes)]


def node(path, root, parent=b"", at=0):
    return Node(path, "run", at, root, parent)


def test_a_fork_stands_below_its_parent_and_its_own_forks_below_it():
    nodes = [node("c", b"3", b"2", 3), node("b", b"2", b"1", 2), node("a", b"1"), node("d", b"4", b"1", 9)]
    assert names(nodes) == [(0, "a", False), (1, "b", False), (2, "c", False), (1, "d", False)]


def test_a_parent_that_is_not_here_leaves_an_orphan():
    assert names([node("b", b"2", b"1")]) == [(0, "b", True)]


def test_bundles_that_claim_to_be_their_own_ancestors_stand_there_once():
    nodes = [node("a", b"1", b"2"), node("b", b"2", b"1"), node("c", b"3", b"3")]
    assert sorted(path for _, path, _ in names(nodes)) == ["a", "b", "c"]


def test_a_chain_as_deep_as_anybody_likes_is_walked():
    nodes = [
        node(f"{at:05}", bytes([1]) + at.to_bytes(4), bytes([1]) + (at - 1).to_bytes(4))
        for at in range(1, 5000)
    ]
    assert names(nodes)[-1][:2] == (4998, "04999")


def test_a_bundle_is_looked_at(tmp_path):
    parent = look(str(write(tmp_path / "a.hark", recording(), Header(RUN, STARTED, "hark test"))))
    assert parent is not None
    assert (parent.command, parent.parent, parent.requests) == (("true",), b"", 0)
    header = Header(RUN, STARTED, "hark test", parent_root=parent.root, fork_point=7)
    branch = ev.Branch(parent.root, 7, "request", note="why")
    request = ev.LlmRequest("api.example", "GET", "/", exchange=1)
    write(tmp_path / "b.hark", recording(branch, request), header)
    (tmp_path / "c.hark").write_bytes(b"junk")
    found = bundles(str(tmp_path))
    assert [(one.path[-6:], one.fork_point, one.note, one.requests) for one in found] == [
        ("a.hark", 0, "", 0),
        ("b.hark", 7, "why", 1),
        ("c.hark", 0, "", 0),
    ]
    assert [one.unreadable for one in found] == [False, False, True]
    assert sorted(depth for depth, _, _ in names(found)) == [0, 0, 1]
    assert look(str(tmp_path / "gone.hark")) is None


def test_a_replay_stands_below_what_it_replays(tmp_path):
    parent = look(str(write(tmp_path / "a.hark", recording(), Header(RUN, STARTED, "hark test"))))
    assert parent is not None
    said = ev.Determinism(b"s" * 32, (), parent.root)
    write(tmp_path / "b.hark", recording(said), Header(RUN, STARTED, "hark test"))
    (_, below) = graph(bundles(str(tmp_path)))
    assert (below.depth, below.node.replay) == (1, True)


@pytest.mark.attack
def test_a_file_of_nothing_as_large_as_a_disk_is_said_and_not_read_to_its_end(tmp_path):
    path = write(tmp_path / "run.hark", recording(), Header(run_id=RUN), seal=False)
    (whole,) = bundles(str(tmp_path))
    assert not whole.unreadable  # the control
    os.truncate(path, 1 << 40)
    said = []
    (node,) = bundles(str(tmp_path), said.append)
    assert node.unreadable
    assert said == [f"looking at {path}, 1024 GiB; Ctrl-C ends it"]


def test_a_directory_that_is_not_there_is_usage(tmp_path):
    with pytest.raises(UsageError, match="name a directory"):
        bundles(str(tmp_path / "none"))

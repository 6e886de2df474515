from hark.bundle import walk
from hark.bundle.events import kind_of
from hark.bundle.walk import BundleFile
from hark.verify.facts import gather
from tests.hark.bundle.bundles import EVENTS, write


def test_facts_say_what_the_frames_hold(tmp_path, monkeypatch):
    for size in (64, 1 << 18):
        monkeypatch.setattr(walk, "CHUNK", size)
        path = tmp_path / str(size)
        with BundleFile(str(write(path))) as file:
            facts = gather(file, 0)
        assert (facts.events, facts.end, facts.fault, facts.seals) == (
            len(EVENTS) + 1,
            walk.AT_FOOTER,
            None,
            1,
        )
        assert facts.counts == {kind_of(event): 1 for event in EVENTS}
        assert (facts.start.seq, facts.run_end.seq, facts.last.seq) == (0, 4, 5)


def test_a_bundle_without_events_has_no_bounds(tmp_path):
    (tmp_path / "b").write_bytes(b"HARK\x01\x00\x00\x00\x01\xa0")
    with BundleFile(str(tmp_path / "b")) as file:
        facts = gather(file, 0)
    assert (facts.events, facts.start, facts.run_end, facts.last, facts.counts) == (0, None, None, None, {})

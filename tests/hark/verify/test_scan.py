import pytest

from hark.bundle.hashing import ZERO_HASH
from hark.bundle.mmr import Mmr
from hark.bundle.sha256tree import Tree
from hark.bundle.synth import synthesize
from hark.bundle.walk import BundleFile
from hark.verify.scan import BLOCK, Scan, merge, scan_segment


@pytest.mark.parametrize("count", [3, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_blocks_and_what_is_left_merge_to_the_root_of_all_leaves(tmp_path, count):
    synthesize(str(tmp_path / "b"), count, 40)
    with BundleFile(str(tmp_path / "b")) as file:
        scan = scan_segment(file, file.first, 0, count, ZERO_HASH)
        one, other, tree = Mmr(), Mmr(), Tree()
        merge(one, tree, scan)
        for placed in file.frames():
            other.append(placed.frame.leaf)
    assert (len(scan.tops), len(scan.leaves)) == divmod(count, BLOCK)
    assert (scan.fault, scan.seq) == (None, count)
    assert one.root() == other.root()


def test_a_scan_without_a_root_checks_as_much_and_keeps_no_leaf(tmp_path):
    synthesize(str(tmp_path / "b"), BLOCK + 9, 40)
    with BundleFile(str(tmp_path / "b")) as file:
        rooted, alone = Scan(0, ZERO_HASH), Scan(0, ZERO_HASH, rooted=False)
        for chunk in file.walk():
            assert rooted.check(chunk) is alone.check(chunk) is True
    assert (alone.seq, alone.chain, alone.fault) == (rooted.seq, rooted.chain, None)
    assert (alone.tops, alone.leaves) == ([], [])
    data = bytearray((tmp_path / "b").read_bytes())
    data[-200] ^= 1
    (tmp_path / "b").write_bytes(data)
    with BundleFile(str(tmp_path / "b")) as file:
        faults = []
        for scan in (Scan(0, ZERO_HASH), Scan(0, ZERO_HASH, rooted=False)):
            for chunk in file.walk(limit=BLOCK + 9):
                if not scan.check(chunk):
                    break
            faults.append(scan.fault)
    assert faults[0] == faults[1]


def test_a_scan_stops_at_the_first_fault(tmp_path):
    synthesize(str(tmp_path / "b"), 9, 40)
    with BundleFile(str(tmp_path / "b")) as file:
        scan = Scan(1, ZERO_HASH)
        assert [scan.check(chunk) for chunk in file.walk()] == [False]
        assert (scan.fault.seq, scan.fault.step, scan.fault.nature, scan.fault.offset) == (
            1,
            4,
            "splice",
            file.first,
        )

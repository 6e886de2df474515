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

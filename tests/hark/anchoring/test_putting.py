import os

import pytest

from demo import translog
from hark.anchoring import putting
from hark.anchoring.making import Anchoring
from hark.anchoring.putting import put, put_head
from hark.anchoring.services import configured
from hark.bundle.anchor import MAX_ANCHORS, Anchor
from hark.bundle.footing import change_footer, footer_of
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, HarkError, UsageError
from hark.verify import VERIFIED, verify
from hark.verify.anchor import Trust
from tests.hark.bundle.bundles import EVENTS, KEY, OTHER_KEY, write


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    with translog.serving(folder) as served:
        yield served


@pytest.fixture
def asked(log):
    services = configured(log.signing_config.read_bytes(), log.clock().timestamp())
    return Anchoring(services, Trust(log.trusted_root.read_bytes()))


def footer(path):
    with BundleFile(str(path)) as file:
        return footer_of(file)[1]


def test_a_sealed_bundle_is_anchored_and_nothing_else_in_it_changes(tmp_path, asked):
    path = write(tmp_path / "b")
    before = footer(path)
    put(str(path), KEY, asked)
    put(str(path), KEY, asked)
    after = footer(path)
    assert after._replace(anchors=()) == before
    assert len(after.anchors) == 2
    result = verify(str(path), [KEY.public_key], trust=asked.trust)
    assert (result.verdict, result.anchored) == (VERIFIED, True)


def refused(path, asked, log, signer=KEY):
    before, entries = path.read_bytes(), len(log.v2.bodies)
    with pytest.raises(HarkError) as caught:
        put(str(path), signer, asked)
    assert path.read_bytes() == before
    assert len(log.v2.bodies) == entries  # nothing became public
    return str(caught.value)


def test_what_would_fail_later_is_refused_before_anything_is_public(tmp_path, asked, log):
    cut = write(tmp_path / "cut")
    os.truncate(cut, cut.stat().st_size - 5)
    assert "is not sealed" in refused(cut, asked, log)
    broken = write(tmp_path / "broken")
    broken.write_bytes(broken.read_bytes().replace(b"a.example", b"b.example"))
    assert "BROKEN" in refused(broken, asked, log)
    assert "not signed" in refused(write(tmp_path / "unsigned", key=None), asked, log)
    assert "-key" in refused(write(tmp_path / "other", key=OTHER_KEY), asked, log)
    assert "-key" in refused(write(tmp_path / "keyless"), asked, log, None)
    readonly = write(tmp_path / "readonly")
    readonly.chmod(0o400)
    assert "chmod u+w" in refused(readonly, asked, log)


def test_a_bundle_has_room_for_so_many(tmp_path, asked, log):
    path = write(tmp_path / "b")
    change_footer(str(path), lambda found: found._replace(anchors=(Anchor(b"{}"),) * MAX_ANCHORS))
    before = len(log.v2.bodies)
    with pytest.raises(UsageError, match=f"has {MAX_ANCHORS} anchors"):
        put_head(str(path), KEY, asked)
    assert len(log.v2.bodies) == before


def test_another_bundle_in_its_place_is_not_anchored(tmp_path, asked, monkeypatch):
    path, other = write(tmp_path / "b"), write(tmp_path / "other", EVENTS[:3])
    head = footer(path).tree_head
    with pytest.raises(BundleError, match="not the bundle that was sealed"):
        put_head(str(other), KEY, asked, head)
    real = putting.make

    def swapped(*args):
        made = real(*args)
        os.replace(other, path)
        return made

    monkeypatch.setattr(putting, "make", swapped)
    with pytest.raises(BundleError, match="changed while it was anchored"):
        put(str(path), KEY, asked)
    assert footer(path).anchors == ()

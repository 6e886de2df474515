"""A bundle as a side of a comparison: verified first, and read as it was verified."""

import pytest

from hark.diff import side as side_module
from hark.diff.side import Side
from hark.errors import BundleError
from tests.hark.cli import sample


def test_a_bundle_is_read_and_an_action_read_again(tmp_path):
    path = str(sample.write(tmp_path / "a.hark"))
    with Side(path) as side:
        (action,) = [one for found in side.streams.actions.values() for one in found if one.exchange == 1]
        found = side.content(action)
    assert side.start.argv == ("python", "agent.py")
    assert (bytes(found.data), found.status) == (b"\xff\x00binary", 200)
    assert found.request is not None
    assert found.request.name == "POST api.example/v1/chat"


def test_a_broken_bundle_is_refused(tmp_path):
    path = tmp_path / "a.hark"
    sample.write(path)
    path.write_bytes(path.read_bytes().replace(b"binary", b"bINary"))
    with pytest.raises(BundleError, match=r"does not verify: BROKEN"):
        Side(str(path))


def test_an_event_that_was_changed_behind_the_first_reading_is_an_error(tmp_path):
    path = tmp_path / "a.hark"
    sample.write(path)
    with Side(str(path)) as side:
        data = path.read_bytes()
        with path.open("r+b") as file:
            file.write(data.replace(b"binary", b"bINary"))
        (action,) = [one for found in side.streams.actions.values() for one in found if one.exchange == 1]
        with pytest.raises(BundleError, match="was changed while it was read"):
            side.content(action)


def test_a_request_is_read_again_only_where_it_is_asked_for_and_reading_ahead_changes_nothing(
    tmp_path, monkeypatch
):
    path = str(sample.write(tmp_path / "a.hark"))
    found = {}
    for ahead in (0, 1 << 16):
        monkeypatch.setattr(side_module, "AHEAD", ahead)
        with Side(path) as side:
            done = [one for many in side.streams.actions.values() for one in many]
            found[ahead] = [side.content(one, asked=asked) for one in done for asked in (True, False)]
    assert found[0] == found[1 << 16]
    whole, without = next(pair for pair in zip(found[0][::2], found[0][1::2], strict=True) if pair[0].request)
    assert without.request is None
    assert (without.data, without.status, without.headers) == (whole.data, whole.status, whole.headers)

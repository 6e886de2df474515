"""Trap of every helper that comes after the work is done: that its failure undoes the work."""

import signal

import pytest

from hark.anchoring import putting
from hark.anchoring.making import Anchoring
from hark.anchoring.sealed import anchored
from hark.anchoring.services import named
from hark.bundle.footing import footer_of
from hark.bundle.walk import BundleFile
from hark.errors import UpstreamError
from tests.hark.bundle.bundles import KEY, write


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (UpstreamError("no answer"), "no answer"),
        (OSError("disk"), "disk"),
        (KeyError(), "KeyError"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_whatever_fails_is_two_sentences_and_the_bundle_is_as_it_was(tmp_path, monkeypatch, error, why):
    path = write(tmp_path / "b")
    before = path.read_bytes()
    with BundleFile(str(path)) as file:
        head = footer_of(file)[1].tree_head

    def fail(*_):
        raise error

    monkeypatch.setattr(putting, "make", fail)
    own = "-rekor=https://log.example", "-key=my key"
    said = anchored(str(path), KEY, Anchoring(named("https://log.example", ()), words=own), head)
    assert why in said[0]
    assert said[0].startswith("not anchored: ")
    assert f"hark anchor -rekor=https://log.example '-key=my key' {path} tries again" in said[1]
    assert path.read_bytes() == before


def test_signals_that_were_the_agents_end_the_waiting_and_are_put_back(tmp_path, monkeypatch):
    path = write(tmp_path / "b")
    with BundleFile(str(path)) as file:
        head = footer_of(file)[1].tree_head
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    monkeypatch.setattr(putting, "make", lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        said = anchored(str(path), KEY, Anchoring(named("https://log.example", ())), head)
        assert "interrupted" in said[0]
        assert seen == []
        signal.raise_signal(signal.SIGTERM)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGTERM, before)

"""The timeline: well-formed, everything on it, and readable when there is too much."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hark.report import timeline as drawn
from tests.hark.report.story import made

SVG = "{http://www.w3.org/2000/svg}"


def svg(markup: str) -> ET.Element:
    return ET.fromstring(markup[markup.index("<svg") : markup.index("</svg>") + len("</svg>")])


def test_every_exchange_and_mark_is_drawn_and_leads_to_its_event(tmp_path: Path) -> None:
    read = made(tmp_path / "run.hark")
    picture = svg(drawn.timeline(read.facts, read.links.found))
    leads = {link.get("href") for link in picture.iter(f"{SVG}a")}
    assert {f"#e{bar.seq}" for bar in read.facts.bars} <= leads
    assert {f"#e{mark.seq}" for mark in read.facts.marks} <= leads
    kinds = [path.get("class") for path in picture.iter(f"{SVG}path")]
    assert "link read" in kinds
    assert "denied" in kinds
    assert picture.find(f"{SVG}title") is not None


def test_more_exchanges_than_can_be_told_apart_are_drawn_as_counts_which_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn, "MAX_DRAWN", 2)
    read = made(tmp_path / "run.hark")
    markup = drawn.timeline(read.facts, ())
    assert "more than can be told apart" in markup
    assert not [link for link in svg(markup).iter(f"{SVG}a") if link.get("href") == "#e4"]

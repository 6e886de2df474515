"""A page of hostile recordings stays a page of ours: no element and no attribute comes of what was recorded."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hark.bundle import events as ev
from hark.cli.main import dispatch
from hark.report import markup
from tests.support.recordings import bundle

ATTACKS = (
    "<script>alert(1)</script>", "\" onload=\"x", "' onclick='x", "</pre></details></svg><svg onload=x>",
    "</style><style>*{}", "--><!--", "\u202eevil\u2066", "\x00\x1b[31m", "<img src=data:,x>", "&lt;", "]]><a href=x>",
)  # fmt: skip
OURS = {"class", "id", "href", "scope", "open", "lang", "charset", "name", "content", "http-equiv", "role", "viewbox",
        "xmlns", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "text-anchor", "aria-label",
        "aria-labelledby"}  # fmt: skip
TEXT = "".join(ATTACKS)


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name == "href"}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def filled() -> list[Any]:
    """An event of every kind that can stand in the middle of a run, with the attacks in each field."""
    found = []
    for kind in ev.KINDS:
        if kind.name in ("RunStart", "RunEnd", "Seal"):
            continue
        event = kind.event()
        shapes = {
            name: {"text": TEXT, "bytes": TEXT.encode(), "hash": b"\1" * 32}.get(
                shape.words.split()[0], value
            )
            for (name, value), shape in zip(event._asdict().items(), kind.layout.values(), strict=True)
        }
        maps = {
            name: {TEXT: TEXT}
            for name in ("vars", "headers", "left_out")
            if isinstance(shapes.get(name), dict)
        }
        found.append(event._replace(**shapes | maps))
    return found


def made(tmp_path: Path, *events: Any) -> Elements:
    path = bundle(tmp_path / "run.hark", *events)
    assert dispatch(["report", path, "-o", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", page)
    elements = Elements()
    elements.feed(page)
    return elements


def test_nothing_recorded_becomes_an_element_or_an_attribute(tmp_path: Path) -> None:
    elements = made(tmp_path, *filled())
    assert not elements.tags & {"script", "img", "iframe", "object", "link", "form", "base"}
    assert elements.attributes <= OURS
    assert all(re.fullmatch("#[a-z0-9]+", link) for link in elements.links)
    assert "<script>alert(1)</script>" in "".join(elements.text)


def test_one_place_that_is_not_escaped_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.report.listing.inside", lambda sentence: sentence)
    assert "script" in made(tmp_path, *filled()).tags
    assert markup.shown("<") == "&lt;"

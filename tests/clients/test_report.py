"""A report in a real browser: it loads nothing, fits its window, and is readable in the dark and on paper."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.cli.main import entry
from tests.hark.report.story import events
from tests.support.browser import Page, chromium, opened
from tests.support.recordings import bundle
from tests.support.waiting import until

pytestmark = [pytest.mark.clients, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]

SIZES = {"desk": (1200, 1700), "tablet": (800, 1100), "phone": (390, 844)}
LOOKS = ("light", "dark", "print")
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
INK = "getComputedStyle(document.body).color"
TEXT = """[...document.querySelectorAll('h1,h2,h3,p,dt,dd,td,th,summary,li')]
  .filter(one => one.offsetParent && one.offsetWidth)
  .filter(one => parseFloat(getComputedStyle(one).fontSize) < 11).length"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A fork's page beside its parent, which has every section."""
    folder = tmp_path_factory.mktemp("report")
    run = bundle(folder / "run.hark", *events())
    fork = bundle(folder / "fork.hark", *events(obeys=False))
    assert entry(["report", "-against", fork, run]) == 0
    with opened(folder / "run.html") as shown:
        yield shown


def luminance(colour: str) -> float:
    """How bright a colour is, as WCAG 2 has it."""
    red, green, blue = (_linear(int(number) / 255) for number in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_it_asks_for_nothing_and_runs_nothing(page: Page) -> None:
    (only,) = page.requested
    assert only.startswith("file://")
    assert page.value("document.scripts.length") == 0
    assert "default-src 'none'" in page.value("document.querySelector('meta[http-equiv]').content")


@pytest.mark.parametrize(("size", "look"), [(size, look) for size in SIZES for look in LOOKS])
def test_it_fits_its_window_and_can_be_read(page: Page, size: str, look: str) -> None:
    media, scheme = ("print", "light") if look == "print" else ("screen", look)
    page.sized(*SIZES[size], media=media, scheme=scheme)
    assert page.value(OVER) <= 0, "the page is wider than its window"
    assert page.value(TEXT) == 0, "there is text of less than 11 pixels"
    assert contrast(page.value(PAPER), page.value(INK)) > 7
    assert (luminance(page.value(PAPER)) < 0.1) == (look == "dark")
    picture = page.picture()
    assert picture.startswith(b"\x89PNG")
    if kept := os.environ.get("HARK_PICTURES"):
        Path(kept, f"report-{size}-{look}.png").write_bytes(picture)


HIDDEN = """[...document.querySelectorAll('caption')].filter(one => {
  const text = document.createRange();
  text.selectNodeContents(one);
  return text.getBoundingClientRect().right > innerWidth;
}).map(one => one.textContent)"""


@pytest.mark.parametrize("width", [360, 420, 700])
def test_the_heading_of_a_table_is_whole_where_the_table_is_wider_than_the_window(
    page: Page, width: int
) -> None:
    page.sized(width, 844)
    page.value("document.querySelectorAll('table').forEach(one => { one.style.minWidth = '1000px' })")
    page.value("document.querySelector('caption').textContent = 'a heading of some length '.repeat(9)")
    try:
        assert page.value(HIDDEN) == []
        page.value("document.querySelector('caption').style.maxWidth = 'none'")
        assert len(page.value(HIDDEN)) == 1, "the control"
    finally:
        page.value("location.reload()")
        until(
            lambda: page.value(
                "document.readyState == 'complete' && !document.querySelector('table').style.minWidth"
            )
        )


def test_a_page_that_is_too_wide_would_be_seen(page: Page) -> None:
    page.sized(*SIZES["phone"])
    page.value("document.body.insertAdjacentHTML('beforeend', '<div id=x style=\"width:2000px\">x</div>')")
    try:
        assert page.value(OVER) > 0
    finally:
        page.value("document.getElementById('x').remove()")


LINKS = "[...document.querySelectorAll('a[href]')].map(one => one.getAttribute('href'))"


def test_every_link_of_the_page_leads_somewhere_in_it(page: Page) -> None:
    links = page.value(LINKS)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("#")] == []
    assert page.value(f"{LINKS}.filter(one => !document.querySelector(one))") == []
    assert page.value("!document.querySelector('#e9999')")  # the control


def test_what_was_recorded_stands_in_the_page_as_text(page: Page) -> None:
    assert page.value("document.body.innerText.includes('collect.evil.example')")
    assert page.value("document.querySelectorAll('details.ev').length") == len(events()) + 6

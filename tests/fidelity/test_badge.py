"""The badge is what the page says, and goes where the page's figures go."""

from pathlib import Path
from xml.etree import ElementTree

from fidelity import badge

EQUAL = "590 of 590 replays of the shapes were equal."
FEWER = "575 of 590 replays of the shapes were equal."


def test_the_stored_badge_is_that_of_the_stored_page() -> None:
    assert badge.beside(badge.PAGE).read_text() == badge.svg(badge.PAGE.read_text())


def test_a_badge_says_the_figures_and_is_green_only_where_all_were_equal() -> None:
    for words, value, green in ((EQUAL, "590 of 590", True), (FEWER, "575 of 590", False)):
        root = ElementTree.fromstring(badge.svg(f"This run: 2 cores. {words}"))
        assert root.get("aria-label") == f"replays equal: {value}"
        assert (badge.GREEN in badge.svg(words)) is green


def test_a_page_without_figures_has_no_badge_rather_than_an_old_one(tmp_path: Path) -> None:
    page = tmp_path / "fidelity.md"
    (tmp_path / "pictures").mkdir()
    page.write_text(EQUAL)
    assert badge.write(page)
    assert badge.beside(page).exists()
    page.write_text("nothing was tried")
    assert not badge.write(page)
    assert not badge.beside(page).exists()


def test_a_page_elsewhere_gets_no_picture(tmp_path: Path) -> None:
    (tmp_path / "fidelity.md").write_text(EQUAL)
    assert badge.write(tmp_path / "fidelity.md")
    assert [path.name for path in tmp_path.iterdir()] == ["fidelity.md"]

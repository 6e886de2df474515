"""The table and its page: every failure stands in them, and what others wrote there is kept."""

from pathlib import Path

import pytest

from fidelity import page
from fidelity.__main__ import verdict
from fidelity.controls import Control
from fidelity.page import Row
from fidelity.shape import folders

PROMISED = next(folder for folder in folders() if folder.name == "repeat")
CACHE = next(folder for folder in folders() if folder.name == "cache")
OPEN = next(folder for folder in folders() if folder.name == "race")
SEEN = Control("a byte", "diverged", "REPLAY-DIVERGED", seen=True)
UNSEEN = Control("a byte", "diverged", "equal", seen=False)


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (Row(PROMISED, "", ("", "")), True),
        (Row(PROMISED, "", ("", "REPLAY-DIVERGED")), False),
        (Row(PROMISED, "the agent did nothing"), False),
        (Row(PROMISED, "", missing="node is not on this machine"), True),
        (Row(OPEN, "", ("", "REPLAY-DIVERGED")), True),
        (Row(OPEN, "", ("", "EQUAL, AND YET printed otherwise")), False),
        (Row(OPEN, "the agent did nothing"), False),
    ],
)
def test_a_row_holds_if_it_is_as_promised(row: Row, holds: bool) -> None:
    assert row.holds == holds
    assert verdict([row], [SEEN]) == (0 if holds else 1)


def test_a_control_that_is_not_seen_fails_the_run() -> None:
    good = [Row(PROMISED, "", ("",))]
    assert (verdict(good, [SEEN]), verdict(good, [SEEN, UNSEEN])) == (0, 1)


def test_a_run_without_controls_or_rows_says_nothing_good() -> None:
    assert (verdict([], [SEEN]), verdict([Row(PROMISED, "", ("",))], [])) == (1, 1)


def test_the_first_fault_of_a_row_is_in_its_cells_on_one_line() -> None:
    cells = Row(PROMISED, "", ("", "differs:\n a | b", "later")).cells()
    assert cells == f"| repeat | {PROMISED.shape.about} | yes | 3 | 1 | differs: a \\| b | - |"


def test_the_page_lists_all_and_keeps_the_section_of_sources(tmp_path: Path) -> None:
    path = tmp_path / "fidelity.md"
    rows = [Row(PROMISED, "", ("", "differs here")), Row(OPEN, "", ("goes another way",))]
    page.write(rows, [SEEN, UNSEEN], "make fidelity", path)
    made = "<!-- sources -->\nmade by another\n<!-- /sources -->\n"
    path.write_text(page.SOURCES.sub(made, path.read_text()))
    page.write(rows, [SEEN, UNSEEN], "make fidelity", path)
    text = path.read_text()
    assert text.count(made) == 1
    assert text.endswith(made)
    for words in (
        "differs here",
        "goes another way",
        "1 of 2 replays",
        "    make fidelity\n",
        "| equal | NO |",
    ):
        assert words in text
    assert OPEN.shape.not_covered in text


def test_a_run_of_one_shape_can_keep_the_rows_of_others(tmp_path: Path) -> None:
    path = tmp_path / "fidelity.md"
    page.write([Row(PROMISED, "", ("", "a | b"), tried="11-30 08:00")], [SEEN], "first", path)
    page.write([Row(CACHE, "", ("", ""), tried="11-30 09:00")], [], "second", path, keep=True)
    text = path.read_text()
    assert "3 of 4 replays" in text
    assert [
        line.split(" | ")[-1] for line in text.splitlines() if line.startswith(("| cache", "| repeat"))
    ] == [
        "11-30 09:00 |",
        "11-30 08:00 |",
    ]
    assert text.count("| a byte | diverged | REPLAY-DIVERGED | yes |") == 1
    page.write([Row(CACHE, "", ("", ""))], [UNSEEN], "third", path)
    text = path.read_text()
    assert "| repeat |" not in text, "the control: without keep they go"
    assert text.count("| a byte |") == 1


def test_a_row_from_before_there_was_a_time_has_none() -> None:
    assert page.kept_rows("| cache | about | yes | 10 | 10 | - |\n") == {
        "cache": "| cache | about | yes | 10 | 10 | - | - |"
    }

"""The table of sources: what a cell says of two runs, where the table goes, and that no source is lost."""

import re
from pathlib import Path

import pytest

from fidelity.page import NO_SOURCES
from fidelity.sources import rows, table
from fidelity.sources.cells import Cell, State, cell
from fidelity.sources.runs import Pair, values
from fidelity.sources.runtimes import FINDERS, PROBES, Runtime
from fidelity.sources.table import Measured

DIFFERS = [Pair({"id": "1"}, {"id": "2"})]
SAME = [Pair({"id": "1"}, {"id": "1"})]


def test_what_is_the_same_counts_only_where_a_control_differs() -> None:
    assert cell("Node", "id", SAME[0], DIFFERS).state is State.EQUAL
    assert cell("Node", "id", SAME[0], [*SAME, *DIFFERS]).state is State.EQUAL
    assert cell("Node", "id", SAME[0], SAME).state is State.UNPROVEN
    assert cell("Node", "id", SAME[0], [Pair({}, {"id": "2"})]).state is State.UNPROVEN


def test_a_difference_is_by_rule_known_or_a_fault() -> None:
    def judged(runtime: str, source: str) -> Cell:
        return cell(runtime, source, Pair({source: "1"}, {source: "2"}), DIFFERS)

    assert judged("Node", "monotonic") == Cell(State.RULE, rows.BY_RULE["monotonic"])
    assert judged("Go", "/dev/random") == Cell(State.UNCOVERED, rows.UNSHIMMED)
    wrong = judged("Node", "wall")
    assert (wrong.state, wrong.holds, wrong.why) == (State.WRONG, False, "was 1, is 2")


def test_what_one_run_did_not_tell_is_a_fault_and_what_none_told_is_absent() -> None:
    assert cell("Node", "id", Pair({"id": "1"}, {}), DIFFERS).state is State.WRONG
    assert cell("Node", "id", Pair({}, {}), DIFFERS).state is State.ABSENT
    assert cell("Node", "id", Pair({"id": "'ERROR no'"}, {"id": "'ERROR no'"}), DIFFERS).state is State.ABSENT


def test_what_is_known_to_differ_names_a_source_and_a_runtime_and_says_why() -> None:
    for (runtime, source), why in rows.NOT_COVERED.items():
        assert source in rows.SOURCES
        assert runtime in {"", *FINDERS}
        assert len(why) > 20


def test_every_source_that_a_probe_tells_of_has_a_row_and_every_row_a_probe() -> None:
    text = "\n".join(path.read_text() for path in PROBES.iterdir() if path.is_file())
    told = set(re.findall(r"""\b(?:tell|hex|file)\(["']([^"']+)["']""", text))
    told |= set(re.findall(r"(?:^|;) *(?:then )?tell '?([\w./ -]+?)'? \"", text, re.MULTILINE))
    told |= set(re.findall(r'"([\w. ]+)\\t', text))
    assert told == rows.SOURCES.keys()


def test_a_probe_that_printed_nothing_is_no_result() -> None:
    assert values("a\tb\nhark: c\n", "") == {"a": "b"}
    with pytest.raises(RuntimeError, match="no such file"):
        values("", "hark: no such file")


def column(state: State, why: str = "", reports: tuple[str, ...] = (), stray: bool = False) -> Measured:
    return Measured(Runtime("Node", stray=stray), {"id": Cell(state, why)}, reports)


def test_a_column_is_at_fault_for_a_difference_and_for_silence_about_a_program_without_shims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert list(column(State.EQUAL).faults()) == []
    assert list(column(State.WRONG, "x").faults()) == ["Node, id: x"]
    assert list(column(State.UNCOVERED, stray=True, reports=("said",)).faults()) == []
    assert "the record does not say so" in next(iter(column(State.UNCOVERED, stray=True).faults()))
    told = Measured(Runtime("Go", stray=True), {"id": Cell(State.UNCOVERED, "x")}, notified=True)
    assert list(told.faults()) == []
    assert list(Measured(Runtime("Node"), fault="it broke").faults()) == ["Node: it broke"]


def test_the_table_goes_between_the_markers_and_all_else_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "SOURCES", {"id": "id(): an address"})
    page = tmp_path / "fidelity.md"
    page.write_text(f"before\n{NO_SOURCES}after\n")
    missing = Measured(Runtime("Go", missing="no compiler"))
    for _ in range(2):
        table.write([column(State.UNCOVERED, "why\nso"), missing], "command", page)
    text = page.read_text()
    assert text.startswith("before\n<!-- sources -->\n")
    assert text.endswith("<!-- /sources -->\nafter\n")
    assert text.count("| id(): an address | not covered |") == 1
    assert "- not covered: id() (Node): why so." in text
    assert "Go is not tried here: no compiler." in text

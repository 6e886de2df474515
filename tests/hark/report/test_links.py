"""What led to what: read from the data, or inferred and said to be."""

from pathlib import Path

from tests.hark.report.story import events, made


def test_a_tool_call_leads_to_the_denial_of_its_host_and_to_its_result(tmp_path: Path) -> None:
    found = made(tmp_path / "run.hark").links.found
    read = [link for link in found if link.read]
    assert any("toolu_1" in link.how for link in read)
    assert any("collect.evil.example" in link.effect or "collect.evil.example" in link.how for link in read)
    assert all(link.begin_ns <= link.end_ns for link in found)


def test_a_page_that_stands_in_the_next_prompt_is_inferred_only(tmp_path: Path) -> None:
    found = made(tmp_path / "run.hark", *events(obeys=False)).links.found
    assert [link.read for link in found if "text stands in the prompt" in link.how] == [False]


def test_what_has_nothing_in_common_has_no_link(tmp_path: Path) -> None:
    happened = events(obeys=False)
    assert made(tmp_path / "run.hark", *happened[3:]).links.found == []

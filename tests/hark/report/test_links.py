"""What led to what: read from the data, or inferred and said to be."""

from pathlib import Path

import pytest

from hark.report import links
from hark.report.facts import MAX_BODY
from tests.hark.report.story import PROMPT, events, exchange, made, said

ASKED = {"model": "large", "messages": [PROMPT]}


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


def test_a_prompt_is_read_once_however_many_pages_it_is_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    plain = links._plain
    monkeypatch.setattr(links, "_plain", lambda text: calls.append(text) or plain(text))
    pages = [
        one
        for number in range(20)
        for one in exchange(number + 1, f"h{number}.example", "/", None, f"page {number} ".encode() * 20)
    ]
    made(tmp_path / "run.hark", *pages, *exchange(30, "api.anthropic.com", "/v1/messages", ASKED, said()))
    assert len(calls) == 20 + 1


def test_what_is_kept_does_not_grow_with_the_names_that_a_run_chooses(tmp_path: Path) -> None:
    long = "n" * 50_000
    call = {
        "type": "tool_use",
        "id": long,
        "name": long,
        "input": {"url": f"https://{long}/{long}", "a": long},
    }
    result = {"type": "tool_result", "tool_use_id": long, "content": long}
    asked = ASKED | {"messages": [{"role": "user", "content": [result]}], "model": long}
    happened = [
        *exchange(1, "api.anthropic.com", "/v1/messages", ASKED, said(call)),
        *exchange(2, "api.anthropic.com", "/v1/messages", asked, said()),
        *exchange(3, long, f"/{long}", None, b""),
    ]
    found = made(tmp_path / "run.hark", *happened)
    assert [link.read for link in found.links.found] == [True, True]
    assert max(len(step.body or b"") for step in found.facts.steps) <= MAX_BODY  # and MAX_BODIES in all
    found.facts.steps = [step._replace(body=None) for step in found.facts.steps]
    assert len(repr(vars(found.links)) + repr(found.facts)) < 30_000

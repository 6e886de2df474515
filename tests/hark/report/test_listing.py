"""Every event is listed, with what proves it."""

import io
import re
from pathlib import Path

from hark.bundle import events as ev
from hark.report.listing import GROUP, MAX_FIELD
from tests.hark.report.story import events, made


def listed(path: Path, *happened: object) -> str:
    out = io.BytesIO()
    made(path, *happened, listed=out)
    return out.getvalue().decode()


def test_no_event_is_left_out_and_each_has_its_proof(tmp_path: Path) -> None:
    page = listed(tmp_path / "run.hark", *events())
    numbers = [int(found) for found in re.findall(r'id="e(\d+)"', page)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) == len(events()) + 6  # what a run opens and ends with
    assert all(f"hark prove -seq {number} run.hark" in page for number in numbers)
    assert page.count("<details") == page.count("</details>")


def test_events_are_grouped_and_a_denial_is_marked(tmp_path: Path) -> None:
    page = listed(tmp_path / "run.hark", *[ev.DnsQuery(f"n{at}.example", "A", 1) for at in range(GROUP)])
    assert page.count('class="group"') == 2
    assert "denied" not in page
    assert 'class="ev denied"' in listed(tmp_path / "other.hark", *events())


def test_a_long_field_is_cut_and_it_is_said_how_all_of_it_is_had(tmp_path: Path) -> None:
    page = listed(tmp_path / "run.hark", ev.LlmResponseChunk(0, b"x" * (MAX_FIELD + 1), exchange=1))
    assert "cut here; all of it: hark inspect -seq 4 run.hark" in page
    assert "cut here" not in listed(tmp_path / "short.hark", ev.LlmResponseChunk(0, b"x", exchange=1))

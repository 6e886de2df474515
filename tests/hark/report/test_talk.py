"""The conversation: each call with what is new in it."""

import io
from pathlib import Path

from tests.hark.report.story import EVIL, PAGE, made


def test_turns_calls_results_and_tokens_stand_there_once(tmp_path: Path) -> None:
    talk = io.BytesIO()
    made(tmp_path / "run.hark", talk=talk)
    page = talk.getvalue().decode()
    assert page.count(PAGE) == 1
    assert page.count(EVIL) == 1
    assert "40 in" in page
    assert "7 out" in page
    assert "no such name" in page
    assert '2 turns before, as in <a href="#x2">exchange 2</a>' in page
    assert page.count("<article") == page.count("</article>") == 2

"""What a person and a program are told of a bisection: the span, where it stands, and how sure it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from hark.bisect import bisecting
from hark.bisect.bisecting import Outcome, Ranked, Suspect
from hark.bisect.counting import Tally
from hark.bisect.ddmin import ddmin
from hark.bisect.message import Message
from hark.bisect.narrowing import Found, Narrowing
from hark.bisect.session import Session, Wanted
from hark.bisect.units import Level
from hark.bisect.verdict import MAX_RANKED, Verdict
from hark.patch.where import Point, Side
from hark.rerun.recalled import recall
from hark.rerun.replaying import Asked
from tests.support.recordings import bundle

POINT = Point(16, 15, Side.RESPONSE, "GET page.example/today (event 15)")
BODY = json.dumps({"a": {"b": "Grüße. Send\x1b[31m it.\n"}}, ensure_ascii=False).encode()


def verdict(tmp_path: Path, word: str = bisecting.FOUND, **changes: Any) -> Verdict:
    message = Message(((b"content-type", b"application/json"),), BODY, Side.RESPONSE)
    units = tuple(message.cut(message.units()[0], Level.SENTENCE))
    narrowing = Narrowing(message, units, ddmin, Level.SENTENCE)
    narrowing.best = units[1:]
    narrowing.found = [Found(Level.PARAGRAPH, units[:1], 7), Found(Level.SENTENCE, units[1:], 2)]
    outcome = Outcome(word, Suspect(POINT, message), narrowing=narrowing, baseline=Tally(seen=1), runs=9)
    outcome.confirmed = Tally(gone=2)
    for name, value in changes.items():
        setattr(outcome, name, value)
    path = bundle(tmp_path / "run.hark")
    wanted = Wanted(Asked("my run.hark"), "16", "denied", ("-policy=p.toml",))
    found = "/f/found.json" if word == bisecting.FOUND else ""
    return Verdict(Session(wanted, recall(path), "you", "/f", 30, found, outcome))


def test_the_span_is_quoted_safely_with_its_place_and_the_fork_that_shows_it(tmp_path: Path) -> None:
    found = verdict(tmp_path)
    text = "\n".join(found.lines())
    assert "BISECTED: denied does not happen without this sentence of the response of GET page" in text
    assert '"Send\\e[31m it."' in text
    assert "in $.a.b, bytes 9 to 23" in text
    assert "narrowed to 1 of 7 paragraphs, 1 of 2 sentences" in text
    assert "nothing removed: seen" in text
    assert "confirming, by runs of its own: seen 0 of 2 times (95 %: 0% to 66%)" in text
    assert "hark fork -at 16 -patch /f/found.json -policy=p.toml 'my run.hark'" in text
    assert "no control" in text
    assert found.exit_code == 0


def test_a_program_is_told_all_of_it(tmp_path: Path) -> None:
    record = json.loads(json.dumps(verdict(tmp_path).record()))
    assert (record["verdict"], record["exit_code"], record["at"], record["side"]) == (
        "BISECTED",
        0,
        16,
        "response",
    )
    (span,) = record["spans"]
    assert span == {
        "text": "Send\x1b[31m it.\n",
        "where": "$.a.b",
        "pointer": "/a/b",
        "stream_event": None,
        "bytes": [9, 23],
    }
    assert record["confirmed"]["runs"] == 2
    assert (record["why"], record["folder"], record["patch"]) == (None, "/f", "/f/found.json")


@pytest.mark.parametrize(
    ("word", "words"),
    [
        (bisecting.UNSEEN, "with nothing changed"),
        (bisecting.UNMOVED, "-at all asks each answer"),
        (bisecting.UNCONFIRMED, "ask more often with -trials"),
        (bisecting.UNSPECIFIC, "says little"),
        (bisecting.STOPPED, "a larger -max-runs goes on"),
    ],
)
def test_what_is_no_finding_says_why_and_what_to_do(tmp_path: Path, word: str, words: str) -> None:
    found = verdict(tmp_path, word)
    assert found.lines()[0].startswith(f"{word}: ")
    assert words in found.lines()[0]
    assert (found.exit_code, found.command) == (1, "")
    assert words in str(found.record()["why"])


def test_messages_are_ranked_and_the_list_has_an_end(tmp_path: Path) -> None:
    ranked = [Ranked(POINT, Tally(gone=1), gone=True)] + [
        Ranked(POINT, Tally(seen=1), gone=False)
    ] * MAX_RANKED
    lines = verdict(tmp_path, bisecting.UNMOVED, ranked=ranked, suspect=None, narrowing=None).lines()
    assert lines[1].startswith("  1. without the text of GET page.example/today (event 15) it is gone")
    assert "it is not gone" in lines[2]
    assert "  and 1 more messages; -json has all" in lines
    assert "any message" in lines[0]


def test_controls_are_listed_with_their_text(tmp_path: Path) -> None:
    found = verdict(tmp_path)
    message = found.session.outcome.suspect.message  # type: ignore[union-attr]
    control = tuple(message.cut(message.units()[0], Level.SENTENCE)[:1])
    found.session.outcome.controls.append((control, Tally(seen=1)))
    assert "  control 1, as much text removed elsewhere: seen" in found.lines()
    assert found.record()["controls"] == [
        {
            "text": "Grüße. ",
            "seen": 1,
            "runs": 1,
            "unresolved": 0,
            "no_answer": 0,
            "interval": [pytest.approx(0.2065, abs=1e-3), 1.0],
        }
    ]

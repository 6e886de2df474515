import re

import pytest

from hark.bundle.events import RunEnd
from hark.bundle.header import Header
from hark.verify.result import (
    ANCHORED,
    BROKEN,
    EXIT_CODES,
    REJECTED,
    TRUNCATED,
    VERIFIED,
    AnchorResult,
    Cosignature,
    Finding,
    Result,
    Tlog,
    worst,
)

GOOD = Result(VERIFIED, (), (), Header("R"), 3, (), b"", b"", RunEnd(reason="exit"), b"k" * 32, False, 0)


def test_the_worst_finding_decides_whatever_the_order():
    findings = [
        Finding(TRUNCATED, 3, "cut"),
        Finding(BROKEN, 6, "first"),
        Finding(REJECTED, 14, "key"),
        Finding(BROKEN, 8, "x"),
    ]
    verdict, ranked = worst(findings)
    assert verdict == BROKEN
    assert [finding.words for finding in ranked] == ["first", "x", "key", "cut"]
    assert worst([]) == (VERIFIED, ())


@pytest.mark.parametrize(("verdict", "code"), [(VERIFIED, 0), (BROKEN, 1), (REJECTED, 1), (TRUNCATED, 3)])
def test_each_verdict_has_the_exit_code_of_the_format(verdict, code):
    assert GOOD._replace(verdict=verdict).exit_code == EXIT_CODES[verdict] == code


def test_the_line_says_who_signed_and_who_vouches():
    assert f"signed by a key that nobody vouches for, {'6b' * 32}" in GOOD.line()
    assert f"signed by the expected key {'6b' * 32}" in GOOD._replace(pinned=True).line()
    assert f"signed by your own key {'6b' * 32}" in GOOD._replace(own=True).line()
    assert f"signed by the expected key {'6b' * 32}" in GOOD._replace(pinned=True, own=True).line()
    assert "unsigned" in GOOD._replace(public_key=b"").line()


def test_a_line_that_is_not_verified_names_no_signature():
    line = GOOD._replace(verdict=BROKEN, findings=(Finding(BROKEN, 6, "edited", "edit", 2, 10, 99),)).line()
    assert line == "BROKEN: event 2 (EgressAttempt, at byte 99): edited, 3 events, run R"


def test_a_truncated_line_says_that_the_rest_verifies():
    result = GOOD._replace(
        verdict=TRUNCATED, findings=(Finding(TRUNCATED, 3, "cut short"),), run_end=None, events=1
    )
    assert result.line() == "TRUNCATED: cut short, what is there verifies: 1 event, run R"


def test_what_no_boundary_stood_around_is_called_uncontained():
    assert "UNCONTAINED" not in GOOD.line()
    line = GOOD._replace(uncontained="the test's own process\x1b[2J").line()
    assert 'UNCONTAINED: recorded in "the test\'s own process\\e[2J", with' in line
    assert "\x1b" not in line


def test_the_line_names_the_identity_that_anchored_and_whether_it_was_asked_for():
    theirs = AnchorResult(ANCHORED, time=0, identity="\x1bevil@x.example", issuer="https://x.example")
    mine = theirs._replace(time=60, identity="me@x.example", expected=True)
    by_key = AnchorResult(ANCHORED, time=30)
    line = GOOD._replace(anchors=(theirs,)).line()
    assert "anchored 1970-01-01 00:00:00 UTC under an identity that nobody asked for, " in line
    assert '"\\eevil@x.example" (https://x.example)' in line
    assert "\x1b" not in line
    line = GOOD._replace(anchors=(by_key, mine)).line()
    assert "00:01:00 UTC under the expected identity me@x.example (https://x.example)" in line
    assert "anchored 1970-01-01 00:00:30 UTC, run R" in GOOD._replace(anchors=(by_key,)).line()
    assert "for which nobody vouches" in theirs._replace(issuer="").sentence()


CLAIM = ", signed by the expected key 00, anchored 2026-01-01 00:00:00 UTC"


@pytest.mark.parametrize(
    "lying",
    [
        GOOD._replace(header=GOOD.header._replace(run_id=f"R{CLAIM}")),
        GOOD._replace(run_end=RunEnd(0, 0, f"exit: after SIGTERM){CLAIM} (")),
        GOOD._replace(run_end=RunEnd(0, 0, f"interrupted: x){CLAIM} (")),
        GOOD._replace(run_end=RunEnd(0, 0, f'because"{CLAIM}, "')),
        GOOD._replace(run_end=RunEnd(0, 0, f"signal SIGHUP{CLAIM}")),
        GOOD._replace(uncontained=f'it"{CLAIM}'),
        GOOD._replace(anchors=(AnchorResult(ANCHORED, identity=f"me{CLAIM}", issuer=f"you{CLAIM}"),)),
        GOOD._replace(tlog=Tlog("o", b"", "", (Cosignature(f"w{CLAIM}", "", 0, checked=True),))),
    ],
)
def test_what_the_file_says_of_itself_stands_in_quotes(lying):
    said = re.sub(r'"(?:[^"\\]|\\.)*"', "", lying.line())
    assert CLAIM in lying.line()
    assert "expected key" not in said
    assert "2026" not in said

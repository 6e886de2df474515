"""Traps 43, 45 and 46: a replay that passes for equal, has another's answer, or runs for a stranger."""

import os
import tempfile
from contextlib import AbstractContextManager
from dataclasses import replace
from json import JSONDecoder
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hark.bundle.events import LlmRequest
from hark.errors import ReplayError, UntrustedError
from hark.replay import jsonform
from hark.replay.canonical import NO_RULES, canonical
from hark.replay.renamed import Renaming
from hark.rerun import judging, replaying
from hark.rerun.recalled import recall
from hark.rerun.replaying import Asked, Course
from mediator.playback.report import Report
from tests.attacks.registry import Outcome, add, run_without
from tests.support.recordings import bundle

LEFT = "the answer to POST api.example/v1 (event 4) was not asked for"


def _left_unused() -> Outcome:
    """Do all that was recorded, and leave an answer where it is."""
    with tempfile.TemporaryDirectory() as name:
        was, now = bundle(Path(name) / "run.hark"), bundle(Path(name) / "again.hark")
        report = Report(0, 0, 0.0, (), (LEFT,), (), 0)
        course = Course(
            recall(was),
            "ann",
            now,
            report,
            packets=0,
            rules=NO_RULES,
            notes=(),
            kept=None,
            failure=None,
            renaming=Renaming(),
            ran_on=False,
        )
        found = judging.judge(course)
        return Outcome.seen(found.lines()[0], succeeded=found.word == judging.EQUAL)


def _nobody_counts() -> AbstractContextManager[object]:
    why = judging._why

    def uncounted(course: Course, *compared: Any) -> str:
        return why(replace(course, report=replace(course.report, unconsumed=())), *compared)

    return patch.object(judging, "_why", uncounted)


def _behind_the_json() -> Outcome:
    """Say something behind a body that was recorded: whose answer does it get?"""
    keys = {
        canonical(
            LlmRequest(
                host="api.example",
                method="POST",
                path="/v1",
                body=body,
                raw_headers=((b"content-type", b"application/json"),),
            ),
            NO_RULES,
        ).key
        for body in (b'{"a":1}', b'{"a":1}]junk')
    }
    return Outcome.seen(f"{len(keys)} keys for two requests", succeeded=len(keys) == 1)


class _Lenient(JSONDecoder):
    """As many readers of JSON: content with what stands in front."""

    def decode(self, s: str, *_more: Any) -> Any:
        return self.raw_decode(s)[0]


def _read_as_far_as_it_goes() -> AbstractContextManager[object]:
    return patch.object(jsonform, "_DECODER", _Lenient())


class _LaunchedError(Exception):
    """Something would have been started."""


def _launch(*_plan: object) -> None:
    raise _LaunchedError


def _strangers() -> Outcome:
    """Have somebody replay what nobody they know has signed."""
    with tempfile.TemporaryDirectory() as name, patch.object(replaying, "launch", _launch):
        asked = Asked(bundle(Path(name) / "run.hark"))
        environ = {"HOME": name, "PATH": os.defpath}
        try:
            replaying.replay(asked, environ, say=lambda _: None, ask=None)
        except _LaunchedError:
            return Outcome.seen("it was launched", succeeded=True)
        except (UntrustedError, ReplayError) as error:
            return Outcome.seen(str(error), succeeded=False)
        return Outcome.seen("it returned", succeeded=True)


def _anybody_is_admitted() -> AbstractContextManager[object]:
    return patch.object(replaying, "admit", lambda *_, **__: "ann")


add(
    43,
    "leave a recorded answer unused and pass for equal",
    _left_unused,
    run_without(_nobody_counts, _left_unused),
)
add(
    45,
    "have another request's answer by saying more behind its body",
    _behind_the_json,
    run_without(_read_as_far_as_it_goes, _behind_the_json),
)
add(
    46,
    "have a stranger's bundle run by who replays it",
    _strangers,
    run_without(_anybody_is_admitted, _strangers),
)

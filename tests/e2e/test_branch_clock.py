"""Clock and randomness where a run goes live: the real day, fresh draws, and all of it again in a replay."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_replay import PYTHON, replay
from tests.fakes.upstream import serving
from tests.support.user import identity

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
DRAW = r"""
#include <stdio.h>
#include <sys/random.h>
int main(void) {
    unsigned char bytes[8];
    getrandom(bytes, 8, 0);
    for (int i = 0; i < 8; i++) printf("%02x", bytes[i]);
}
"""
NODE = """
const c = require('crypto');
console.log(c.randomBytes(8).toString('hex'), c.randomUUID(), Math.random(), Date.now());
"""
AGENT = """
import json, os, random, secrets, shutil, subprocess, sys, threading, time, urllib.request, uuid

own = random.SystemRandom()
programs = {"bash": ["/bin/bash", "-c", "echo $RANDOM $RANDOM"], "date": ["date", "+%s.%N"]}
programs["c"] = ["head", "-c8", "/dev/urandom"]
if os.path.exists("./draw"):
    programs["static"], programs["linked"] = ["./draw"], ["./linked"]
if shutil.which("node"):
    programs["node"] = ["node", "-e", sys.argv[1]]
held = {}

def hold():
    while True:
        before = held.get("clock", 0)
        held["clock"] = time.time()
        held["back"] = held.get("back", False) or held["clock"] < before
        time.sleep(0.05)

threading.Thread(target=hold, daemon=True).start()
for turn in range(4):
    found = {"turn": turn, "urandom": os.urandom(8).hex(), "token": secrets.token_hex(8), "time": time.time()}
    found |= {"uuid": str(uuid.uuid4()), "system": own.random(), "random": random.random()}
    for name, argv in programs.items():
        found[name] = subprocess.run(argv, capture_output=True, check=True).stdout.hex()
    found["after"] = time.time()
    print(json.dumps(found), flush=True)
    with urllib.request.urlopen("https://api.example/%d" % turn) as answer:
        answer.read()
    time.sleep(0.05)
print(json.dumps({"back": held["back"]}), flush=True)
"""
DRAWN = ("urandom", "token", "uuid", "system", "random", "c", "bash", "node", "static", "linked")
LIVE_FROM = 2
"""The turn that begins after the answer to request 1, at which each run here goes live."""


@contextmanager
def answering(at: Desk) -> Iterator[list[str]]:
    """Options that allow a server and lead to it, while there is one."""
    with serving("api.example") as upstream:
        for turn in range(4):
            upstream.on(f"/{turn}")(lambda call: call.reply(200, b"answer"))
        yield at.toward(upstream, "api.example")


def record(at: Desk, options: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What the agent printed, turn by turn; without options, of a run against a server that is gone."""
    if not options:
        with answering(at) as found:
            return record(at, found)
    at.write("agent.py", AGENT)
    if shutil.which("cc"):
        source = at.write("draw.c", DRAW)
        for name, more in (("draw", ["-static"]), ("linked", [])):
            subprocess.run(["cc", *more, "-o", source.parent / name, source], check=True)
            (source.parent / name).chmod(0o755)
    return told(ok(at.run(*options, "--", PYTHON, "agent.py", NODE)).stdout)


def branched(
    at: Desk,
    name: str,
    *,
    shift_s: float = 0,
    turn: int = LIVE_FROM,
    seed: str = "fresh",
    of: str = "run.hark",
) -> list[dict[str, Any]]:
    """What it printed in a replay that goes live before `turn`, with its bundle as `name`."""
    path = at.project.parent / of
    event = events(path, at, "LlmResponseChunk")[turn - 1]["seq"]
    words = ("replay", "-o", at.project.parent / name, path)
    argv = [at.user.python, "-m", "tests.support.branching", str(event), str(shift_s), seed, *map(str, words)]
    env = dict(at.user.env) | at.env | {"PYTHONPATH": str(ROOT)}
    options: dict[str, Any] = {"cwd": at.project, "env": env, **identity(at.user)}
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False, **options)
    return told(ok(ended).stdout)


def events(bundle: Path, at: Desk, kind: str) -> list[dict[str, Any]]:
    """What `hark inspect` says of a bundle's events of a kind."""
    listed = ok(at.hark("inspect", "--json", "-kind", kind, bundle)).stdout
    return [json.loads(line) for line in listed.splitlines()]


def drawn(turns: list[dict[str, Any]]) -> list[str]:
    """Every draw of some turns, with what it is; bash seeds its own from the clock as well."""
    return [f"{name} {turn[name]}" for turn in turns if "turn" in turn for name in DRAWN if name in turn]


def told(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_branch_has_the_real_day_and_draws_that_nobody_has_drawn(rootless: Desk) -> None:
    parent = record(rootless)
    began = time.time()
    first, second = branched(rootless, "1.hark"), branched(rootless, "2.hark")
    for one in (first, second):
        assert one[:LIVE_FROM] == parent[:LIVE_FROM]
        assert not one[-1]["back"]
        live = one[LIVE_FROM:-1]
        assert all(began < turn["time"] <= turn["after"] <= time.time() for turn in live)
        assert all(began < float(bytes.fromhex(turn["date"])) for turn in live)
    suffixes = [drawn(one[LIVE_FROM:]) for one in (parent, first, second)]
    assert len({*suffixes[0], *suffixes[1], *suffixes[2]}) == 3 * len(suffixes[0])
    assert not {*drawn(parent)} & {*suffixes[1], *suffixes[2]}


def test_whoever_keeps_the_seed_draws_what_the_parent_drew(rootless: Desk) -> None:
    """The control of the one above."""
    parent = record(rootless)
    kept = branched(rootless, "1.hark", seed="kept")
    same = [name for name in DRAWN if name not in ("bash", "node") and name in parent[0]]
    assert [[turn[name] for name in same] for turn in kept[:-1]] == [
        [turn[name] for name in same] for turn in parent[:-1]
    ]
    assert kept[LIVE_FROM]["time"] > parent[LIVE_FROM]["time"]


def test_where_the_machines_clock_is_behind_the_agents_goes_on(rootless: Desk) -> None:
    parent = record(rootless)
    fork = branched(rootless, "1.hark", shift_s=-(10**7))
    assert not fork[-1]["back"]
    times = [turn[when] for turn in fork[:-1] for when in ("time", "after")]
    assert times == sorted(times)
    assert len(set(times[2 * LIVE_FROM :])) > LIVE_FROM  # it does not stand still
    assert all(0 <= time_ - parent[LIVE_FROM - 1]["after"] < 60 for time_ in times[2 * LIVE_FROM :])


def test_a_replay_of_a_fork_repeats_both_halves_and_so_does_its_own(rootless: Desk) -> None:
    record(rootless)
    fork = branched(rootless, "1.hark")
    child = branched(rootless, "2.hark", turn=LIVE_FROM + 1, of="1.hark")
    assert child[: LIVE_FROM + 1] == fork[: LIVE_FROM + 1]
    assert not set(drawn(child[LIVE_FROM + 1 :])) & set(drawn(fork))
    for name, printed, branches in (("1.hark", fork, 1), ("2.hark", child, 2)):
        folder = rootless.project.parent
        for bundle, again in ((name, f"a.{name}"), (f"a.{name}", f"b.{name}")):
            ended = ok(replay(rootless, "-o", folder / again, bundle=folder / bundle))
            assert "hark: REPLAY-EQUAL, " in ended.stderr
            assert told(ended.stdout) == printed
            assert said(rootless, folder / again) == said(rootless, folder / name)
            assert len(said(rootless, folder / again)) == branches


def said(at: Desk, bundle: Path) -> list[tuple[Any, ...]]:
    """Where, when and how a bundle went live, by its own word."""
    return [(event["time_ns"], event["fields"]) for event in events(bundle, at, "Branch")]


def forked(
    at: Desk, options: Sequence[str], turn: int, kind: str, name: str, of: str = "run.hark"
) -> list[dict[str, Any]]:
    """What it printed in a fork that goes live before `turn`, at the request or the answer before that."""
    folder = at.project.parent
    event = events(folder / of, at, kind)[turn - 1]["seq"]
    words = [word for word in options if not word.startswith("-policy")]
    return told(ok(at.hark("fork", "-at", str(event), *words, "-o", folder / name, folder / of)).stdout)


@pytest.mark.parametrize("kind", ["LlmRequest", "LlmResponseChunk"])
def test_a_fork_that_asks_live_servers_replays_and_so_does_its_child(rootless: Desk, kind: str) -> None:
    folder = rootless.project.parent
    with answering(rootless) as options:
        parent = record(rootless, options)
        fork = forked(rootless, options, LIVE_FROM, kind, "1.hark")
        child = forked(rootless, options, LIVE_FROM + 1, kind, "2.hark", of="1.hark")
    live = LIVE_FROM
    assert fork[:live] == parent[:live]
    assert child[: live + 1] == fork[: live + 1]
    assert not set(drawn(fork[live:])) & set(drawn(parent))
    assert not set(drawn(child[live + 1 :])) & set(drawn(fork))
    for name, printed in (("1.hark", fork), ("2.hark", child)):
        ended = ok(replay(rootless, "-o", folder / f"a.{name}", bundle=folder / name))
        assert told(ended.stdout) == printed
        assert said(rootless, folder / f"a.{name}") == said(rootless, folder / name)

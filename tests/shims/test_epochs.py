"""Another seed and the real clock in the middle of a run, as where a fork goes live, for programs at work."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from launcher.supervise import Boundary
from tests.shims.rig import SEED, WALL_NS, installed, python, shimmed
from tests.support.waiting import until

pytestmark = pytest.mark.attack

FRESH = b"f" * 32
WAITS = """
import ctypes, json, os, random, secrets, ssl, sys, threading, time, uuid
other = random.Random()
def read(): return open("/run/hark/shim/page", "rb", buffering=0).read(32)
def draws():
    found = [os.urandom(8), os.urandom(80), os.getrandom(8), secrets.token_bytes(8), ssl.RAND_bytes(8)]
    found += [uuid.uuid4().bytes, open("/dev/urandom", "rb").read(8), random.Random().random()]
    found += [random.SystemRandom().random()]
    thread = threading.Thread(target=lambda: found.append(os.urandom(8))); thread.start(); thread.join()
    if os.fork() == 0: os._exit(0)
    os.wait()
    return [each.hex() for each in found] + [random.random()]
def wait():
    while not read()[28]: time.sleep(0.01)
"""
PYTHON = f"""{WAITS}
before, clock = draws(), time.time()
print(json.dumps(before), flush=True)
open("ready", "w").close()
wait()
print(json.dumps(draws()))
"""


def turning(*, seed: bytes | None = FRESH, offset_s: float = 0) -> Any:
    """What a supervisor does once the agent is ready: another seed, and the machine's clock."""

    def during(boundary: Boundary) -> None:
        until(Path(boundary._plan.workdir, "ready").exists)
        boundary.page.set_wall(time.time_ns())
        boundary.page.go_live(int(offset_s * 1e9))
        if seed is not None:
            boundary.page.draw_from(seed)

    return during


@pytest.mark.parametrize("languages", [False, True])
def test_python_draws_from_the_next_seed_from_then_on(languages: bool) -> None:
    first, again = (python(PYTHON, during=turning(), languages=languages) for _ in range(2))
    assert first.out.count("\n") == 2, first.err
    assert first.out == again.out
    other = python(PYTHON, during=turning(seed=b"o" * 32), languages=languages)
    before, after = first.out.splitlines()
    assert other.out.splitlines()[0] == before
    drawn = [json.loads(line) for line in (before, after, other.out.splitlines()[1])]
    if not languages:  # its own generator was seeded before, and goes on
        assert drawn[1].pop() == drawn[2].pop() != drawn[0].pop()
    assert len({each for one in drawn for each in one}) == 3 * len(drawn[0])


def test_whoever_keeps_the_seed_goes_on_with_the_old_draws() -> None:
    """The control: without a new seed the second draws are those that the parent's agent had."""
    program = f"""{WAITS}
os.urandom(8); open("ready", "w").close(); time.sleep(0); print(os.urandom(8).hex())
"""
    parent = python(program).out
    assert python(program.replace("sleep(0)", "sleep(1)"), during=turning(seed=None)).out == parent
    assert python(program.replace("time.sleep(0)", "wait()"), during=turning()).out != parent


def test_a_thread_is_shown_the_real_time_and_nothing_earlier_than_before() -> None:
    program = """
import time
shown = [time.time()]
open("ready", "w").close()
end = time.monotonic() + 2.5
while time.monotonic() < end:
    shown.append(time.time())
    time.sleep(0.02)
print(all(a <= b for a, b in zip(shown, shown[1:])), shown[0], shown[-1])
"""
    began = time.time()
    result = python(program, during=turning())
    grows, first, last = result.out.split()
    assert (grows, int(float(first))) == ("True", WALL_NS // 10**9)
    assert began + 1 < float(last) <= time.time()
    assert len(result.found) > 32  # threads write down again what they ask


def test_a_clock_of_the_past_stands_still_and_an_offset_moves_it() -> None:
    """A thread is ahead of the machine's clock, which was set back: what it is shown goes on, by the offset."""
    program = """
import time
shown = [time.time()]
for _ in range(100): time.sleep(0.02); shown.append(time.time())
print(all(a <= b for a, b in zip(shown, shown[1:])), shown[-1] - shown[0])
"""
    ahead = time.time_ns() + 10**12

    def during(boundary: Boundary) -> None:
        boundary.page.go_live(ahead - time.time_ns())

    grows, moved = python(program, wall_ns=ahead, during=during).out.split()
    assert (grows, float(moved) > 1.5) == ("True", True)
    grows, moved = python(
        program, wall_ns=ahead, during=lambda boundary: boundary.page.go_live(0)
    ).out.split()
    assert (grows, float(moved) < 0.5) == ("True", True)


@pytest.mark.skipif(not installed("node"), reason="no Node here")
@pytest.mark.parametrize("languages", [False, True])
def test_node_draws_from_the_next_seed_from_then_on(languages: bool) -> None:
    program = """
const crypto = require('crypto'), fs = require('fs');
const values = () => Buffer.from(crypto.webcrypto.getRandomValues(new Uint8Array(8))).toString('hex');
const show = () => console.log(crypto.randomBytes(8).toString('hex'), values(),
  crypto.randomUUID(), crypto.randomInt(2 ** 40), Math.random());
show();
fs.writeFileSync('ready', '');
const cell = new Int32Array(new SharedArrayBuffer(4));
while (!fs.readFileSync('/run/hark/shim/page')[28]) Atomics.wait(cell, 0, 0, 10);
show();
console.log(new Date().getTime());
"""
    runs = [
        shimmed("node", "-e", program, during=turning(seed=seed), languages=languages)
        for seed in (FRESH, FRESH, SEED[::-1])
    ]
    outs = [run.out.splitlines() for run in runs]
    assert outs[0][:2] == outs[1][:2], runs[0].err
    assert outs[0][0] == outs[2][0]
    kept = 5 if languages else 2  # Math has a generator, and Node draws for the others ahead
    after = [set(out[number].split()[:kept]) for out, number in ((outs[0], 0), (outs[0], 1), (outs[2], 1))]
    assert len(set().union(*after)) == 3 * kept
    assert time.time() - 60 < int(outs[0][2]) / 1000 <= time.time()

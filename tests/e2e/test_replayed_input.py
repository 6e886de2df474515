"""Input that was piped, read from a file or typed, given to a replay that has no terminal and no input."""

import signal

import pytest

from tests.e2e.rig import Desk, ok
from tests.e2e.test_streams import in_shell
from tests.e2e.test_terminal import shell
from tests.support.waiting import until

pytestmark = pytest.mark.e2e

ECHO = "import random, sys, uuid; print(sys.stdin.read().upper(), uuid.uuid4(), random.random())"
ASK = """
import getpass, os
print(os.get_terminal_size(), os.isatty(1))
print('hello', input('name? '), len(getpass.getpass('word? ')))
"""


@pytest.mark.parametrize("how", ["seq 3000 | {} ", "seq 3000 >in; {} <in "])
def test_what_was_piped_or_in_a_file_is_read_again(rootless: Desk, how: str):
    rootless.write("echo.py", ECHO)
    run = f"{rootless.user.hark} run -o ../run.hark -- python3 echo.py"
    first = in_shell(rootless, how.format(run) + "2>/dev/null").stdout
    assert first.startswith("1\n2\n")
    again = ok(rootless.hark("replay", "-trust-bundle", rootless.bundle))
    assert again.stdout == first
    assert "REPLAY-EQUAL" in again.stderr


def test_what_was_typed_is_typed_again_at_the_prompts_that_it_answered(rootless: Desk):
    rootless.write("ask.py", ASK)
    with shell(rootless) as seat:
        seat.type("hark run -o ../run.hark -- python3 ask.py\n")
        seat.until("name? ")
        until(seat.raw)
        seat.type("bob\r")
        seat.until("word? ")
        seat.type("a word\r")
        seat.until("hello bob 6")
        seat.until("recorded")
        seat.until("% ")
    again = ok(rootless.hark("replay", "-trust-bundle", rootless.bundle))
    assert "lines=24) True" in again.stdout
    assert "hello bob 6" in again.stdout
    assert "REPLAY-EQUAL" in again.stderr


def test_an_interrupt_that_was_typed_comes_again(rootless: Desk):
    lines = (
        "import signal, time",
        "signal.signal(2, signal.default_int_handler)",
        "print('ready', flush=True)",
    )
    program = "\n".join((*lines, "time.sleep(60)"))
    rootless.write("wait.py", program)
    with shell(rootless) as seat:
        seat.type("hark run -o ../run.hark -- python3 wait.py\n")
        seat.until("ready")
        until(seat.raw)
        seat.type("\x03")
        seat.until("recorded")
        seat.until("% ")
    again = ok(rootless.hark("replay", "-trust-bundle", rootless.bundle))
    assert "KeyboardInterrupt" in again.stdout
    assert rootless.events("RunEnd")[0]["exit_code"] == 128 + signal.SIGINT

"""What a test has left running, by a process of its own for each: held back, and nothing else is."""

import subprocess
import sys

import pytest

PROGRAM = """
import _thread, atexit, os, socket, threading
from hark.inprocess import guard, left
from hark.inprocess.guard import Guard, LATE

def say(line):
    os.write(1, f"{line}\\n".encode())

def reach(told):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", 9))
        say(f"{told} reached")
    except OSError as error:
        say(f"{told} {type(error).__name__}")

over = threading.Event()
ended = threading.Event()
def later(what=lambda: reach("thread")):
    over.wait()
    what()
    ended.set()

before = threading.Thread(target=lambda: (over.wait(), reach("before")))
def test():
    pass
{test}
before.start()
atexit.register(lambda: reach("first hook"))
guard.begin(Guard())
test()
guard.end()
atexit.register(lambda: reach("last hook"))
over.set()
before.join()
{waits}
reach("main")
say(f"{len(LATE.refusals)} refused")
"""
THREAD = """
def test():
    threading.Thread(target=later).start()
"""
GRANDCHILD = """
def test():
    def start():
        thread = threading.Thread(target=reach, args=("grandchild",)); thread.start(); thread.join()
    threading.Thread(target=later, args=(start,)).start()
"""
RAW = """
def test():
    _thread.start_new_thread(later, ())
"""
RAW_GRANDCHILD = """
def test():
    def start():
        try:
            _thread.start_new_thread(reach, ("raw",))
        except OSError as error:
            say(f"raw {type(error).__name__}")
    threading.Thread(target=later, args=(start,)).start()
"""
HOOK = """
def test():
    atexit.register(lambda: reach("hook"))
"""


def told(test: str) -> list[str]:
    """What each of the threads and hooks came to."""
    waits = "ended.wait(60)" if "later" in test else ""
    program = PROGRAM.replace("{test}", test).replace("{waits}", waits)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.attack
@pytest.mark.parametrize(
    ("test", "words"),
    [
        (THREAD, "thread Refused"),
        (GRANDCHILD, "grandchild Refused"),
        (RAW, "thread Refused"),
        (RAW_GRANDCHILD, "raw Refused"),
        (HOOK, "hook Refused"),
    ],
    ids=["thread", "grandchild", "raw", "raw-grandchild", "hook"],
)
def test_what_outlives_the_test_reaches_nothing(test: str, words: str) -> None:
    lines = told(test)
    assert words in lines
    assert {"before reached", "main reached", "first hook reached", "last hook reached"} <= set(lines)


def test_the_control_what_no_test_left_reaches_what_it_likes() -> None:
    assert told("") == [
        "before reached", "main reached", "0 refused", "last hook reached", "first hook reached",
    ]  # fmt: skip

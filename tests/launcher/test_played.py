"""Recorded input given to a real agent again: streams, pieces, terminal, and the reviewer's left alone."""

import contextlib
import os
import pty
import select
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

from launcher.intake import Kind
from launcher.launch import launch
from launcher.played import Piece, Played
from tests.launcher.rig import SYSTEM_PYTHON, apart, plan, project
from tests.support.waiting import until

pytestmark = pytest.mark.attack

SEES = "import os; print('sees', *(os.isatty(fd) for fd in range(3)))"


def played(
    *events: tuple[str, bytes] | tuple[str, bytes, bool], turn: Callable[[int], bool] | None = None
) -> Played:
    """Events with numbers from 10."""
    pieces = (Piece(10 + number, *(*event, False)[:3]) for number, event in enumerate(events))
    return Played(tuple(pieces), turn or (lambda _seq: True))


class Shown:
    """A turn that waits until the agent has shown what it shows before this input, as a replay does."""

    def __init__(self, **words: str) -> None:
        """`at_11="ready"`: the input that is event 11 comes once the agent has said it is ready."""
        self._words = {int(at.removeprefix("at_")): said.encode() for at, said in words.items()}

    def __call__(self, seq: int) -> bool:
        wanted = self._words.get(seq, b"")
        until(lambda: wanted in os.pread(1, 1 << 16, 0), f"{wanted!r} to be shown")
        return True


def test_streams_are_read_as_they_were_recorded_and_what_is_unknown_is_empty() -> None:
    assert played(("streams", b"pipe terminal other")).streams == (Kind.PIPE, Kind.TERMINAL, Kind.OTHER)
    assert played(("streams", b"pipe terminal other")).terminals == (1,)
    for said in (b"", b"what \xff", b"a b c d e"):
        assert played(("streams", said)).streams == (Kind.OTHER,) * 3
    assert played().streams == (Kind.OTHER,) * 3


def test_what_was_there_at_the_start_needs_no_turn() -> None:
    events = played(
        *[
            ("streams", b"file terminal other"),
            ("stdin-offset", b"1"),
            ("stdin-file", b"x"),
            ("stdin-file", b"", True),
        ],
        *[("terminal-size", b"24x80"), ("terminal", b"k"), ("terminal-size", b"30x90")],
    )
    assert [piece.seq for piece in events.later] == [15, 16]
    assert events.size == b"24x80"


def run(
    program: str, what: Played, *, stdin: int | None = None, out: int | None = None
) -> tuple[str, list[Any]]:
    """Run a program with recorded input; what it printed, and what was recorded of it anew."""

    def work() -> tuple[str, list[Any]]:
        events: list[Any] = []
        with project() as folder, tempfile.TemporaryFile() as file:
            os.dup2(os.open("/dev/null", os.O_RDONLY) if stdin is None else stdin, 0)
            for number in (1, 2):
                os.dup2(file.fileno() if out is None else out, number)
            argv = (SYSTEM_PYTHON, "-I", "-c", program)
            with launch(plan(folder, argv), what) as boundary:
                boundary.start(record=lambda *event: events.append(event) or True)
                ended = boundary.wait()
            file.seek(0)
            said = file.read().decode()
            assert ended.status == 0, said
        return said, events

    return apart(work)


def test_a_pipe_brings_the_pieces_each_when_the_one_before_was_read() -> None:
    program = "import os\nwhile d := os.read(0, 99): print(d)\nprint('end')"
    recorded = [("streams", b"pipe other other", False), ("stdin", b"one", False), ("stdin", b"two", False)]
    recorded.append(("stdin", b"", True))
    said, events = run(program, played(*recorded))
    assert said == "b'one'\nb'two'\nend\n"
    assert events == recorded


def test_a_file_is_there_and_can_be_sought_in_and_the_reviewers_own_is_not_touched() -> None:
    with tempfile.NamedTemporaryFile() as own:
        own.write(b"the reviewer's own")
        own.flush()
        descriptor = os.open(own.name, os.O_RDONLY)
        program = "import os; print(os.read(0, 2), os.lseek(0, 0, 0), os.read(0, 9))"
        recorded = [("streams", b"file other other", False), ("stdin-offset", b"3", False)]
        recorded += [("stdin-file", b"abcdef", False), ("stdin-file", b"", True)]
        said, events = run(program, played(*recorded), stdin=descriptor)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
    assert said == "b'de' 0 b'abcdef'\n"
    assert events == recorded


@pytest.mark.parametrize("said", [b"null other other", b"other other other", b""])
def test_where_nothing_was_recorded_input_is_empty(said: bytes) -> None:
    with tempfile.TemporaryFile() as own:
        own.write(b"the reviewer's own")
        own.seek(0)
        out, _ = run("import os; print(os.read(0, 9))", played(("streams", said)), stdin=own.fileno())
    assert out == "b''\n"


def test_a_terminal_is_made_though_the_reviewer_has_none() -> None:
    program = f"""
import os, signal, time
{SEES}
print(os.get_terminal_size(0))
print(repr(input()))
while os.get_terminal_size(0).lines != 30: time.sleep(0.01)
print(repr(input()), flush=True)
"""
    recorded = [("streams", b"terminal terminal terminal", False), ("terminal-size", b"24x80", False)]
    recorded += [
        ("terminal", b"ty", False),
        ("terminal", b"ped\r", False),
        ("terminal-size", b"30x90", False),
    ]
    recorded += [("terminal", b"more\r", False)]
    shown = Shown(at_12="columns=80, lines=24", at_14="'typed'")
    said, events = run(program, played(*recorded, turn=shown))
    assert "sees True True True" in said
    assert "columns=80, lines=24" in said
    assert "'typed'" in said
    assert said.rstrip().endswith("'more'")
    assert events == recorded


def test_an_interrupt_that_was_typed_interrupts_again() -> None:
    program = """
import signal, time
signal.signal(2, signal.default_int_handler)
try: print('ready', flush=True); time.sleep(60)
except KeyboardInterrupt: print('caught')
"""
    recorded = played(
        ("streams", b"terminal terminal terminal"), ("terminal", b"\x03"), turn=Shown(at_11="ready")
    )
    assert "caught" in run(program, recorded)[0]


def test_an_agent_that_stops_itself_goes_on_at_once() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('on')"
    assert "on" in run(program, played(("streams", b"terminal terminal terminal")))[0]


def test_output_that_was_no_terminal_is_none_on_the_reviewers_and_nothing_he_types_is_read() -> None:
    master, slave = pty.openpty()
    os.write(master, b"typed by the reviewer\n")
    shown = b""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            recorded = played(("streams", b"pipe other other"), ("stdin", b"", True))
            run(SEES + "; print(os.read(0, 9))", recorded, stdin=slave, out=slave)
        os._exit(0)
    os.close(slave)
    while select.select([master], [], [], 20)[0]:
        try:
            shown += os.read(master, 999)
        except OSError:
            break
    os.waitpid(child, 0)
    assert b"sees False False False\r\nb''" in shown

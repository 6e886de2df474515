"""What an agent leaves a terminal in does not hide what is said next."""

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from launcher.sobering import COLOURS, NORMAL, STRING_ENDS, Sober
from tests.launcher.test_terminal import seat

LEFT = {
    "a title that does not end": b"\x1b]0;",
    "a device control string": b"\x1bPq",
    "an application's string": b"\x1b_x",
    "concealed": b"\x1b[8m",
    "the other screen": b"\x1b[?1049h",
    "one line that scrolls": b"\x1b[1;1r",
    "another set of letters": b"\x1b(0",
    "reports of the mouse": b"\x1b[?1003h\x1b[?1006h",
}


def test_text_alone_is_left_as_it_is() -> None:
    sober = Sober()
    for piece in (b"plain\r\n", b"\ttext\x07\x08", "caf\u00e9".encode("latin-1")):
        sober.see(piece)
    assert sober.ending() == b""


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_whatever_an_escape_may_have_left_is_ended_however_it_is_cut(left: bytes) -> None:
    whole, cut = Sober(), Sober()
    whole.see(b"text" + left)
    for byte in b"text" + left:
        cut.see(bytes((byte,)))
    assert whole.ending() == cut.ending()
    assert whole.ending().startswith(STRING_ENDS + NORMAL)
    assert whole.ending().endswith(COLOURS) == (b"\x1b]" in left)


@pytest.mark.parametrize(
    "mode", [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 2004], ids=str
)
def test_what_a_terminal_would_type_by_itself_is_off(mode: int) -> None:
    sober = Sober()
    sober.see(b"\x1b[?%dh" % mode)
    off = re.findall(rb"\x1b\[\?([0-9;]+)l", sober.ending())
    assert str(mode).encode() in b";".join(off).split(b";")


@pytest.mark.attack
@pytest.mark.parametrize("left", ["", "\\033]0;"])
def test_the_end_is_said_on_a_terminal_that_listens(left: str) -> None:
    with seat(f"printf 'text{left}'") as one:
        shown = one.until("[end")
    assert (STRING_ENDS.decode() in shown) == bool(left)


SCREEN = ("capture-pane", "-p", "-e")


def shown_by_tmux(folder: Path, data: bytes, ask: tuple[str, ...] = SCREEN, tries: int = 20) -> str:
    """What a real terminal shows in the end, or says to `ask` then."""
    (folder / "data").write_bytes(data)
    socket = str(folder / "socket")
    command = ["tmux", "-S", socket, "-f", "/dev/null"]
    wait = "while :; do sleep 1; done"
    subprocess.run(
        [
            *command,
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "20",
            f"stty raw; cat {folder}/data; touch {folder}/done; {wait}",
        ],
        check=True,
    )
    try:
        while not (folder / "done").exists():
            time.sleep(0.05)
        shown = ""
        for _ in range(tries):
            shown = subprocess.run([*command, *ask], check=True, capture_output=True, text=True).stdout
            if "report" in shown:
                break
            time.sleep(0.05)
        return shown
    finally:
        subprocess.run([*command, "kill-server"], check=False)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no terminal emulator here")
@pytest.mark.parametrize(
    "name", ["a title that does not end", "a device control string", "the other screen", "concealed"]
)
def test_a_real_terminal_shows_what_is_said_next_and_did_not_before(name: str) -> None:
    sober = Sober()
    sober.see(LEFT[name])
    report = b"hark's report\r\nsecond line"
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        clean = shown_by_tmux(Path(one), b"text\r\n" + LEFT[name] + sober.ending() + report)
        hidden = shown_by_tmux(Path(two), b"text\r\n" + LEFT[name] + report)
    assert "hark's report" in clean
    assert "\x1b[8m" not in clean
    assert "hark's report" not in hidden or "\x1b[8m" in hidden or "text" not in hidden
    assert "text" in clean


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no terminal emulator here")
def test_a_real_terminal_reports_no_mouse_afterwards_and_did_before() -> None:
    sober, left = Sober(), b"\x1b[?1003h\x1b[?1006h\x1b[?1005h"
    sober.see(left)
    seen = "#{?#{==:#{cursor_x},4},report ,}"  # once what comes last has been shown
    ask = ("display-message", "-p", seen + "#{mouse_any_flag}#{mouse_sgr_flag}#{mouse_utf8_flag}")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        clean = shown_by_tmux(Path(one), left + sober.ending() + b"last", ask, 1200)
        reporting = shown_by_tmux(Path(two), left + b"last", ask, 1200)
    assert clean.split() == ["report", "000"]
    assert reporting.split() == ["report", "111"]

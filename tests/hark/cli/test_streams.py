"""Standard streams that are closed or full: the command does its work and ends with its own exit code."""

import io
import os
import subprocess
import sys

import pytest

from hark import keys
from hark.cli.streams import Remarks
from tests.hark.cli import sample

HARK = f"{sys.executable} -m hark.cli.main"
CLOSED = [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"]


def shell(line, **kwargs):
    """The exit code of a shell's command line, and what hark wrote."""
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(["sh", "-c", line], capture_output=True, env=env, check=False, **kwargs)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def killed(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    return tmp_path / "k.hark"


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_streams_change_no_exit_code_and_bring_no_traceback(killed, closed):
    for words, code in (("version", 0), ("nosuch", 2), (f"verify {killed}", 3), (f"inspect {killed}", 3)):
        found, out, err = shell(f"{HARK} {words} {closed}")
        assert found == code
        assert (">&-" not in closed.split()) or not out
        assert "Traceback" not in err
        assert "internal" not in err


def test_a_file_that_hark_writes_never_takes_the_number_of_a_closed_stream(tmp_path):
    code, _, err = shell(f"{HARK} keygen -out {tmp_path}/k <&- >&- 2>&-")
    assert (code, err) == (0, "")
    assert keys.load_private(f"{tmp_path}/k").public_key == keys.public_from(f"{tmp_path}/k.pub")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_standard_error_that_is_full_changes_no_exit_code(killed, unbuffered):
    for words, code in (("nosuch", 2), (f"inspect {killed}", 3), (f"prove -seq 1 {killed}", 3)):
        found, out, _ = shell(f"PYTHONUNBUFFERED={unbuffered} {HARK} {words} 2>/dev/full")
        assert found == code
        assert bool(out) == words.startswith("inspect")


@pytest.mark.parametrize("code", [0, 42])
def test_what_a_run_says_and_standard_error_cannot_take_goes_to_standard_output(tmp_path, code):
    program = (
        "import sys, hark.running.run\n"
        f"hark.running.run.run = lambda options, environ, *, terminal, say, show: say('recorded') or {code}\n"
        "from hark.cli.main import entry\n"
        "sys.argv = ['hark', 'run', 'true']\n"
        "sys.exit(entry())\n"
    )
    (tmp_path / "main.py").write_text(program)
    line = f"PYTHONPATH={os.getcwd()} {sys.executable} {tmp_path}/main.py"
    assert shell(line) == (code, "", "hark: recorded\n")
    for unable in ("2>/dev/full", "2>&-"):
        assert shell(f"{line} {unable}") == (code, "hark: recorded\n", "")
    for nowhere in (
        "2>/dev/full >/dev/null",
        "2>/dev/full >&2",
        "2>/dev/full >&-",
        "2>&- >/dev/null",
        "2>&- >&-",
    ):
        assert shell(f"{line} {nowhere}")[0] in (code or 123, 74), nowhere
    assert shell(f"{line} 2>&1 | true; echo ${{PIPESTATUS[0]}}", executable="/bin/bash")[1] == f"{code}\n"


def test_remarks_lose_what_cannot_be_written_and_write_the_rest():
    with open("/dev/full", "wb", buffering=0) as full:
        remarks = Remarks(full, "utf-8", write_through=True)
        assert remarks.write("lost") == 4
        remarks.flush()
        remarks.detach()
    raw = io.BytesIO()
    remarks = Remarks(raw, "utf-8", line_buffering=True)
    remarks.write("kept\n")
    assert raw.getvalue() == b"kept\n"

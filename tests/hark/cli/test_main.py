"""What escapes a command: one sentence and an exit code, never a traceback that nobody asked for."""

import os
import subprocess
import sys

import pytest

from hark.cli import main, version
from hark.errors import BundleError, PolicyError, TruncatedError, UsageError
from tests.hark.cli.program import hark


def raising(error):
    def run(_args):
        raise error

    return run


def test_an_unknown_command_is_exit_2_and_names_the_nearest():
    code, out, err = hark("verison")
    assert (code, out) == (2, "")
    assert (
        err == "hark: hark has no command 'verison'; did you mean version? (`hark help` lists the commands)\n"
    )


def test_a_word_that_is_near_no_command_brings_no_guess():
    assert hark("nope").err == "hark: hark has no command 'nope' (`hark help` lists the commands)\n"
    assert "did you mean help?" in hark("hlep").err


def test_an_unknown_option_is_exit_2_in_one_sentence():
    code, out, err = hark("keygen", "--ouf", "x")
    assert (code, out, err) == (
        2,
        "",
        "hark: hark keygen has no option -ouf; did you mean -out? (`hark help keygen` lists the options)\n",
    )


def test_an_option_where_the_command_should_stand_is_named():
    assert hark("-x").err.startswith("hark: hark has no option -x")


def test_a_module_that_is_no_command_cannot_be_reached_as_one():
    for name in ("main", "spec", "help.x", "../x", "__init__"):
        assert hark(name).code in (0, 2)
        assert "no command" in hark(name).err


@pytest.mark.parametrize(
    ("error", "code"),
    [(BundleError("b"), 1), (UsageError("u"), 2), (TruncatedError("t"), 3), (PolicyError("p"), 125)],
)
def test_an_error_of_ours_ends_with_its_own_exit_code(error, code, monkeypatch, capsys):
    monkeypatch.setattr(version, "run", raising(error))
    assert main.entry(["version"]) == code
    assert capsys.readouterr() == ("", f"hark: {error}\n")


def test_a_file_that_cannot_be_opened_becomes_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(version, "run", lambda _args: len(os.listdir("/nonexistent/x.hark")))
    assert main.entry(["version"]) == 2
    assert capsys.readouterr().err == "hark: cannot use /nonexistent/x.hark: no such file or directory\n"


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("run -- true", 125, main.NOWHERE),
        ("init -agent python", 2, main.NOWHERE),
        ("inspect run.hark", 2, main.NOWHERE),
        ("inspect /nonexistent/x.hark", 2, "cannot use /nonexistent/x.hark: no such file or directory"),
    ],
)
def test_a_current_directory_that_was_removed_is_named_where_it_matters(tmp_path, words, code, why):
    there, script = tmp_path / "gone", 'cd "$1" && rmdir "$1" && exec "$2" -m hark.cli.main $3'
    there.mkdir()
    done = subprocess.run(
        ["sh", "-c", script, "sh", there, sys.executable, words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, f"hark: {why}\n")


def test_hostile_bytes_in_an_error_do_not_reach_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(version, "run", raising(BundleError("kind \x1b]0;owned\x07 \u202e")))
    main.entry(["version"])
    assert capsys.readouterr().err == "hark: kind \\e]0;owned\\x07 \\u202e\n"


def test_an_error_that_quotes_a_file_is_cut_in_its_middle(monkeypatch, capsys):
    monkeypatch.setattr(version, "run", raising(UsageError("begins " + "x" * 1_000_000 + " ends")))
    assert main.entry(["version"]) == 2
    err = capsys.readouterr().err
    assert len(err) < 9_000
    assert err.startswith("hark: begins ")
    assert err.endswith(" ends\n")


def test_a_bug_is_called_one_and_shows_no_traceback_unless_asked(monkeypatch, capsys):
    monkeypatch.setattr(version, "run", raising(ZeroDivisionError("oops")))
    monkeypatch.delenv("HARK_DEBUG", raising=False)
    assert main.entry(["version"]) == 70
    said = "hark: internal error: ZeroDivisionError: oops; please report it with HARK_DEBUG=1 output\n"
    assert capsys.readouterr().err == said
    monkeypatch.setenv("HARK_DEBUG", "1")
    assert main.entry(["version"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_ends_with_130_and_says_nothing(monkeypatch, capsys):
    monkeypatch.setattr(version, "run", raising(KeyboardInterrupt()))
    assert main.entry(["version"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_went_away_ends_hark_in_silence():
    with subprocess.Popen(
        [sys.executable, "-m", "hark.cli.main", "help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_a_sentence(unbuffered):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hark.cli.main", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 74
    assert done.stderr == b"hark: cannot write the output: no space left on device\n"


def test_a_file_name_outside_utf_8_is_escaped_and_not_a_crash():
    code, _, err = hark("verify", "/nonexistent/\udcff")
    assert code == 2
    assert err == "hark: cannot use /nonexistent/\\xff: no such file or directory\n"


@pytest.mark.parametrize("words", [[], ["-bogus", "true"], ["-policy"], ["-o", "a", "-o", "b", "true"]])
def test_a_command_line_of_run_that_makes_no_sense_is_125_and_not_the_agents_code(words):
    code, out, err = hark("run", *words)
    assert (code, out) == (125, "")
    assert err.startswith("hark: ")
    assert err.count("\n") == 1


ENDING = """
import atexit, sys, threading, time
from hark.cli import main
sys.argv = ["hark", "version"]
atexit.register(lambda: print("told", flush=True))
def slow():
    time.sleep(0.1)
    print("waited for", flush=True)
{start}
sys.exit(main.entry())
"""


@pytest.mark.parametrize(
    ("start", "last", "taken_apart"),
    [
        ("", ["told"], False),
        ("threading.Thread(target=slow, daemon=True).start()", ["told"], False),
        ("threading.Thread(target=slow).start()", ["waited for", "told"], True),
    ],
)
def test_the_process_ends_without_taking_itself_apart_unless_a_thread_is_waited_for(start, last, taken_apart):
    program = ENDING.format(start=start)
    done = subprocess.run([sys.executable, "-v", "-c", program], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line in ("told", "waited for")] == last
    assert ("# cleanup" in done.stderr) is taken_apart


def test_a_process_of_somebody_else_goes_on_behind_a_command():
    program = "from hark.cli import main; code = main.entry(['nosuch']); print(code)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


LOADED = """
import signal, sys
sys.argv[:] = [sys.argv[1], "version"]
import hark.cli
print(signal.getsignal(signal.SIGINT) == signal.SIG_DFL)
from hark.cli import main
main._outcome = lambda _: print(signal.getsignal(signal.SIGINT) is signal.default_int_handler) or 0
main.entry()
"""


@pytest.mark.parametrize(("name", "silent"), [("/usr/bin/hark", True), ("/usr/bin/pytest", False)])
def test_ctrl_c_is_silent_while_the_program_is_loaded_and_nowhere_else(name: str, *, silent: bool) -> None:
    command = [sys.executable, "-c", LOADED, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(silent), "True"]

"""Standard streams with hark in between are as without it: sizes, ends, refusals to read, exit codes."""

import hashlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.support.user import identity

pytestmark = pytest.mark.e2e

SIZE = 10 << 20
DATA = os.urandom(1 << 16) * (SIZE >> 16)
SUM = hashlib.sha256(DATA).hexdigest()


def in_shell(desk: Desk, script: str) -> subprocess.CompletedProcess[str]:
    """Run a bash script of the user's, in whose project `hark-run` runs a command under hark."""
    folder = Path(desk.user.hark).parent
    desk.write(
        "hark-run", f'#!/bin/sh\nexec {folder}/hark run -o "$(mktemp -u)" -- "$@" 2>/dev/null\n'
    ).chmod(0o755)
    env = dict(desk.user.env) | desk.env
    return subprocess.run(
        ["bash", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=desk.project,
        env=env,
        timeout=120,
        **identity(desk.user),
    )


def test_ten_megabytes_pass_from_a_pipe_to_a_pipe(rootless: Desk):
    with rootless.start("run", "-o", rootless.bundle, "--", "cat", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(DATA, 60)
    assert process.returncode == 0, err
    assert hashlib.sha256(out).hexdigest() == SUM


def test_ten_megabytes_pass_from_a_file_to_a_file(rootless: Desk):
    rootless.write("in", DATA)
    ended = in_shell(rootless, "./hark-run cat <in >out; echo $?")
    assert ended.stdout == "0\n", ended.stderr
    assert hashlib.sha256((rootless.project / "out").read_bytes()).hexdigest() == SUM


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("H yes | head -1; echo ${PIPESTATUS[0]}", "y\n141\n"),
        ("H yes 2>/dev/null | head -1; echo ${PIPESTATUS[0]}", "y\n141\n"),
        ("yes | H head -1; echo ${PIPESTATUS[*]}", "y\n141 0\n"),
        ("H cat </dev/null; echo $?", "0\n"),
        ("H sh -c 'echo x' >/dev/full; echo $?", None),
        ("echo in | H sh -c 'exec >&-; cat >file; exit 5'; echo $?; cat file", "5\nin\n"),
        ("seq 100000 | H sh -c 'sleep 0.2; tail -1'", "100000\n"),
        ("H seq 200000 | (sleep 0.3; tail -1)", "200000\n"),
        ("seq 3 | while read l; do echo $l; H true; done", "1\n2\n3\n"),
        ("seq 4 | (H sh -c 'read l; echo got $l'; cat)", "got 1\n2\n3\n4\n"),
        ("seq 4 >f; (H sh -c 'read l; echo got $l'; cat) <f", "got 1\n2\n3\n4\n"),
        ("echo 'print(6*7)' >p; H python3 <p; H python3 - <p; cat p | H python3", "42\n42\n42\n"),
        ("H head -c 3 </dev/zero | od -An -tx1", " 00 00 00\n"),
        ("H cat </proc/sys/kernel/ostype", "Linux\n"),
        ("echo over >f; H cat <>f; cat f", "over\nover\n"),
        ("echo one >f; H sh -c 'echo two; echo three >&2' >>f; cat f", None),
        ("(H echo a; H echo b; echo c) >f; cat f", "a\nb\nc\n"),
        ("H sh -c 'exit 7' | cat; echo ${PIPESTATUS[0]}", "7\n"),
        ("H sh -c 'kill -9 $$'; echo $?", "137\n"),
        ("H sh -c 'exec <&-; sleep 0.1; echo done' < <(yes)", "done\n"),
        ("H sh -c 'trap \"\" PIPE; yes 2>/dev/null' | head -1; echo ${PIPESTATUS[0]}", "y\n1\n"),
    ],
)
def test_ends_of_streams_are_as_without_hark(rootless: Desk, script: str, shown: str | None):
    bare = in_shell(rootless, script.replace("H ", "")).stdout
    assert shown is None or bare == shown
    assert in_shell(rootless, script.replace("H ", "./hark-run ")).stdout == bare


REACH = """
import fcntl, os
for number in (0, 1, 2):
    for reach in (
        lambda: fcntl.fcntl(number, fcntl.F_SETFL, os.O_DIRECT),
        lambda: os.ftruncate(number, 0),
        lambda: os.lseek(number, 0, os.SEEK_SET),
        lambda: os.fchmod(number, 0o666),
    ):
        try: reach()
        except OSError: pass
os.write(2, b"forged\\n")
os.makedirs(".vscode"); open(".vscode/tasks.json", "w").close()
"""


@pytest.mark.parametrize("redirected", ["2>>log", ">log 2>&1", ">>log 2>>log", "<>log 2>>log"])
def test_an_agent_changes_nothing_of_the_callers_log_and_mutes_no_remark(rootless: Desk, redirected: str):
    rootless.write("reach.py", REACH)
    log = rootless.project.parent / "log"
    script = f"echo earlier >log; chmod 600 log; ./h python3 reach.py {redirected}".replace("log", str(log))
    rootless.write("h", f'#!/bin/sh\nexec {Path(rootless.user.hark)} run -o r.hark -- "$@"\n').chmod(0o755)
    ended = in_shell(rootless, f"{script}; echo $?")
    assert ended.stdout == "0\n", ended.stderr
    kept, _, said = log.read_text().partition("forged\n")
    assert kept.startswith("earlier\n") != redirected.startswith(">log")
    assert "hark: recorded" in said
    assert ".vscode" in said
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_stream_that_is_closed_is_empty_inside_and_takes_everything(rootless: Desk):
    """Unlike without hark, where the next file that a program opens would become its standard stream."""
    script = "readlink /proc/self/fd/0 >&2; cat; echo lost"
    rootless.write("h", f'#!/bin/sh\nexec {Path(rootless.user.hark)} run -o r.hark -- "$@" <&- >&-\n').chmod(
        0o755
    )
    ended = in_shell(rootless, f"./h sh -c '{script}'")
    assert ended.returncode == 0
    assert "/dev/null\n" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("how", ["echo in | ", "printf in >in; <in "])
def test_input_is_on_the_record_as_the_agent_got_it(rootless: Desk, how: str):
    assert (
        in_shell(rootless, f"{how}{Path(rootless.user.hark)} run -o ../run.hark -- cat").stdout.strip()
        == "in"
    )
    events = [(event["source"], event["data"]["text"]) for event in rootless.events("Input")]
    source = "stdin" if "|" in how else "stdin-file"
    assert events[0] == ("streams", f"{'pipe' if '|' in how else 'file'} other other")
    assert "".join(text for where, text in events if where == source).strip() == "in"
    assert {where for where, _ in events[1:]} == {source}


def test_input_is_in_no_record_where_the_policy_says_so(rootless: Desk):
    rootless.write("policy.toml", '[replay]\ninput = "unrecorded"\n')
    assert ok(rootless.run("-policy=policy.toml", "--", "cat", stdin=b"typed")).stdout == "typed"
    assert rootless.events("Input") == []


@pytest.mark.parametrize("how", ["pipe", "file"])
def test_a_secret_that_is_piped_in_ends_the_run_and_is_in_no_record(rootless: Desk, how: str):
    value = "sk-real-5e884898da28047151d0e56f"
    rootless.write(
        "policy.toml", 'allow_hosts = ["a.example"]\n[secrets.KEY]\nenv = "KEY"\nhosts = ["a.example"]\n'
    )
    rootless.env |= {"KEY": value}
    words = ("-policy=policy.toml", "--", "sh", "-c", "cat >got")
    source = rootless.write("in", f"before {value} behind\n")
    with source.open("rb") as file:
        given = subprocess.PIPE if how == "pipe" else file
        with rootless.start("run", "-o", rootless.bundle, *words, stdin=given) as process:
            _, err = process.communicate(source.read_bytes() if how == "pipe" else None, 60)
    # A file is read while the agent is being executed: the run is refused, or ended before it had a byte.
    assert process.returncode in ((123,) if how == "pipe" else (123, 125)), err
    assert b"real value of secrets.KEY" in err
    assert value.encode() not in rootless.bundle.read_bytes()
    got = rootless.project / "got"
    assert not got.exists() or got.read_bytes() == b""


def test_an_agent_that_leaves_standard_input_unread_ends_the_run(rootless: Desk):
    with rootless.start("run", "-o", rootless.bundle, "--", "true", stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 0
        process.stdin.close()


def test_nohup_holds_inside(rootless: Desk):
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    program = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    ended = ok(rootless.run("--", "python3", "-c", program, preexec_fn=ignore))
    assert ended.stdout == "True\n"


def test_a_replay_whose_reader_leaves_is_equal(rootless: Desk):
    """What the agent prints fills every pipe long before its end; the control is a run, where it is told."""
    rootless.write("agent.sh", "seq 200000 && echo done > end.txt")
    assert in_shell(rootless, "./hark-run sh agent.sh | head -1; echo ${PIPESTATUS[0]}").stdout == "1\n141\n"
    assert rootless.run("--", "sh", "agent.sh").returncode == 0
    hark = Path(rootless.user.hark).parent / "hark"
    ended = in_shell(rootless, f"{hark} replay {rootless.bundle} | head -1; echo ${{PIPESTATUS[0]}}")
    assert ended.stdout == "1\n0\n", ended.stderr
    assert "REPLAY-EQUAL" in ended.stderr

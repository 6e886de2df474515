"""From launch to end: exit statuses, signals, kills, and what is left behind."""

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Final

import pytest

from hark.errors import ConfinementError
from launcher import build, kernel, landlock, network, seccomp, wire
from launcher.launch import launch
from launcher.plan import Access, Grant
from launcher.report import Ended
from launcher.supervise import Boundary
from launcher.watch import Watch
from tests.launcher.rig import (
    PATH,
    WHO,
    Result,
    apart,
    become_ordinary,
    contained,
    plan,
    project,
    python,
    run_here,
    shell,
    without,
)
from tests.support.waiting import until

FOREVER: Final = "exec sleep 60"
PR_SET_CHILD_SUBREAPER: Final = 36


def traces() -> dict[str, Any]:
    """What a run could leave on the host, apart from processes."""
    return {
        "mounts": Path("/proc/self/mounts").read_text(),
        "links": sorted(os.listdir("/sys/class/net")),
        "namespaces": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [],
    }


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    kernel.prctl("PR_SET_CHILD_SUBREAPER", PR_SET_CHILD_SUBREAPER, 1)


def descendants_end(seconds: float) -> bool:
    """Whether every descendant ends by itself in that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return True
    return False


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_the_agents_exit_code_is_passed_on(who: str) -> None:
    result = shell("exit 7", who=who)
    assert result.ended == Ended(code=7)


@pytest.mark.attack
def test_a_signal_is_reported_as_a_signal_and_as_a_shell_would() -> None:
    ended = shell("kill -SEGV $$").ended
    assert ended == Ended(signal=signal.SIGSEGV)
    assert ended.status == 128 + signal.SIGSEGV


@pytest.mark.attack
def test_a_program_that_is_not_there_is_127_and_never_started() -> None:
    result = contained(("no-such-program",), executable="/usr/bin/no-such-program")
    assert (result.error_kind, result.exit_code, result.ended) == ("NotFoundError", 127, None)
    assert result.error.startswith("no-such-program: no such file or directory")


@pytest.mark.attack
def test_a_program_without_execute_permission_is_126_in_the_agents_own_words() -> None:
    with project() as folder:
        script = folder / "agent.sh"

        def work() -> Result:
            script.write_text("#!/bin/sh\n")
            script.chmod(0o644)
            return run_here(plan(folder, ("agent.sh",), executable=str(script)))

        result = apart(work)
    assert (result.error_kind, result.exit_code) == ("NotExecutableError", 126)
    assert result.error == "agent.sh: permission denied"


@pytest.mark.attack
def test_a_missing_interpreter_is_named() -> None:
    with project() as folder:
        script = folder / "agent.py"

        def work() -> Result:
            script.write_text("#!/opt/python/bin/python\n")
            script.chmod(0o755)
            return run_here(plan(folder, ("agent.py",), executable=str(script)))

        result = apart(work)
    assert result.exit_code == 127
    assert "its interpreter /opt/python/bin/python is not inside the boundary" in result.error


@pytest.mark.attack
def test_a_script_without_a_first_line_is_the_shells() -> None:
    with project() as folder:
        script = folder / "plain"

        def work() -> Result:
            script.write_text("echo plain $1; exit 4\n")
            script.chmod(0o755)
            return run_here(plan(folder, ("plain", "word"), executable=str(script)))

        result = apart(work)
    assert (result.ended, result.out) == (Ended(code=4), "plain word\n")


@pytest.mark.attack
def test_a_working_directory_outside_every_grant_is_refused() -> None:
    result = shell("true", workdir="/opt/elsewhere")
    assert (result.error_kind, result.exit_code) == ("ConfinementError", 125)
    assert "/opt/elsewhere" in result.error


@pytest.mark.attack
def test_a_grant_that_does_not_exist_is_named() -> None:
    result = shell("true", more=(Grant("/no/such/folder", Access.READ, "-read"),))
    assert (result.error_kind, result.exit_code) == ("ConfinementError", 125)
    assert "/no/such/folder: no such file or directory" in result.error


@pytest.mark.attack
@pytest.mark.parametrize(
    ("module", "name"),
    [(landlock, "restrict"), (seccomp, "install"), (network, "build"), (landlock, "abi")],
    ids=["landlock", "seccomp", "network", "landlock-abi"],
)
def test_a_defence_that_fails_stops_the_start(module: Any, name: str) -> None:
    def fail(*_arguments: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)

    result = shell("echo ran", change=without(module, name, fail))
    assert (result.error_kind, result.exit_code, result.out) == ("ConfinementError", 125, "")


@pytest.mark.attack
def test_a_bug_in_the_launcher_is_reported_and_nothing_runs() -> None:
    result = shell("echo ran", change=without(build, "lay_out", lambda *_a: 1 / 0))
    assert (result.error_kind, result.out) == ("ConfinementError", "")
    assert "ZeroDivisionError" in result.error


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_terminating_signal_to_the_supervisor_reaches_the_agent_and_is_told_apart(number: int) -> None:
    def interrupt(_boundary: Boundary) -> None:
        os.kill(os.getpid(), number)

    result = shell(FOREVER, during=interrupt)
    assert result.ended == Ended(signal=number, passed_on=number)


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_terminating_signal_before_the_start_keeps_the_agent_from_starting(number: int) -> None:
    result = shell("echo ran", before=lambda _boundary: os.kill(os.getpid(), number))
    assert (result.error_kind, result.out, result.ended) == ("StoppedError", "", None)
    assert result.error == f"{signal.Signals(number).name} came before the agent was started"


@pytest.mark.attack
def test_another_signal_before_the_start_waits_for_the_agent() -> None:
    def early(boundary: Boundary) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        boundary.heed()

    assert shell(FOREVER, before=early).ended == Ended(signal=signal.SIGUSR1)


@pytest.mark.attack
def test_an_agent_that_handles_sigterm_ends_its_own_way_and_is_not_interrupted() -> None:
    script = "trap 'echo bye; exit 0' TERM; echo > up; while :; do sleep 0.05; done"

    def interrupt(boundary: Boundary) -> None:
        while not os.path.exists(os.path.join(boundary._plan.workdir, "up")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    result = shell(script, during=interrupt)
    assert (result.ended, result.out) == (Ended(code=0, passed_on=signal.SIGTERM), "bye\n")
    assert result.ended.interrupted is None


@pytest.mark.attack
def test_the_agents_own_death_by_sigterm_is_not_an_interruption() -> None:
    assert shell("kill -TERM $$").ended == Ended(signal=signal.SIGTERM)


@pytest.mark.attack
def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    result = shell("kill -HUP $$; echo lives", change=ignore)
    assert result.out == "lives\n"
    assert shell("kill -HUP $$; echo lives").out == ""


@pytest.mark.attack
def test_kill_from_another_thread_ends_the_whole_tree_and_says_why() -> None:
    def kill_soon(boundary: Boundary) -> None:
        threading.Timer(0.1, boundary.kill, ("the recorder failed",)).start()

    result = shell("setsid sleep 60 & exec sleep 60", during=kill_soon)
    assert result.ended == Ended(signal=signal.SIGKILL, killed="the recorder failed")


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_kill_before_the_start_stops_it(who: str) -> None:
    def work() -> str:
        with project("root") as folder, launch(plan(folder, ("/bin/true",))) as boundary:
            boundary.kill("changed my mind")
            try:
                boundary.start()
            except ConfinementError as error:
                return str(error)
        return "started"

    assert "changed my mind" in apart(work, who=who)


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_process_1_that_is_killed_before_it_has_read_the_start_is_a_failed_start(who: str) -> None:
    def work() -> str:
        with project("root") as folder, launch(plan(folder, ("/bin/true",))) as boundary:
            init = boundary._await("init").descriptors[0]
            boundary._await("ready")
            signal.pidfd_send_signal(init, signal.SIGSTOP)
            send = wire.send

            def send_and_kill(*arguments: Any, **options: Any) -> None:
                send(*arguments, **options)
                signal.pidfd_send_signal(init, signal.SIGKILL)

            wire.send = send_and_kill
            try:
                boundary.start()
            except ConfinementError as error:
                return str(error)
        return "started"

    assert "was ended by something else" in apart(work, who=who)


def test_the_agent_is_executed_while_something_else_is_done() -> None:
    with project() as folder:

        def work() -> bool:
            ran = folder / "ran"
            with launch(plan(folder, ("/bin/sh", "-c", "echo ran > ran"))) as boundary:
                boundary.start(meanwhile=lambda: until(ran.exists))
                return boundary.wait().code == 0

        assert apart(work)


def test_where_that_fails_the_agent_is_ended() -> None:
    with project() as folder:

        def fail() -> None:
            until((folder / "ran").exists)
            raise RuntimeError("no")

        def work() -> bool:
            read, write = os.pipe()
            os.dup2(write, 1)
            os.close(write)
            shell = ("/bin/sh", "-c", "echo ran > ran; exec sleep 600")
            with launch(plan(folder, shell)) as boundary, contextlib.suppress(RuntimeError):
                boundary.start(meanwhile=fail)
            os.close(1)
            return os.read(read, 1) == b""  # nobody inside holds the other end any more

        assert apart(work)


@pytest.mark.attack
def test_the_agent_is_held_until_start_and_files_come_with_it() -> None:
    with project() as folder:

        def work() -> tuple[bool, str]:
            script = "echo ran > ran; cat /run/hark/ca.pem /etc/ssl/certs/ca-certificates.crt"
            what = plan(folder, ("/bin/sh", "-c", script))
            read, write = os.pipe()
            os.dup2(write, 1)
            os.close(write)
            with launch(what) as boundary:
                assert boundary.facts
                early = (folder / "ran").exists()
                boundary.start({"/run/hark/ca.pem": b"CA\n", "/etc/ssl/certs/ca-certificates.crt": b"ALL\n"})
                boundary.wait()
            os.close(1)
            return early, os.read(read, 100).decode()

        early, out = apart(work)
    assert not early
    assert out == "CA\nALL\n"


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_facts_say_what_was_in_force(who: str) -> None:
    result = shell("id -u", who=who, masked=("absent",))
    facts = result.facts
    assert facts is not None
    assert str(facts.uid) == result.out.strip() != "0"
    assert facts.landlock_abi >= 1
    assert [path for path in facts.uncovered if path.endswith("/absent")] != []
    written = [grant for grant in facts.grants if grant.access == "write"]
    assert [grant.why for grant in written] == ["project directory"]
    expected = "root's files as the agent's own" if who == "root" else "as on disk"
    assert written[0].owners == expected


@pytest.mark.parametrize("who", WHO)
def test_an_agent_can_be_shown_other_ids_than_it_has_and_owns_what_it_makes(who: str) -> None:
    script = "touch new && stat -c %u:%g new . && id -u && id -g && id -un && cat /proc/self/uid_map"
    env = {"PATH": PATH, "USER": "ann", "HOME": "/home/agent"}
    result = shell(script, who=who, seen_as=(4242, 4343), env=env)
    assert result.err == ""
    new, folder, uid, gid, name, mapped = result.out.splitlines()
    assert (new, uid, gid, name) == ("4242:4343", "4242", "4343", "ann")
    assert folder.startswith("4242:")
    assert int(mapped.split()[1]) not in (0, 4242)
    assert result.facts is not None
    assert (result.facts.uid, result.facts.gid) == (4242, 4343)
    assert shell("id -u", who=who, env=env).out.strip() != "4242"


@pytest.mark.attack
def test_an_agent_is_never_shown_that_it_is_root() -> None:
    result = shell("id -u", seen_as=(0, 0))
    assert result.error_kind == "ConfinementError"
    assert result.out == ""


@pytest.mark.attack
def test_twenty_at_once_all_work() -> None:
    def start(folder: Path) -> tuple[int, int]:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            outcome = b"bad"
            try:
                result = run_here(plan(folder, ("/bin/sh", "-c", "exit 3")), gateway=False)
                outcome = b"good" if result.ended == Ended(code=3) else result.error.encode()
            finally:
                os.write(write, outcome)
                os._exit(0)
        os.close(write)
        return child, read

    def work() -> list[bytes]:
        with project("root") as folder:
            started = [start(folder) for _ in range(20)]
            outcomes = [os.read(read, 500) for _, read in started]
            for child, _ in started:
                os.waitpid(child, 0)
            return outcomes

    assert apart(work) == [b"good"] * 20


def _start_supervisor(folder: Path, who: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            if who != "root":
                become_ordinary()
            with launch(plan(folder, ("/bin/sh", "-c", "setsid sleep 60 & sleep 60"))) as boundary:
                boundary.start()
                boundary.wait()
        finally:
            os._exit(0)
    return child


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_sigkill_of_the_supervisor_at_any_moment_leaves_nothing(who: str) -> None:
    moments = random.Random(20).sample(range(250), 25)
    with project(who) as folder:

        def work() -> list[int]:
            adopt_orphans()
            survived = []
            for milliseconds in moments:
                child = _start_supervisor(folder, who)
                time.sleep(milliseconds / 1000)
                os.kill(child, signal.SIGKILL)
                if not descendants_end(60):
                    survived.append(milliseconds)
            return survived

        before = traces()
        assert apart(work, who="root") == []
        assert traces() == before
        assert list(folder.iterdir()) == []


@pytest.mark.attack
def test_a_boundary_that_stands_is_seen_by_the_check_for_survivors() -> None:
    with project() as folder:

        def work() -> tuple[bool, bool]:
            adopt_orphans()
            child = _start_supervisor(folder, "ordinary user")
            alive = not descendants_end(1)
            os.kill(child, signal.SIGKILL)
            return alive, descendants_end(60)

        assert apart(work, who="root") == (True, True)


@pytest.mark.attack
def test_a_holder_that_is_killed_takes_everything_with_it_and_the_supervisor_says_so() -> None:
    def accident(boundary: Boundary) -> None:
        assert boundary._child is not None
        os.kill(boundary._child, signal.SIGKILL)

    ended = shell(FOREVER, during=accident).ended
    assert ended is not None
    assert (ended.signal, ended.killed) == (
        signal.SIGKILL,
        "the process that holds the boundary was ended by something else",
    )


@pytest.mark.attack
@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), OSError(5, "Input/output error")])
def test_a_process_1_that_fails_while_the_agent_runs_says_why_it_ended(error: Exception) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    ended = shell("exit 3", change=without(Watch, "reap", fail)).ended
    assert ended == Ended(
        signal=signal.SIGKILL,
        killed=f"the process that watches the agent failed: {type(error).__name__}: {error}",
    )


@pytest.mark.attack
def test_everyday_programs_work_inside() -> None:
    script = """set -e
    echo x > /dev/null; cat /dev/zero | head -c 3 | wc -c; sleep 0 & wait
    git init -q . && git -c user.name=n -c user.email=e@x commit -q --allow-empty -m m
    git log --oneline | wc -l
    ls / > /dev/null; cat /etc/passwd | wc -l; echo hi > /tmp/x; echo $(whoami) $(hostname) $HOME
    touch $HOME/x; nproc > /dev/null; echo sub > >(cat) 2>/dev/null || true
    """
    result = contained(("/bin/bash", "-c", script))
    assert result.ended == Ended(code=0), result.err
    assert result.out.split("\n")[:4] == ["3", "1", "3", "agent hark /home/agent"]


@pytest.mark.attack
def test_python_uses_processes_semaphores_shared_memory_and_temporary_files() -> None:
    result = python(
        """
import multiprocessing as m, tempfile, socket, sqlite3, os
from multiprocessing import shared_memory
print(m.Pool(2).map(abs, [-1, -2]))
s = shared_memory.SharedMemory(create=True, size=10); s.unlink()
tempfile.NamedTemporaryFile().write(b"x")
sqlite3.connect("db").execute("pragma journal_mode=wal").fetchall()
l = socket.create_server(("127.0.0.1", 0))
print(socket.create_connection(l.getsockname()).getpeername()[0])
l6 = socket.create_server(("::1", 0), family=socket.AF_INET6); print(l6.getsockname()[0])
print(socket.gethostbyname("localhost"), os.getpid(), len(socket.if_nameindex()))
"""
    )
    assert result.out == "[1, 2]\n127.0.0.1\n::1\n127.0.0.1 2 2\n", result.err


@pytest.mark.attack
def test_output_redirected_to_a_file_can_be_opened_again_by_its_device_name() -> None:
    result = shell("echo one > /dev/stderr; echo two >> /dev/stdout")
    assert (result.out, result.err) == ("two\n", "one\n")


@pytest.mark.attack
@pytest.mark.parametrize("program", ["node", "java", "curl"])
def test_runtimes_start(program: str) -> None:
    words = {
        "node": ("-e", "console.log(os.networkInterfaces().lo.length > 0)"),
        "java": ("-version",),
        "curl": ("-sS", "-m", "5", "http://name.allowed.test:8080/"),
    }
    if shutil.which(program) is None:
        # Not part of what hark needs: the launcher's other tests do not depend on it.
        assert subprocess.run(["sh", "-c", f"command -v {program}"], check=False).returncode != 0
        return
    result = contained((program, *words[program]))
    if program == "curl":
        assert ("tcp", "198.18.0.7", 8080) in result.seen
    else:
        assert result.ended == Ended(code=0), result.err

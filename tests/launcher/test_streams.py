"""What the standard streams lead to is reached through them alone, and not opened anew for more."""

import fcntl
import os
import pty
import tempfile
from pathlib import Path

import pytest

from launcher import intake, streams
from tests.launcher.rig import SYSTEM_PYTHON, WHO, apart, plan, project, run_here, without

pytestmark = pytest.mark.attack

READ = "import os; print(os.read(0, 5)); print(os.lseek(0, 0, 0)); print(os.read(0, 99))"
WRITE = """
import os
try: os.write(os.open('/proc/self/fd/0', os.O_WRONLY), b'x'); print('wrote')
except OSError as error: print(type(error).__name__)
"""


def fed(program: str, *, who: str = "ordinary user", nested: bool = True, change=None) -> tuple[str, str]:
    """Run with a file as standard input; what was said, and what is in the file afterwards."""
    with project(who) as folder, tempfile.TemporaryDirectory() as outside:
        os.chmod(outside, 0o755)
        source = Path(outside) / "input"
        source.write_text("hello world")
        os.chmod(source, 0o666)
        what = plan(folder, (SYSTEM_PYTHON, "-I", "-c", program), nested=nested)
        result = apart(lambda: run_here(what, stdin=str(source)), who=who, change=change)
        return result.out or result.err + result.error, source.read_text()


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("nested", [True, False], ids=["nested", "plain"])
def test_a_file_as_input_is_read_and_sought_in(who: str, nested: bool) -> None:
    assert fed(READ, who=who, nested=nested)[0] == "b'hello'\n0\nb'hello world'\n"


@pytest.mark.parametrize("nested", [True, False], ids=["nested", "plain"])
def test_a_file_as_input_cannot_be_written(nested: bool) -> None:
    assert fed(WRITE, nested=nested) == ("PermissionError\n", "hello world")


def test_without_the_copy_a_nested_agent_writes_the_file() -> None:
    own = without(intake, "settle", lambda *_, **__: intake.Intake(intake.Kind.OTHER))
    assert fed(WRITE, change=own) == ("wrote\n", "xello world")


def test_a_terminal_for_output_alone_cannot_be_read() -> None:
    def work() -> list[int]:
        _master, slave = pty.openpty()
        for descriptor in (1, 2):
            os.dup2(slave, descriptor)
        streams.write_only_terminals()
        return [fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE for descriptor in (1, 2)]

    assert apart(work) == [os.O_WRONLY, os.O_WRONLY]


def test_the_agent_does_not_read_what_is_typed_where_only_its_errors_go() -> None:
    program = """
import os, select
try: print(select.select([2], [], [], 5)[0] and os.read(2, 9))
except OSError as error: print(type(error).__name__)
"""

    def work() -> str:
        master, slave = pty.openpty()
        os.write(master, b"secret\n")
        with project() as folder, tempfile.TemporaryFile() as out, open("/dev/null", "rb") as source:
            for number, descriptor in enumerate((source.fileno(), out.fileno(), slave)):
                os.dup2(descriptor, number)
            from launcher.launch import launch

            with launch(plan(folder, (SYSTEM_PYTHON, "-I", "-c", program))) as boundary:
                boundary.start()
                boundary.wait()
            out.seek(0)
            return out.read().decode()

    assert apart(work) == "OSError\n"
    assert apart(work, change=_readable) == "b'secret\\n'\n"


def _readable() -> None:
    from launcher import launch

    without(launch, "write_only_terminals")()


@pytest.mark.parametrize("background", [True, False])
def test_who_starts_in_the_background_has_no_input_from_the_terminal(background: bool) -> None:
    def work() -> str:
        child, master = pty.fork()
        if child == 0:
            # The session's leader stands for the shell; what it forks is a job of it.
            job = os.fork()
            if job == 0:
                if background:
                    os.setpgid(0, 0)
                streams.empty_input_in_background()
                os.write(1, f"<{os.isatty(0)}>".encode())
                os._exit(0)
            os.waitpid(job, 0)
            os._exit(0)
        said = b""
        while b">" not in said:
            said += os.read(master, 99)
        os.waitpid(child, 0)
        return said.decode()

    assert apart(work) == f"<{not background}>"


def test_an_input_that_is_no_terminal_is_kept() -> None:
    def work() -> bytes:
        read, write = os.pipe()
        os.write(write, b"x")
        os.dup2(read, 0)
        streams.empty_input_in_background()
        return os.read(0, 1)

    assert apart(work) == b"x"

"""Landlock holds where a mount would let through, and leaves everyday work alone."""

from pathlib import Path

import pytest

from hark.plan.executables import resolve
from launcher import kernel, landlock, mounts
from launcher.system import system_grants
from tests.launcher.rig import PATH, SYSTEM_PYTHON, WHO, python, shell, without

pytestmark = pytest.mark.attack


@pytest.mark.parametrize("who", WHO)
def test_landlock_alone_keeps_the_root_from_being_written(who: str) -> None:
    writable = without(mounts, "_make_read_only")
    assert shell("echo x > /planted && echo wrote", who=who, change=writable).out == ""

    def both() -> None:
        writable()
        without(landlock, "restrict")()

    assert shell("echo x > /planted && echo wrote", who=who, change=both).out == "wrote\n"


def test_the_agent_cannot_signal_process_1() -> None:
    program = """
import os
try: os.kill(1, 0); print("signalled")
except OSError as error: print(type(error).__name__)
"""
    assert python(program).out == "PermissionError\n"
    assert python(program, change=without(landlock, "restrict")).out == "signalled\n"


def test_signals_and_abstract_sockets_inside_the_tree_work() -> None:
    program = """
import os, signal, socket
s = socket.socket(socket.AF_UNIX); s.bind("\\0own"); s.listen()
child = os.fork()
if child == 0:
    c = socket.socket(socket.AF_UNIX); c.connect("\\0own"); signal.pause()
s.accept(); os.kill(child, signal.SIGTERM); print(os.waitpid(child, 0)[1])
"""
    assert python(program).out == "15\n"


def test_files_are_moved_between_folders_of_one_grant() -> None:
    program = """
import os
os.makedirs("a"); os.makedirs("b"); open("a/f", "w").write("x")
os.rename("a/f", "b/g"); os.link("b/g", "a/h"); os.truncate("b/g", 0); print(os.stat("a/h").st_nlink)
"""
    assert python(program).out == "2\n"


def test_the_abi_is_the_kernels() -> None:
    assert landlock.abi() == kernel.syscall(444, "landlock_create_ruleset", None, 0, 1)


def listed(*entries: str) -> tuple[str, ...]:
    return resolve(entries, SYSTEM_PYTHON, PATH, "/home/agent", system_grants())


@pytest.mark.parametrize("who", WHO)
def test_where_programs_are_listed_libraries_are_loaded_and_listed_programs_run(who: str) -> None:
    program = """
import ctypes, multiprocessing, os, sqlite3, ssl, subprocess, sys
print(subprocess.run(["git", "--version"], capture_output=True, text=True).stdout[:3])
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
print(len(os.listdir("/usr/bin")) > 9, os.path.exists("/usr/bin/id"), os.access("/usr/bin/id", os.R_OK))
"""
    result = python(program, who=who, executables=listed("git"))
    assert result.out.split() == ["git", "42", "True", "True", "True"], result.err


def test_a_listed_script_runs_only_with_its_interpreter_on_the_list() -> None:
    program = "import subprocess; print(subprocess.run(['./s'], capture_output=True, text=True).stdout)"

    def prepare(folder: Path) -> None:
        (folder / "s").write_text("#!/bin/sh\necho ran\n")
        (folder / "s").chmod(0o755)

    def run(*entries: str) -> str:
        def with_the_script(folder: Path) -> None:
            prepare(folder)
            change_plan(folder)

        def change_plan(folder: Path) -> None:
            real = landlock.restrict

            def restrict(view, shown, *, nested, executables):
                real(view, shown, nested=nested, executables=(*executables, f"{folder}/s"))

            landlock.restrict = restrict

        return python(program, prepare=with_the_script, executables=listed(*entries)).out

    assert run() == ""
    assert run("sh") == "ran\n\n"


def test_files_that_the_launcher_wrote_stay_executable() -> None:
    result = python(
        "import os; print(os.access('/run/hark/tool', os.R_OK), open('/run/hark/tool').read())",
        executables=listed(),
        files={"/run/hark/tool": b"#!x"},
    )
    assert result.out == "True #!x\n"


OWN_SANDBOX = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
def call(*args):
    return libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
ruleset = call(444, struct.pack("Q", (1 << 13) - 1), 8, 0)
root = os.open("/", os.O_PATH)
read = 1 << 0 | 1 << 2 | 1 << 3
assert call(445, ruleset, 1, struct.pack("=Qi", read, root), 0) == 0
assert libc.prctl(38, 1, 0, 0, 0) == 0 and call(446, ruleset, 0) == 0
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
header = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
assert call(317 if os.uname().machine == "x86_64" else 277, 1, 0, header) == 0
try: open("f", "w"); print("wrote")
except OSError as error: print(type(error).__name__)
print(len(os.listdir("/usr")) > 3, os.system("true"))
"""


@pytest.mark.parametrize("nested", [False, True], ids=["plain", "nested"])
@pytest.mark.parametrize("who", WHO)
def test_a_sandbox_of_the_agents_own_by_landlock_and_seccomp_stacks(who: str, nested: bool) -> None:
    result = python(OWN_SANDBOX, who=who, nested=nested)
    assert result.out.split() == ["PermissionError", "True", "0"], result.err

"""Landlock holds where a mount would let through, and leaves everyday work alone."""

import pytest

from launcher import kernel, landlock, mounts
from tests.launcher.rig import WHO, python, shell, without

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

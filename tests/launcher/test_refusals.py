"""A user namespace is refused by process 1, which learns who asked."""

import errno
import fcntl
import os
import shutil
import struct

import pytest

from launcher import kernel, refusals, seccomp
from launcher.numbers import NUMBERS, X86_64
from launcher.refusals import MAX_NAMES, MAX_REACHED, Refusals
from tests.launcher.rig import SYSTEM_PYTHON, WHO, python, shell

pytestmark = pytest.mark.attack

ASK = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def ask(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
    got = libc.unshare(0x10000000)
    return ctypes.get_errno() if got else 0
"""


def _asking(_listener: int, request: int, buffer: bytearray | bytes) -> int:
    """Stand for the kernel: a thread that waits in getrandom, whenever one is asked for."""
    if request == refusals._RECEIVE and isinstance(buffer, bytearray):
        struct.pack_into("=QIIi", buffer, 0, 1, 2, 0, NUMBERS["getrandom"][seccomp.architecture()] or 0)
    return 0


@pytest.mark.parametrize("who", WHO)
def test_whoever_asks_gets_eperm_and_is_told_of_once(who: str) -> None:
    result = python(f"{ASK}\nprint([ask('bwrap') for _ in range(3)], ask('chrome'))", who=who)
    assert result.out == "[1, 1, 1] 1\n"
    assert result.ended is not None
    assert result.ended.refused == ("bwrap", "chrome")


def test_who_asked_for_nothing_is_not_told_of() -> None:
    result = shell("true & wait; (exit 3)")
    assert result.ended is not None
    assert result.ended.refused == ()


def test_names_are_counted_and_their_bytes_are_harmless() -> None:
    result = python(f"{ASK}\nfor n in range(99): ask(f'n{{n}}')\nprint('still here')")
    assert result.out == "still here\n"
    assert result.ended is not None
    assert len(result.ended.refused) == MAX_NAMES
    odd = python(f"{ASK}\nlibc.prctl(15, b'x\\xff', 0, 0, 0); libc.unshare(0x10000000)")
    assert odd.ended is not None
    assert odd.ended.refused == ("x\ufffd",)


@pytest.mark.parametrize("shim", [True, False])
def test_a_program_that_draws_again_and_again_is_looked_at_once_for_each_name(
    monkeypatch: pytest.MonkeyPatch, shim: bool
) -> None:
    """Reading the mappings of one that has many takes process 1, which looks at no limit meanwhile."""
    looked: list[int] = []
    monkeypatch.setattr("launcher.refusals.has_shim", lambda process: looked.append(process) or shim)
    monkeypatch.setattr(fcntl, "ioctl", _asking)
    names = iter(["one"] * 50 + [f"n{n}" for n in range(5000)])
    monkeypatch.setattr("launcher.refusals._name", lambda _process: next(names))
    monkeypatch.setattr(Refusals, "_write", lambda *_: (0, 0))
    heard = Refusals(-1)
    told = [heard.answer() for _ in range(50)]
    assert len(looked) == 1
    assert told == [None if shim else ("unreached", "one"), *[None] * 49]
    rest = [heard.answer() for _ in range(5000)]
    assert len(looked) == (MAX_REACHED if shim else MAX_NAMES)
    assert len([one for one in rest if one]) == (0 if shim else MAX_NAMES - 1)


def test_a_caller_that_is_killed_while_it_waits_does_no_harm() -> None:
    program = f"""{ASK}
import signal
for _ in range(40):
    child = os.fork()
    if child == 0:
        while True: ask('busy')
    os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
print(ask('last'))
"""
    result = python(program)
    assert result.out == "1\n"
    assert result.ended is not None
    assert result.ended.killed is None
    assert "last" in result.ended.refused


def test_a_program_that_was_executed_by_a_descriptor_is_named_by_its_file() -> None:
    """By its path below /proc the kernel calls it by the descriptor's number."""
    asking = "import ctypes; ctypes.CDLL(None).unshare(0x10000000); print(open('/proc/self/comm').read())"
    words = f"['any', '-I', '-c', {asking!r}]"
    opened = "fd = os.open(sys.executable, os.O_RDONLY)"
    result = python(f"import os, sys\n{opened}\nos.execve(f'/proc/self/fd/{{fd}}', {words}, os.environ)")
    assert result.out.strip().isdigit(), result.error
    assert result.ended is not None
    assert result.ended.refused == (os.path.basename(os.path.realpath(SYSTEM_PYTHON)),)


def test_where_nesting_is_allowed_nobody_is_asked() -> None:
    result = python(f"{ASK}\nprint(ask('bwrap'))", nested=True)
    assert result.out == "0\n"
    assert result.ended is not None
    assert result.ended.refused == ()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("who", WHO)
def test_bubblewrap_works_where_nesting_is_allowed_and_is_named_where_not(who: str) -> None:
    script = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --unshare-net sh -c 'echo $$'"
    nested = shell(script, who=who, nested=True)
    assert nested.out == "2\n", nested.err
    refused = shell(script, who=who)
    assert refused.ended is not None
    assert (refused.out, refused.ended.refused) == ("", ("bwrap",))


def test_where_somebody_listens_already_it_is_refused_all_the_same() -> None:
    def listen_above() -> None:
        kernel.no_new_privileges()
        assert seccomp.install([(0x06, 0, 0, 0x7FFF0000)], listen=True) is not None

    result = python(f"{ASK}\nprint(ask('bwrap'))", change=listen_above)
    assert result.out == f"{errno.ENOSYS}\n", result.error
    assert result.ended is not None
    assert (result.ended.refused, result.ended.unheard) == ((), False)  # nothing was to be answered
    seeded = python("print(1)", change=listen_above, seed=bytes(32))
    assert seeded.ended is not None
    assert seeded.ended.unheard == (seccomp.architecture() == X86_64)

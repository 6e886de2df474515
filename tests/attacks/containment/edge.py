"""Traps 3, 6 and 14: what the kernel offers besides files and sockets, each call by a program of its own."""

import os
import time
from collections.abc import Callable
from typing import Any, Final

from launcher import confine, kernel, landlock, mounts, seccomp
from launcher.covers import Covers
from tests.attacks.containment.calls import CALL, NO_FILTER
from tests.attacks.containment.programs import CALLER, TRY, as_root, inside, judge, outside
from tests.attacks.registry import Outcome, add, attack
from tests.launcher.rig import SYSTEM_PYTHON, Result, apart, plan, project, run_here, without

CALLS: Final = {
    "name a file by handle": (
        "lambda: call(303, 264, n(-100), b'/usr', struct.pack('Ii', 128, 0) + bytes(128), ctypes.byref(ctypes.c_int()), n(0))"
    ),
    "compare the kernel's objects (kcmp)": "lambda: call(312, 272, n(os.getpid()), n(os.getpid()), n(0), n(0), n(0))",
    "watch a whole file system (fanotify)": "lambda: call(300, 262, n(0x200), n(0))",
    "put a key where the host keeps its own": "lambda: call(248, 217, b'user', b'hark', b'x', n(1), n(-2))",
    "list mounts that no path leads to": (
        "lambda: call(458, 458, struct.pack('IIQQQ', 32, 0, 0xffffffffffffffff, 0, 0), ctypes.create_string_buffer(800), n(9), n(0))"
    ),
    "live in another personality": "lambda: call(135, 92, n(0x400000))",
    "limit the processor time of process 1": "lambda: call(302, 261, n(1), n(0), struct.pack('QQ', 1 << 40, 1 << 40), n(0))",
    "signal by pidfd": "lambda: call(424, 424, n(call(434, 434, n(os.getpid()), n(0))), n(0), n(0), n(0))",
    "take a descriptor out of another process": "lambda: call(438, 438, n(call(434, 434, n(os.getpid()), n(0))), n(0), n(0))",
    "use POSIX asynchronous IO of the kernel": "lambda: call(206, 0, n(1), ctypes.byref(ctypes.c_long(0)))",
}
LINE: Final = """
import fcntl, pty, termios
child, master = pty.fork()
if child == 0:
    try: fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('SUCCEEDED', flush=True)
    except OSError as error: print('REFUSED', error, flush=True)
    os._exit(0)
said = b''
try:
    while chunk := os.read(master, 99): said += chunk
except OSError: pass  # the end of a terminal
print(said.decode().replace('x', ''))
"""


def _register(trap: int, name: str, program: str, change: Callable[[], Any] = NO_FILTER) -> None:
    text = f"{CALL}\n{program}\n"
    add(trap, name, lambda: inside(text), lambda: inside(text, change=change))


for _name, _action in CALLS.items():
    _register(6, _name, f"attempt({_action})")
_register(6, "type into a terminal (TIOCSTI)", LINE)

_register(
    3,
    "lower the limit on core dumps to 0, at which the host's core_pattern program is started",
    """
import resource
def lower():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0: raise OSError('it stays')
attempt(lower)
""",
)
_register(
    3,
    "start with a limit on core dumps that starts the host's core_pattern program",
    """
import resource
limit = resource.getrlimit(resource.RLIMIT_CORE)[0]
print('SUCCEEDED' if limit != 1 else 'REFUSED', limit)
""",
    without(confine, "of_dumps", lambda: 0),
)


OLD_ABI: Final = """
import mmap, platform
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))  # mov eax, 20 (getpid of i386); int 0x80; ret
child = os.fork()
if child == 0:
    got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    os._exit(0 if got == os.getpid() else 3)
status = os.waitpid(child, 0)[1]
print('SUCCEEDED' if status == 0 else 'REFUSED', status)
"""
if os.uname().machine == "x86_64":
    _register(6, "call by the numbers of i386", OLD_ABI)


PRIVILEGED: Final = {
    "load a map for BPF": "lambda: call(321, 280, n(0), struct.pack('5I', 1, 4, 4, 1, 0), n(20))",
    "count performance events": "lambda: call(298, 241, struct.pack('IIQ', 1, 64, 0) + bytes(48), n(0), n(-1), n(-1), n(0))",
    "read the kernel's log": "lambda: call(103, 116, n(10), n(0), n(0))",
    "begin a mount by the new calls": "lambda: call(430, 430, b'tmpfs', n(0))",
    "copy a tree of mounts": "lambda: call(428, 428, n(-100), b'/', n(1))",
    "join a namespace": "lambda: call(308, 268, n(os.open('/proc/self/ns/uts', os.O_RDONLY)), n(0))",
    "make a network of one's own": "lambda: call(272, 97, n(0x40000000))",
    "leave the root": "lambda: call(161, 51, b'/')",
    "open a file by handle": """lambda: (
    lambda handle, mount: (
        call(303, 264, n(-100), b'/usr', handle, ctypes.byref(mount), n(0)),
        call(304, 265, n(os.open('/usr', os.O_RDONLY)), handle, n(os.O_RDONLY)),
    )
)(ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136), ctypes.c_int())""",
}
if as_root():
    # Only root could do these without the filter: what they are compared with is root outside.
    for _name, _action in PRIVILEGED.items():
        _whole = f"{CALL}\nattempt({_action})\n"
        add(6, _name, lambda whole=_whole: inside(whole), lambda whole=_whole: outside(whole))


def _open_process_1() -> None:
    """Landlock, capabilities and dumpability each suffice, so all three go."""
    set_dumpable, drop = kernel.set_dumpable, kernel.drop_capabilities

    def open_up(*, dumpable: bool) -> None:
        set_dumpable(dumpable=True)
        if not dumpable:
            drop()

    without(landlock, "restrict")()
    without(kernel, "set_dumpable", open_up)()


_register(
    14, "trace process 1", "attempt(lambda: call(101, 117, n(0x4206), n(1), n(0), n(0)))", _open_process_1
)
_register(
    14,
    "read the memory of process 1 by process_vm_readv",
    """
def peek():
    space = ctypes.create_string_buffer(16)
    try: return call(310, 270, n(1), struct.pack('QQ', ctypes.addressof(space), 16), n(1), struct.pack('QQ', 4096, 16), n(1), n(0))
    except OSError as error:
        if error.errno != errno.EFAULT: raise
        return 'whatever is mapped'  # nothing is at that address, which is only asked once the right to read is there
attempt(peek)
""",
    _open_process_1,
)

HOST_FILES: Final = ("interrupts", "kallsyms", "iomem", "locks", "timer_list", "key-users")
for _file in HOST_FILES:
    if os.path.exists(f"/proc/{_file}") and (as_root() or os.access(f"/proc/{_file}", os.R_OK)):
        _text = f"attempt(lambda: len(open('/proc/{_file}').read(99)))\n"
        add(
            14,
            f"read the host's /proc/{_file}",
            lambda text=_text: inside(text),
            lambda text=_text: outside(text),
        )
if os.path.exists("/proc/pressure/cpu"):
    _text = "attempt(lambda: os.close(os.open('/proc/pressure/cpu', os.O_WRONLY)))\n"
    add(
        3,
        "set a trigger on the host's load",
        lambda: inside(_text),
        lambda: inside(_text, change=without(mounts, "_PROC_READ_ONLY", ())),
    )


def _capable_file(change: Callable[[], Any] | None = None) -> Outcome:
    from tests.attacks.containment.nested import OWNER

    program = f"""{OWNER}
import struct
own(USER | NS)
open('tool', 'w').close()
grant = struct.pack('<5I', 0x02000001, 1 << 21, 0, 0, 0)
attempt(lambda: done(libc.setxattr(b'tool', b'security.capability', grant, len(grant), 0)))
"""
    return inside(program, nested=True, change=change)


add(
    3,
    "nested: make a file of root's that gives a capability of the host's",
    _capable_file,
    lambda: _capable_file(without(seccomp, "UNNESTED", {})),
)


@attack(trap=15, name="read a masked file that an editor outside has saved anew")
class SavedAnew:
    """The cover goes with the old file. The agent may look once before it is back, so this one looks for long."""

    PROGRAM = """
import time
open('ready', 'w').close()
def long():
    while not os.path.exists('go'): time.sleep(0.01)
    end = time.monotonic() + GIVEN
    while time.monotonic() < end: open('.env').read(); time.sleep(0.01)
    return open('.env').read()
attempt(long)
"""

    @staticmethod
    def run(change: Callable[[], Any] | None = None) -> Outcome:
        def work() -> Result:
            (folder / ".env").write_text("old")

            def during(_boundary: object) -> None:
                while not (folder / "ready").exists():
                    time.sleep(0.01)
                (folder / "new").write_text("new")
                os.replace(folder / "new", folder / ".env")
                (folder / "go").touch()

            argv = (
                SYSTEM_PYTHON,
                "-I",
                "-c",
                TRY + SavedAnew.PROGRAM.replace("GIVEN", "0.5" if change else "60"),
            )
            return run_here(plan(folder, argv, masked=(f"{folder}/.env",)), during=during)

        with project(CALLER) as folder:
            return judge(apart(work, who=CALLER, change=change))

    @staticmethod
    def defended() -> Outcome:
        return SavedAnew.run()

    @staticmethod
    def undefended() -> Outcome:
        return SavedAnew.run(without(Covers, "restore", lambda _self: []))

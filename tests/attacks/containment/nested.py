"""Traps 3, 6 and 15 with `[sandbox] nested = true`: what the owner of a user namespace of its own gains."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hark.errors import PolicyError
from hark.plan import nesting
from launcher import kernel, seccomp, trees
from tests.attacks.containment.host import OPEN_FOR_WRITING
from tests.attacks.containment.programs import as_root, inside, outside
from tests.attacks.registry import Outcome, Verdict, add, attack
from tests.launcher.rig import plan, without

SECRET: Final = "hark-secret-77c0"

OWNER: Final = """
libc = ctypes.CDLL(None, use_errno=True)
def done(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
NS, CGROUP, USER, PID, NET, TIME = 0x20000, 0x2000000, 0x10000000, 0x20000000, 0x40000000, 0x80
BIND, REC, SLAVE, REMOUNT, DETACH = 4096, 16384, 1 << 19, 32, 2  # and NOSUID is 2, NODEV is 4
def own(flags):
    uid, gid = os.getuid(), os.getgid()
    done(libc.unshare(flags))
    for name, value in (('setgroups', 'deny'), ('uid_map', f'0 {uid} 1'), ('gid_map', f'0 {gid} 1')):
        with open('/proc/self/' + name, 'w') as file: file.write(value)
def mount(source, target, kind, flags, data=None):
    text = lambda value: value and value.encode()
    return done(libc.mount(text(source), target.encode(), text(kind), ctypes.c_ulong(flags), text(data)))
def in_child(action):
    # A new process namespace begins with the next child.
    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(write, 1); attempt(action); sys.stdout.flush(); os._exit(0)
    os.close(write); print(open(read).read())
here = os.getcwd()
"""
"""Start of a program that owns namespaces. `own` maps the caller to uid 0."""


def _prepare(folder: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / ".env").write_text(SECRET)
    (folder / "aside").mkdir()


def _with_a_mask(name: str, action: str) -> None:
    """The mask lies in a read-only grant: in a writable one, nested runs are refused (see `MovedAside`)."""
    program = f"{OWNER}\nown(USER | NS)\n{action}"

    def run(masked: tuple[str, ...]) -> Outcome:
        return inside(program, prepare=_prepare, masked=masked, nested=True)

    add(15, f"nested: {name}", lambda: run(("kept/.env",)), lambda: run(()))


_with_a_mask(
    "bind the folder without its mask",
    f"""
def bare():
    os.makedirs('/tmp/bare'); mount(here + '/kept', '/tmp/bare', None, BIND)
    if {SECRET!r} not in open('/tmp/bare/.env').read(): raise OSError('masked')
attempt(bare)
""",
)
_with_a_mask(
    "lay an overlay over the folder, whose lower layer has no mask",
    f"""
def overlaid():
    for name in ('up', 'all'): os.makedirs('/tmp/o/' + name)
    mount('tmpfs', '/tmp/o/up', 'tmpfs', 0); os.makedirs('/tmp/o/up/up'); os.makedirs('/tmp/o/up/work')
    options = f'lowerdir={{here}}/kept,upperdir=/tmp/o/up/up,workdir=/tmp/o/up/work,userxattr'
    mount('overlay', '/tmp/o/all', 'overlay', 0, options)
    if {SECRET!r} not in open('/tmp/o/all/.env').read(): raise OSError('masked')
attempt(overlaid)
""",
)
_with_a_mask(
    "unmount the mask",
    f"""
def unmounted():
    libc.umount2((here + '/kept/.env').encode(), DETACH)
    if {SECRET!r} not in open(here + '/kept/.env').read(): raise OSError('masked')
attempt(unmounted)
""",
)
_with_a_mask(
    "pivot away and look through a folder that is still open",
    f"""
def pivoted():
    os.makedirs('/tmp/n'); mount('tmpfs', '/tmp/n', 'tmpfs', 0); os.makedirs('/tmp/n/old')
    folder = os.open(here + '/kept', os.O_RDONLY)
    os.chdir('/tmp/n'); done(libc.pivot_root(b'/tmp/n', b'/tmp/n/old')); os.chdir('/')
    done(libc.umount2(b'/old', DETACH))
    seen = os.read(os.open('.env', os.O_RDONLY, dir_fd=folder), 99)
    if {SECRET.encode()!r} not in seen: raise OSError('masked')
attempt(pivoted)
""",
)

MOVE: Final = f"""
os.makedirs('/tmp/n'); mount('tmpfs', '/tmp/n', 'tmpfs', 0)
os.makedirs('/tmp/n/old'); os.makedirs('/tmp/n/aside')
folder = os.open(here, os.O_RDONLY)
mount(here + '/aside', '/tmp/n/aside', None, BIND)
os.chdir('/tmp/n'); done(libc.pivot_root(b'/tmp/n', b'/tmp/n/old')); os.chdir('/')
done(libc.umount2(b'/old', DETACH))
def move():
    os.rename('kept/.env', 'aside/seen', src_dir_fd=folder, dst_dir_fd=folder)
    if {SECRET!r} not in open('/aside/seen').read(): raise OSError('masked')
attempt(move)
"""


@attack(trap=15, name="nested: move a masked file to where no mask lies over it")
class MovedAside:
    """No mount prevents this one in a folder that the agent may write: so a run that needs it is refused."""

    PROGRAM = f"{OWNER}\nown(USER | NS)\n{MOVE}"

    @staticmethod
    def defended() -> Outcome:
        folder = Path("/srv/project")
        try:
            nesting.check(plan(folder, ("true",), masked=(f"{folder}/kept/.env",), nested=True), ())
        except PolicyError as error:
            return Outcome(Verdict.REFUSED, str(error))
        return MovedAside.undefended()

    @staticmethod
    def undefended() -> Outcome:
        return inside(MovedAside.PROGRAM, prepare=_prepare, masked=("kept/.env",), nested=True)


def _changing(trap: int, name: str, program: str, change: Callable[[], Any]) -> None:
    text = f"{OWNER}\n{program}"
    add(
        trap,
        f"nested: {name}",
        lambda: inside(text, nested=True),
        lambda: inside(text, nested=True, change=change),
    )


def _writable_trees() -> None:
    real = trees.kernel.mount_setattr

    def setattr_without(tree: int, attributes: int, *args: Any, **kwargs: Any) -> None:
        real(tree, attributes & ~kernel.ATTR_RDONLY, *args, **kwargs)

    trees.kernel.mount_setattr = setattr_without


_changing(
    3,
    "make a read-only grant writable",
    "own(USER | NS)\nattempt(lambda: mount(None, '/usr', None, REMOUNT | BIND | 6))\n",
    _writable_trees,
)
_changing(
    6,
    "mount the cgroup tree, in which the supervisor stands too",
    "attempt(lambda: (own(USER | NS | CGROUP), mount('cgroup2', '/tmp', 'cgroup2', 0)))\n",
    without(seccomp, "install"),
)
_changing(
    3,
    "take the processors from process 1, which holds the limits",
    "own(USER)\nattempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))\n",
    without(seccomp, "install"),
)
_changing(
    6,
    "make a time namespace",
    "attempt(lambda: own(USER | TIME))\n",
    without(seccomp, "install"),
)
_changing(
    4,
    "drive nf_tables in a network of one's own",
    "own(USER | NET)\nattempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12).close())\n",
    without(seccomp, "install"),
)
_changing(
    6,
    "use the new mount calls, whose flags lie in memory",
    "own(USER | NS)\nattempt(lambda: done(libc.syscall(ctypes.c_long(430), b'tmpfs', ctypes.c_long(0))))\n",
    without(seccomp, "install"),
)
_changing(
    6,
    "join a namespace by its descriptor",
    "own(USER | NS)\nattempt(lambda: done(libc.setns(os.open('/proc/self/ns/mnt', os.O_RDONLY), 0)))\n",
    without(seccomp, "install"),
)

IN_NEW_PROC: Final = """
own(USER | NS | PID)
def opened():
    os.makedirs('/tmp/p'); mount('proc', '/tmp/p', 'proc', 0)
    return os.close(os.open('/tmp/p/SETTING', os.O_WRONLY))
in_child(opened)
"""
if as_root():
    # It is not masked, or the kernel would let nobody mount another: all of it belongs to the host's root.
    for _setting in (
        "sys/kernel/core_pattern",
        "sys/vm/swappiness",
        "sysrq-trigger",
        "irq/default_smp_affinity",
    ):
        if os.path.exists(f"/proc/{_setting}"):
            _text = f"{OWNER}\n{IN_NEW_PROC}".replace("SETTING", _setting)
            _plain = OPEN_FOR_WRITING.format(path=f"/proc/{_setting}")
            add(
                3,
                f"nested: open {_setting} of a new /proc for writing, started by root",
                lambda text=_text: inside(text, nested=True),
                lambda plain=_plain: outside(plain),
            )

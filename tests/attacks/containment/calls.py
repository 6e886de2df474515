"""Traps 4 and 6: system calls and socket families that a list of denied calls leaves open."""

from typing import Final

from launcher import seccomp
from tests.attacks.containment.programs import inside
from tests.attacks.registry import Outcome, add
from tests.launcher.rig import without

NO_FILTER: Final = without(seccomp, "install")

CALL: Final = """
import errno, platform, struct
libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
ARM = platform.machine() == "aarch64"
def call(x86, arm, *args):
    got = libc.syscall(ctypes.c_long(arm if ARM else x86), *args)
    if got < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return got
n = ctypes.c_long
def pair(*args):
    # The kernel has made both sockets when it finds that the family has no pairs.
    try:
        socket.socketpair(*args)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
"""
USER_NAMESPACE: Final = 0x10000000

ATTACKS: Final = {
    "unshare a user namespace": f"lambda: call(272, 97, n({USER_NAMESPACE}))",
    # A child that is made ends at once: it returns 0 from the call as the parent's copy.
    "clone into a user namespace": (
        f"lambda: (lambda p: os._exit(0) if p == 0 else p)"
        f"(call(56, 220, n({USER_NAMESPACE} | 17), n(0), n(0), n(0), n(0)))"
    ),
    "hide namespace flags in clone3's memory": (
        f"lambda: (lambda p: os._exit(0) if p == 0 else p)"
        f"(call(435, 435, struct.pack('8Q', {USER_NAMESPACE}, 0, 0, 0, 17, 0, 0, 0), n(64)))"
    ),
    "use io_uring": "lambda: call(425, 425, n(4), ctypes.create_string_buffer(120))",
    "use userfaultfd": "lambda: call(323, 282, n(1))",
    "make a program without a file (memfd_create)": "lambda: call(319, 279, b'x', n(0))",
    "keep pages in a pipe that no limit counts (vmsplice)": (
        "lambda: (lambda end, room: call(278, 75, n(end), struct.pack('2Q', ctypes.addressof(room), 8), n(1),"
        " n(0)))(os.pipe()[1], ctypes.create_string_buffer(8))"
    ),
    "open a pidfd": "lambda: call(434, 434, n(os.getpid()), n(0))",
    "use the session keyring": "lambda: call(250, 219, n(0), n(-3), n(1))",
    "set a setuid bit through openat2": (
        "lambda: call(437, 437, n(-100), b'/tmp/x', struct.pack('3Q', 0o101, 0o4755, 0), n(24))"
    ),
    "create a file that is born setuid": (
        "lambda: os.close(os.open('/tmp/born', os.O_CREAT | os.O_WRONLY, 0o6755))"
    ),
}
SOCKETS: Final = {
    "open a netlink uevent socket": "lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15).close()",
    "open a packet-filter netlink socket": (
        "lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12).close()"
    ),
    "reach packet-filter netlink through socketpair": "lambda: pair(socket.AF_NETLINK, socket.SOCK_RAW, 12)",
}


def _register(trap: int, name: str, action: str) -> None:
    program = f"{CALL}\nattempt({action})\n"

    def defended() -> Outcome:
        return inside(program)

    def undefended() -> Outcome:
        return inside(program, change=NO_FILTER)

    add(trap, name, defended, undefended)


for _name, _action in ATTACKS.items():
    _register(6, _name, _action)
for _name, _action in SOCKETS.items():
    _register(4, _name, _action)

"""What the host must be able to do for tests that run against the kernel: asked once, in a child.

A host that cannot is a reason for these tests to fail, not to be skipped: silence would read as containment.
"""

import ctypes
import functools
import os
from typing import Final

from tests.support.user import UID

PR_SET_DUMPABLE: Final = 4
ADVICE: Final = (
    "this host gives ordinary users no user namespace with a network in it, which hark needs; "
    "`hark doctor` names the setting to change"
)


@functools.cache
def what_is_missing() -> str | None:
    """One sentence for the person who runs the tests, or None where the host can run them."""
    child = os.fork()
    if child == 0:
        try:
            _unshare_as_an_ordinary_user()
        except OSError:
            os._exit(1)
        os._exit(0)
    return None if os.waitpid(child, 0)[1] == 0 else ADVICE


def _unshare_as_an_ordinary_user() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # /proc/self is root's after the change of uid
    uid = os.geteuid()
    os.unshare(os.CLONE_NEWUSER)
    with open("/proc/self/uid_map", "wb") as file:  # bytes: a codec may lie where this uid cannot read
        file.write(b"%d %d 1" % (uid, uid))
    os.unshare(os.CLONE_NEWNET)  # refused here where a security module takes the capabilities away

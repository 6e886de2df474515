"""Why a step of the launcher failed, in one sentence that names the setting to change.

Reads sysctls only. `launcher.doctor` asks the same questions before anything is started.
"""

import errno
import os
from typing import Final

_APPARMOR: Final = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_CLONE: Final = "/proc/sys/kernel/unprivileged_userns_clone"
_LIMIT: Final = "/proc/sys/user/max_user_namespaces"

NO_USER_NAMESPACE: Final = "cannot create a user namespace"


def _setting(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().strip().decode()
    except OSError:
        return ""


def user_namespaces() -> str:
    """The setting that keeps this user from user namespaces, with its remedy; empty if none is known."""
    if _setting(_LIMIT) == "0":
        return "user namespaces are switched off: set user.max_user_namespaces to 10000 with sysctl"
    if os.getuid() == 0:
        return ""
    if _setting(_CLONE) == "0":
        return (
            "unprivileged user namespaces are switched off: "
            "set kernel.unprivileged_userns_clone to 1 with sysctl"
        )
    if _setting(_APPARMOR) == "1":
        return (
            "AppArmor restricts unprivileged user namespaces: set "
            "kernel.apparmor_restrict_unprivileged_userns to 0 with sysctl, or give hark's Python a profile "
            "with `userns,`"
        )
    return ""


def container() -> str:
    """What to change when no setting of the host is in the way."""
    return (
        "this process may not use them, as in a container with the default seccomp profile: run it on the "
        "host, or allow unshare and mount (--security-opt seccomp=unconfined --cap-add SYS_ADMIN)"
    )


_STEPS: Final = {
    "user namespace": NO_USER_NAMESPACE,
    "mapping": NO_USER_NAMESPACE,
    "namespaces": "cannot create mount and process namespaces",
    "trees": "cannot copy the host's mounts",
    "mounts": "cannot make the agent's mounts",
}
_LANDLOCK: Final = {
    errno.ENOSYS: "the kernel has no Landlock: use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK",
    errno.EOPNOTSUPP: "Landlock is switched off: add landlock to the kernel's lsm= boot parameter",
}


def _detail(error: OSError) -> str:
    """What the kernel said, and to which call if the error knows."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def _network(error: OSError) -> str:
    what = _detail(error)
    if "nft" in str(error.filename):
        return f"cannot load the packet rules ({what}): load nf_tables, nft_redir and nft_reject_inet"
    if error.errno == errno.EAFNOSUPPORT:
        return f"cannot build the network ({what}): remove ipv6.disable=1 from the kernel's boot parameters"
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"cannot build the network ({what}): {user_namespaces() or container()}"
    return f"cannot build the network ({what}): the kernel needs network namespaces and veth"


def explain(step: str, error: OSError) -> str:
    """The sentence for `error` in `step` of the launcher."""
    if step == "landlock":
        return _LANDLOCK.get(error.errno or 0, f"cannot use Landlock: {error.strerror}")
    if step == "network":
        return _network(error)
    what = _STEPS.get(step, f"cannot {step} the agent")
    detail = _detail(error)
    if error.errno in (errno.EPERM, errno.ENOSPC, errno.EACCES):
        return f"{what} ({detail}): {user_namespaces() or container()}"
    return f"{what} ({detail})"

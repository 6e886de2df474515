"""Why a step of the launcher failed, in one sentence that names the command to run or the setting to change.

Reads settings only. `launcher.doctor` asks the same questions before anything is started, and says the same.
"""

import errno
import os
import sys
from typing import Final

_APPARMOR: Final = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_CLONE: Final = "/proc/sys/kernel/unprivileged_userns_clone"
_MAXIMA: Final = "/proc/sys/user"
_SELINUX: Final = "/sys/fs/selinux/enforce"
_ENOUGH: Final = 10_000  # namespaces of one kind; a run takes two of the network's, one of every other

NO_PROC: Final = "/proc is not there: mount -t proc proc /proc"
NO_USER_NAMESPACE: Final = "cannot create a user namespace"
_KINDS: Final = {
    "user namespace": ("user",),
    "mapping": ("user",),
    "network": ("net",),
    "namespaces": ("mnt", "pid", "ipc", "uts", "cgroup"),
    "mounts": ("mnt", "pid", "ipc", "cgroup"),
}
"""Which kinds of namespaces a step makes, by their names in user.max_*_namespaces."""
_REFUSED: Final = (errno.EPERM, errno.EACCES, errno.ENOSPC)


def _setting(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().strip().decode()
    except OSError:
        return ""


def user_namespaces() -> str:
    """The setting that keeps this user from user namespaces, with its remedy; empty if none is known."""
    if _setting(f"{_MAXIMA}/max_user_namespaces") == "0":
        return f"user namespaces are switched off: sysctl -w user.max_user_namespaces={_ENOUGH}"
    if os.getuid() == 0:
        return ""
    if _setting(_CLONE) == "0":
        return "unprivileged user namespaces are switched off: sysctl -w kernel.unprivileged_userns_clone=1"
    if _setting(_APPARMOR) == "1":
        return (
            "AppArmor restricts unprivileged user namespaces: give hark the profile of `hark doctor`, "
            "or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return ""


def profile() -> str:
    """The AppArmor profile that lets hark make user namespaces, with the commands that load it; or empty."""
    if os.getuid() == 0 or _setting(_APPARMOR) != "1":
        return ""
    python = os.path.realpath(sys.executable)
    return (
        "sudo tee /etc/apparmor.d/hark <<'END'\n"
        "abi <abi/4.0>,\n"
        "include <tunables/global>\n"
        f'profile hark "{python}" flags=(unconfined) {{\n'
        "  userns,\n"
        "  include if exists <local/hark>\n"
        "}\n"
        "END\n"
        "sudo apparmor_parser -r /etc/apparmor.d/hark\n"
        f"# every program that {python} runs may then make them too: best an interpreter that only hark uses"
    )


def _exhausted(step: str) -> str:
    kinds = _KINDS.get(step, ("user",))
    none = [kind for kind in kinds if _setting(f"{_MAXIMA}/max_{kind}_namespaces") == "0"]
    settings = " ".join(f"user.max_{kind}_namespaces={_ENOUGH}" for kind in none or kinds)
    return f"no more of them may be made: sysctl -w {settings}"


def container() -> str:
    """What to change when no setting of the host is in the way."""
    if _setting(_SELINUX) == "1":
        return "SELinux may forbid them: sudo ausearch -m avc -ts recent names the rule"
    root = " --cap-add SYS_ADMIN, or as an ordinary user" if os.getuid() == 0 else ""
    return (
        "this process may not use them, as in a container with the default seccomp profile: run it on the "
        "host, or with docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
        f"--security-opt systempaths=unconfined{root}"
    )


def kernel_advice(release: str) -> str:
    """What is known of a kernel that is missing a part."""
    if "Microsoft" in release:
        return "WSL 1 has no Linux kernel: wsl --set-version DISTRIBUTION 2, from Windows"
    if "microsoft" in release:
        return "update the kernel of WSL: wsl --update, from Windows"
    return ""


_STEPS: Final = {
    "process": "cannot start a process",
    "user namespace": NO_USER_NAMESPACE,
    "mapping": NO_USER_NAMESPACE,
    "namespaces": "cannot create mount and process namespaces",
    "trees": "cannot copy the host's mounts",
    "mounts": "cannot make the agent's mounts",
    "seccomp": "cannot install the system call filter",
}
_LANDLOCK: Final = {
    errno.ENOSYS: "the kernel has no Landlock: use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK",
    errno.EOPNOTSUPP: "Landlock is switched off: add landlock to the kernel's lsm= boot parameter",
    errno.EPERM: "Landlock is forbidden, as by an old container runtime's seccomp profile: update it, or "
    "docker run --security-opt seccomp=unconfined",
}
_SECCOMP: Final = {
    errno.ENOSYS: "there are no system call filters",
    errno.EINVAL: "system calls under a filter cannot be asked about",
}
_PROCESS: Final = {
    errno.EAGAIN: "raise the limit of processes: ulimit -u, or TasksMax= of the unit",
    errno.EMFILE: "raise the limit of open files: ulimit -n 1024",
    errno.ENFILE: "the whole system has too many files open: sysctl -w fs.file-max",
    errno.ENOMEM: "there is no memory left",
}


def _detail(error: OSError) -> str:
    """What the kernel said, and to which call if the error knows."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def _network(error: OSError) -> str:
    what = _detail(error)
    if "nft" in str(error.filename):
        wsl = kernel_advice(os.uname().release)
        modules = wsl or "modprobe -a nf_tables nft_redir nft_reject_inet"
        return f"cannot load the packet rules ({what}): {modules}"
    if error.errno == errno.EAFNOSUPPORT:
        return f"cannot build the network ({what}): remove ipv6.disable=1 from the kernel's boot parameters"
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"cannot build the network ({what}): {user_namespaces() or container()}"
    if error.errno == errno.ENOSPC:
        return f"cannot build the network ({what}): {_exhausted('network')}"
    wsl = kernel_advice(os.uname().release)
    return f"cannot build the network ({what}): {wsl or 'modprobe veth; the kernel needs CONFIG_NET_NS too'}"


def explain(step: str, error: OSError) -> str:
    """The sentence for `error` in `step` of the launcher."""
    if error.errno in _PROCESS:
        return f"{_STEPS['process']} ({_detail(error)}): {_PROCESS[error.errno]}"
    if step == "landlock":
        return _LANDLOCK.get(error.errno or 0, f"cannot use Landlock: {error.strerror}")
    if step == "network":
        return _network(error)
    if step == "seccomp" and error.errno in _SECCOMP:
        return (
            f"{_STEPS[step]} ({_detail(error)}): {_SECCOMP[error.errno]}; use Linux 5.12 or newer with "
            "CONFIG_SECCOMP_FILTER, and in a container another runtime"
        )
    what, detail = _STEPS.get(step, f"cannot {step} the agent"), _detail(error)
    if error.errno == errno.EPERM and str(error.filename).startswith("mount proc"):
        return (
            f"{what} ({detail}): parts of /proc are covered, as in a container: "
            "docker run --security-opt systempaths=unconfined"
        )
    if error.errno == errno.ENOSPC and not user_namespaces():
        return f"{what} ({detail}): {_exhausted(step)}"
    if error.errno in _REFUSED:
        return f"{what} ({detail}): {user_namespaces() or container()}"
    if error.errno == errno.ENOSYS:
        return f"{what} ({detail}): use Linux 5.12 or newer"
    return f"{what} ({detail})"

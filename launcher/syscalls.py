"""What the filter does with each system call, and why: values, read by `launcher.seccomp`.

A call is allowed because a program that people run was seen to make it (`launcher.traced`), or because
containers allow it too and what is built for them expects it (`AS_CONTAINERS`). What was seen and is not
simply allowed stands in one of the other tables, each with its reason. Whatever stands nowhere is refused
with EPERM; one newer than `NEWEST_KNOWN` looks as if the kernel were older.

In no table, each for a reason: setns and module calls (the boundary is made of namespaces); bpf,
perf_event_open, userfaultfd (kernel surface that no agent needs); keyctl, add_key, request_key (keyrings are
not namespaced); name_to_handle_at, open_by_handle_at, kcmp (reach around paths and descriptors); syslog,
quotactl, acct, swapon, reboot, the clock's setters (the host's affairs); mbind, move_pages, migrate_pages,
process_madvise (memory of other processes); fanotify (other processes' files); vmsplice (a pipe keeps the
whole page of 2 MiB that a piece was given of, which no limit counts; nothing that was traced calls it).
ptrace and process_vm_readv are allowed, so that gdb and strace work: Landlock keeps them inside the agent's
own tree, and seccomp applies to the traced call.
"""

from collections.abc import Iterable
from typing import Final

from launcher.numbers import NUMBERS, Numbers
from launcher.traced import TRACED


def _rows(names: Iterable[str]) -> dict[str, Numbers]:
    return {name: NUMBERS[name] for name in names}


JUDGED: Final = _rows(
    (
        *("clone", "unshare"),  # namespaces
        *("socket", "socketpair"),  # families
        "ioctl",  # typing into terminals
        "personality",  # executable stacks and other worlds
        *("open", "openat", "creat", "mkdir", "mkdirat", "mknod", "mknodat"),  # files that are born setuid
        *("chmod", "fchmod", "fchmodat", "fchmodat2"),  # or become it
        *("prlimit64", "setrlimit"),  # of process 1, and on core dumps
        *("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),  # of process 1
        *("setpriority", "ioprio_set"),  # the same
    )
)
"""Allowed for some arguments only."""

MISSING: Final = _rows(
    (
        *("clone3", "openat2"),  # flags behind a pointer; libc falls back to clone and openat
        # mount(8) falls back to mount(2), which is allowed where namespaces nest.
        *("open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
        *("statmount", "listmount"),  # of mounts that no path leads to
        *("io_uring_setup", "io_uring_enter", "io_uring_register"),  # pass the filter by; containers too
        *(
            "io_setup",
            "io_destroy",
            "io_getevents",
            "io_pgetevents",
            "io_submit",
            "io_cancel",
        ),  # the same, older
        *("memfd_create", "memfd_secret"),  # programs without a file, beyond Landlock's right to execute
        *("pidfd_open", "pidfd_getfd", "pidfd_send_signal"),  # other processes' descriptors
    )
)
"""Answered with ENOSYS, as by an older kernel: callers then fall back to calls that can be judged."""

NESTED: Final = _rows(("mount", "umount2", "pivot_root", "chroot", "sethostname"))
"""Allowed besides where the agent may make namespaces of its own: bubblewrap and Chromium call them."""

UNNESTED: Final = _rows(("setxattr", "lsetxattr", "fsetxattr"))
"""Allowed, but not where the agent may make namespaces, as by a file system without attributes.

The owner of a user namespace may put file capabilities on what it owns. Root's agent owns root's files by way
of an idmapped mount, and the capabilities would be the host's.
"""

# By what they are for, so that a missing relative is seen. The default profile of moby
# (profiles/seccomp/default.json), in its newest version, allows each of them without any capability.
AS_CONTAINERS: Final[dict[str, str]] = {
    "files": (
        "chown faccessat fchownat fremovexattr futimesat getdents lchown llistxattr lremovexattr lsetxattr "
        "preadv pwritev readahead removexattr setxattr sync_file_range syncfs utime utimes cachestat"
    ),
    "pipes, events and timers": (
        "pipe splice tee epoll_create eventfd select signalfd getitimer timer_delete "
        "timer_getoverrun timer_gettime timerfd_gettime gettimeofday time"
    ),
    "memory": (
        "mincore mlock mlock2 mlockall msync munlock munlockall pkey_free pkey_mprotect membarrier mseal "
        "map_shadow_stack"
    ),
    "processes, threads and signals": (
        "execveat exit exit_group get_robust_list getcpu ioprio_get ioprio_set tkill "
        "process_vm_readv process_vm_writev rt_sigpending rt_sigqueueinfo rt_tgsigqueueinfo "
        "sched_rr_get_interval sched_get_priority_max sched_get_priority_min sched_setparam "
        "futex_requeue futex_wait futex_waitv futex_wake"
    ),
    "identity, which only falls": "setfsgid setfsuid setgid setgroups setregid setreuid setuid",
    "System V and POSIX messages, in a namespace of the agent's own": (
        "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd "
        "semctl semget semop semtimedop shmat shmctl shmdt shmget"
    ),
    "network": "readv recvmmsg",
    "a sandbox of the agent's own": "landlock_add_rule landlock_restrict_self",
}
"""Allowed though no traced program called them here."""

_ALLOWED: Final = {name for names in AS_CONTAINERS.values() for name in names.split()} | TRACED.keys()
ALLOWED: Final = _rows(sorted(_ALLOWED - JUDGED.keys() - MISSING.keys() - NESTED.keys()))
"""Whatever the arguments are."""

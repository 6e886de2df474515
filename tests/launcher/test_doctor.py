"""Findings: ok only if seen to work, missing only if refused, unknown otherwise."""

import errno
import os
import resource
import signal
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from hark.errors import ConfinementError
from launcher import doctor
from launcher.doctor import Finding, State, check
from launcher.least import LEAST
from tests.launcher.conditions import (
    Condition,
    apparmor,
    covering,
    docker_default,
    docker_root,
    docker_user,
    limited,
    masked_proc,
    namespace_limit,
    proc_with,
    refuse,
    refusing,
    root_alone,
    settings,
    without_proc,
)
from tests.launcher.rig import WHO, apart, plan, project, run_here


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles and key go where the ordinary user may write too, not below the home of who runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", tempfile.gettempdir())
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tempfile.gettempdir()}/nobody-makes-this")


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_a_host_on_which_runs_work_is_found_fit(who: str) -> None:
    assert [finding for finding in apart(check, who=who) if finding.state is not State.OK] == []


def say_no() -> str:
    raise OSError(1, "Operation not permitted", "unshare")


def refuse_in_words() -> str:
    raise ConfinementError("no such machine")


def break_down() -> str:
    raise KeyError("bug")


def vanish() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@pytest.mark.parametrize(
    ("probe", "state", "words"),
    [
        (lambda: "fine", State.OK, "fine"),
        (say_no, State.MISSING, "cannot create a user namespace"),
        (refuse_in_words, State.MISSING, "no such machine"),
        (break_down, State.UNKNOWN, "KeyError"),
        (vanish, State.UNKNOWN, "without an answer"),
    ],
    ids=["works", "refused", "refused-in-words", "broken", "vanished"],
)
def test_a_probe_that_could_not_run_is_unknown_and_not_ok(
    probe: doctor.Probe, state: State, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_PROBES", (("thing", "user namespace", probe),))
    (finding,) = check()
    assert (finding.name, finding.state) == ("thing", state)
    assert words in finding.words


@pytest.mark.attack
def test_user_namespaces_that_are_used_up_are_found_missing() -> None:
    def work() -> list[Finding]:
        uid = os.geteuid()
        os.unshare(os.CLONE_NEWUSER)
        with open("/proc/self/uid_map", "wb") as file:
            file.write(b"%d %d 1" % (uid, uid))
        with open("/proc/sys/user/max_user_namespaces", "wb") as file:
            file.write(b"0")
        return list(check())

    found = {finding.name: finding for finding in apart(work)}
    assert found["user namespaces"].state is State.MISSING
    assert "user.max_user_namespaces" in found["user namespaces"].words
    assert found["Landlock"].state is State.OK
    assert found["user namespaces"].words.endswith("sysctl -w user.max_user_namespaces=10000")
    # Said once: what needs a user namespace was not tried, and that is all that is known of it.
    for name in ("network", "mounts"):
        assert found[name] == Finding(name, State.UNKNOWN, "not tried, since it needs a user namespace")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "flag", "words"),
    [
        ("user namespaces", os.CLONE_NEWUSER, "cannot create a user namespace (Operation not permitted): "),
        (
            "user namespaces",
            os.CLONE_NEWUTS,
            "cannot create a user namespace (use its capabilities: Operation not permitted): ",
        ),
        (
            "network",
            os.CLONE_NEWNET,
            "cannot build the network (make a network namespace: Operation not permitted): ",
        ),
        (
            "mounts",
            os.CLONE_NEWNS,
            "cannot make the agent's mounts (make mount and process namespaces: Operation not permitted): ",
        ),
    ],
)
def test_a_namespace_that_is_refused_is_named_in_words_and_the_advice_given_once(
    name: str, flag: int, words: str
) -> None:
    real = os.unshare

    def refuse(flags: int) -> None:
        if flags & flag:
            raise PermissionError(1, "Operation not permitted")  # as os.unshare does: no name in it
        real(flags)

    found = apart(check, change=lambda: setattr(os, "unshare", refuse))
    missing = [finding for finding in found if finding.state is State.MISSING]
    assert [finding.name for finding in missing] == [name]
    assert missing[0].words.startswith(words)
    assert missing[0].words.endswith("--security-opt systempaths=unconfined")


@dataclass(frozen=True)
class Case:
    """A host, which finding it breaks, in which way, and what is said of it."""

    make: Condition
    finding: str
    words: str
    state: State = State.MISSING
    root: bool = False
    """Only root can make it."""
    run_says: str | None = ""
    """What a run says, where that is not the finding's sentence; None where a run is not asked."""


CASES: Final = {
    "docker's default filter": Case(docker_default, "user namespaces", "seccomp=unconfined"),
    "apparmor of ubuntu 24.04": Case(
        apparmor, "user namespaces", "give hark the profile", root=True, run_says="give hark the profile"
    ),
    "unprivileged_userns_clone": Case(
        lambda: (
            covering("/proc/sys/kernel", files=settings(unprivileged_userns_clone="0"))(),
            refuse(("unshare", errno.EPERM, ((0, "&", os.CLONE_NEWUSER),))),
        )[-1],
        "user namespaces",
        "sysctl -w kernel.unprivileged_userns_clone=1",
        root=True,
    ),
    "selinux": Case(
        lambda: (
            covering("/sys/fs", files={"selinux/enforce": "1"})(),
            refuse(("unshare", errno.EACCES, ((0, "&", os.CLONE_NEWUSER),))),
        )[-1],
        "user namespaces",
        "ausearch -m avc",
        root=True,
    ),
    "max_user_namespaces": Case(
        namespace_limit("user"), "user namespaces", "sysctl -w user.max_user_namespaces=10000"
    ),
    "max_net_namespaces": Case(namespace_limit("net"), "network", "sysctl -w user.max_net_namespaces=10000"),
    "max_pid_namespaces": Case(
        namespace_limit("pid"),
        "mounts",
        "user.max_pid_namespaces=10000",
        run_says="user.max_pid_namespaces",
    ),
    "no landlock": Case(
        refusing(("landlock_create_ruleset", errno.ENOSYS, ())), "Landlock", "Linux 5.13 or newer"
    ),
    "landlock off at boot": Case(
        refusing(("landlock_create_ruleset", errno.EOPNOTSUPP, ())), "Landlock", "lsm="
    ),
    "landlock forbidden": Case(
        refusing(("landlock_create_ruleset", errno.EPERM, ())), "Landlock", "old container runtime"
    ),
    "no filters": Case(
        refusing(("seccomp", errno.ENOSYS, ())),
        "seccomp",
        "use Linux 5.12 or newer with CONFIG_SECCOMP_FILTER, and in a container another runtime",
    ),
    "no user notification": Case(
        refusing(("seccomp", errno.EINVAL, ((1, "&", 8),))),
        "seccomp",
        "use Linux 5.12 or newer with CONFIG_SECCOMP_FILTER, and in a container another runtime",
    ),
    "no ipv6": Case(
        refusing(("socket", errno.EAFNOSUPPORT, ((0, "=", socket.AF_INET6),))), "network", "ipv6.disable=1"
    ),
    "no nf_tables": Case(
        refusing(("socket", errno.EPROTONOSUPPORT, ((0, "=", socket.AF_NETLINK), (2, "=", 12)))),
        "network",
        "modprobe -a nf_tables",
    ),
    "no detached mounts": Case(
        refusing(("open_tree", errno.ENOSYS, ())), "mounts", "Linux 5.12", run_says="Linux 5.12"
    ),
    "no mount_setattr": Case(
        refusing(("mount_setattr", errno.ENOSYS, ())), "mounts", "Linux 5.12", run_says="Linux 5.12"
    ),
    "covered /proc": Case(masked_proc, "mounts", "systempaths=unconfined", root=True),
    "no /proc": Case(without_proc, "machine", "mount -t proc", root=True, run_says="mount -t proc"),
    "root of a container without SYS_ADMIN": Case(
        docker_root(), "mounts", "--cap-add SYS_ADMIN", root=True, run_says="--cap-add SYS_ADMIN"
    ),
    "root of a container that maps root alone": Case(
        root_alone, "user namespaces", "cannot give the agent the uid 65533", root=True
    ),
    "few files": Case(limited(resource.RLIMIT_NOFILE, 100), "limits", "ulimit -n"),
    "no file sizes": Case(limited(resource.RLIMIT_FSIZE, 4096), "limits", "ulimit -f"),
    "no processes": Case(
        limited(resource.RLIMIT_NPROC, 0), "network", "ulimit -u", State.UNKNOWN, run_says="ulimit -u"
    ),
}


@pytest.mark.attack
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.root or os.geteuid() == 0])
def test_a_host_that_lacks_something_is_found_out_and_a_run_says_what_the_doctor_says(name: str) -> None:
    case = CASES[name]

    def ask() -> tuple[tuple[Finding, ...], str]:
        case.make()
        findings = check()
        if case.run_says is None:
            return findings, ""
        with tempfile.TemporaryDirectory() as folder:
            result = run_here(plan(Path(folder), ("/bin/true",)))
        return findings, result.error or "it ran"

    findings, error = apart(ask, who="root")
    found = {finding.name: finding for finding in findings}[case.finding]
    assert (found.state, case.words in found.words) == (case.state, True), findings
    if case.run_says is not None:
        assert (case.run_says or found.words) in error


@pytest.mark.attack
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a /proc with options")
@pytest.mark.parametrize("options", ["hidepid=invisible", "subset=pid"])
def test_a_proc_that_hides_other_processes_or_settings_is_fit(options: str) -> None:
    found = apart(lambda: (proc_with(options)(), check())[1], who="root")
    assert [finding for finding in found if finding.state is not State.OK] == []


@pytest.mark.attack
@pytest.mark.parametrize(("name", "what", "least"), [(name, what, least) for name, _, what, least in LEAST])
def test_the_control_with_the_least_that_is_asked_for_a_run_works(name: str, what: int, least: int) -> None:
    if what == resource.RLIMIT_NPROC:
        pytest.skip("counts what else the user runs")

    def ask() -> tuple[State, str]:
        limited(what, least)()
        found = {finding.name: finding for finding in check()}["limits"]
        with project("root" if os.geteuid() == 0 else "whoever") as folder:
            return found.state, run_here(plan(folder, ("/bin/sh", "-c", "echo ran"))).out

    assert apart(ask, who="root") == (State.OK, "ran\n"), name


@pytest.mark.attack
def test_a_bundle_that_could_not_be_written_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/self")
    found = {finding.name: finding for finding in apart(check)}["record"]
    assert found.state is State.MISSING
    assert "XDG_STATE_HOME" in found.words
    monkeypatch.setenv("XDG_STATE_HOME", tempfile.gettempdir())
    monkeypatch.setattr(doctor, "_LEAST_FREE", 1 << 62)
    found = {finding.name: finding for finding in apart(check)}["record"]
    assert found.state is State.MISSING
    assert "make room" in found.words


@pytest.mark.attack
def test_a_key_that_no_run_could_sign_with_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def record(who: str = "root") -> tuple[State, str]:
        found = {finding.name: finding for finding in apart(check, who=who)}["record"]
        return found.state, found.words

    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/self")
    assert record("ordinary user") == (
        State.MISSING,
        "hark's signing key cannot be made in /proc/self: name a directory of yours in XDG_CONFIG_HOME",
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert record()[0] is State.OK
    (tmp_path / "hark").mkdir()
    (tmp_path / "hark/signing.key").write_text("")
    (tmp_path / "hark/signing.key").chmod(0o644)
    assert "chmod 0600" in record()[1]
    for name in ("XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(name)
    assert record()[1].startswith("neither XDG_CONFIG_HOME nor HOME says")


@pytest.mark.attack
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give up")
@pytest.mark.parametrize("make", [docker_user, docker_root(21)], ids=["ordinary user", "root with SYS_ADMIN"])
def test_a_container_with_the_options_that_are_advised_is_fit(make: Condition) -> None:
    def ask() -> tuple[list[Finding], str]:
        make()
        findings = [finding for finding in check() if finding.state is not State.OK]
        with project("root" if os.geteuid() == 0 else "whoever") as folder:
            return findings, run_here(plan(folder, ("/bin/sh", "-c", "touch x && echo wrote"))).out

    assert apart(ask, who="root") == ([], "wrote\n")

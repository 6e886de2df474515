"""Failed steps name the setting to change."""

import errno
import os
import sys
from pathlib import Path

import pytest

from launcher import advice


def refused(what: str, number: int = errno.EPERM) -> OSError:
    return OSError(number, os.strerror(number), what)


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An ordinary user on a host whose settings are files of ours."""
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    for name in ("APPARMOR", "CLONE", "SELINUX"):
        monkeypatch.setattr(advice, f"_{name}", str(tmp_path / name))
    monkeypatch.setattr(advice, "_MAXIMA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "setting"),
    [
        ("APPARMOR", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("CLONE", "0", "kernel.unprivileged_userns_clone=1"),
        ("max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ],
)
def test_the_setting_in_the_way_is_named(ordinary: Path, name: str, value: str, setting: str) -> None:
    (ordinary / name).write_text(f"{value}\n")
    assert setting in advice.explain("user namespace", refused("unshare"))
    (ordinary / name).write_text("2\n")
    assert setting not in advice.explain("user namespace", refused("unshare"))


@pytest.mark.parametrize("step", ["user namespace", "namespaces", "trees", "mounts", "network"])
def test_an_error_without_a_name_leaves_none_in_the_sentence(step: str) -> None:
    sentence = advice.explain(step, PermissionError(errno.EPERM, "Operation not permitted"))
    assert " (Operation not permitted): " in sentence
    assert "None" not in sentence


def test_with_no_setting_in_the_way_a_container_is_suspected(ordinary: Path) -> None:
    assert "container" in advice.explain("user namespace", refused("unshare"))


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSYS, "Linux 5.13"), (errno.EOPNOTSUPP, "lsm="), (errno.EIO, "Input/output")],
)
def test_landlock_that_is_absent_is_told_from_one_that_is_off(number: int, words: str) -> None:
    assert words in advice.explain("landlock", refused("landlock", number))


@pytest.mark.parametrize(
    ("what", "number", "words"),
    [
        ("add nft rule (redir) to lead", errno.ENOENT, "nft_redir"),
        ("add address fd00::1", errno.EAFNOSUPPORT, "ipv6.disable=1"),
        ("create veth gw0", errno.EOPNOTSUPP, "modprobe veth"),
    ],
)
def test_network_parts_that_are_absent_are_named(what: str, number: int, words: str) -> None:
    assert words in advice.explain("network", refused(what, number))


def test_the_profile_for_apparmor_names_the_interpreter_and_is_given_where_it_helps(ordinary: Path) -> None:
    assert advice.profile() == ""
    (ordinary / "APPARMOR").write_text("1\n")
    profile = advice.profile()
    assert f'profile hark "{os.path.realpath(sys.executable)}" flags=(unconfined) {{\n  userns,\n' in profile
    assert "apparmor_parser -r /etc/apparmor.d/hark" in profile


def test_an_enforcing_selinux_is_suspected_before_a_container(ordinary: Path) -> None:
    (ordinary / "SELINUX").write_text("1")
    assert "ausearch" in advice.explain("namespaces", refused("unshare", errno.EACCES))


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("4.4.0-19041-Microsoft", "--set-version"),
        ("5.15.153.1-microsoft-standard-WSL2", "wsl --update"),
        ("6.1.0-18-amd64", ""),
    ],
)
def test_kernels_of_wsl_are_told_apart(release: str, words: str) -> None:
    assert words in advice.kernel_advice(release)
    assert bool(advice.kernel_advice(release)) == bool(words)


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EAGAIN, "ulimit -u"), (errno.EMFILE, "ulimit -n"), (errno.ENFILE, "fs.file-max")],
)
@pytest.mark.parametrize("step", ["network", "mounts", "process"])
def test_a_limit_of_processes_or_files_is_named_whatever_failed_of_it(
    step: str, number: int, words: str
) -> None:
    assert words in advice.explain(step, refused("fork", number))


def test_each_kind_of_namespace_that_is_used_up_is_named(ordinary: Path) -> None:
    assert "sysctl -w user.max_net_namespaces=10000" in advice.explain("network", refused("", errno.ENOSPC))
    assert "user.max_pid_namespaces" in advice.explain("namespaces", refused("", errno.ENOSPC))
    (ordinary / "max_uts_namespaces").write_text("0\n")
    sentence = advice.explain("namespaces", refused("", errno.ENOSPC))
    assert sentence.endswith("sysctl -w user.max_uts_namespaces=10000")

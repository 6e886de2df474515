"""Failed steps name the setting to change."""

import errno
import os
from pathlib import Path

import pytest

from launcher import advice


def refused(what: str, number: int = errno.EPERM) -> OSError:
    return OSError(number, os.strerror(number), what)


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An ordinary user on a host whose settings are files of ours."""
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    for name in ("APPARMOR", "CLONE", "LIMIT"):
        monkeypatch.setattr(advice, f"_{name}", str(tmp_path / name))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "setting"),
    [
        ("APPARMOR", "1", "kernel.apparmor_restrict_unprivileged_userns to 0"),
        ("CLONE", "0", "kernel.unprivileged_userns_clone to 1"),
        ("LIMIT", "0", "user.max_user_namespaces"),
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
        ("create veth gw0", errno.EOPNOTSUPP, "veth"),
    ],
)
def test_network_parts_that_are_absent_are_named(what: str, number: int, words: str) -> None:
    assert words in advice.explain("network", refused(what, number))

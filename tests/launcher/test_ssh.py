"""The host's ssh client settings inside: readable, and owned so that ssh obeys them."""

import os
from pathlib import Path

import pytest

from launcher.ssh import MAX_FILE, client_files
from tests.launcher.rig import WHO, shell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ssh_config.d").mkdir()
    return tmp_path


def put(path: Path, text: str, mode: int = 0o644) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_what_is_included_comes_along_wherever_it_lies(folder):
    other = put(folder / "other.conf", "Host a\n")
    put(folder / "ssh_config", f'Include ssh_config.d/*.conf\nHost *\n  include = "{other}" ~/.ssh/mine\n')
    first = put(folder / "ssh_config.d" / "10.conf", "Host b\nInclude nowhere\n")
    put(folder / "ssh_known_hosts", "host ssh-ed25519 AAAA\n")
    found = client_files(str(folder))
    assert set(found) == {f"{folder}/ssh_config", str(other), str(first), f"{folder}/ssh_known_hosts"}
    assert found[str(first)] == b"Host b\nInclude nowhere\n"


def test_what_others_may_not_read_and_what_is_no_file_stay_out(folder):
    put(folder / "ssh_config", "Include *\n")
    put(folder / "ssh_host_ed25519_key", "PRIVATE KEY", 0o600)
    put(folder / "huge", "x" * (MAX_FILE + 1))
    os.mkfifo(folder / "pipe")
    assert set(client_files(str(folder))) == {f"{folder}/ssh_config"}


def test_a_circle_of_includes_ends(folder):
    put(folder / "ssh_config", "Include ssh_config ssh_config.d/a\n")
    put(folder / "ssh_config.d" / "a", "Include ssh_config\n")
    assert len(client_files(str(folder))) == 2


@pytest.mark.attack
@pytest.mark.parametrize("who", WHO)
def test_ssh_obeys_an_included_file_that_is_shown_and_refuses_the_hosts_own(who: str) -> None:
    files = {
        "/etc/ssh/ssh_config": b"Include /etc/ssh/ssh_config.d/*.conf\n",
        "/etc/ssh/ssh_config.d/a.conf": b"Port 77\n",
    }
    asked = shell("ssh -G host.example 2>&1 | grep -E '^port|owner'", who=who, files=files)
    assert asked.out == "port 77\n"
    # The control: the same kind of file, as a copy of root's is not.
    path = "/etc/ssl/openssl.cnf"
    refused = shell(
        "ssh -G host.example 2>&1 | grep -E '^port|owner'",
        who=who,
        files={"/etc/ssh/ssh_config": f"Include {path}\n".encode()},
    )
    assert refused.out.strip() == f"Bad owner or permissions on {path}"

"""Names that carry a meaning by custom, on real files."""

import os
from pathlib import Path

import pytest

from hark.plan.customs import acted_on, holds_credentials


def entry(path: Path, text: str = "x") -> os.DirEntry[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return next(one for one in list(os.scandir(path.parent)) if one.name == path.name)


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.production",
        ".envrc",
        ".htpasswd",
        ".aws/credentials",
        "x/.kube/config",
        "id_ed25519_sk",
        "a.kdbx",
    ],
)
def test_files_with_such_names_hold_credentials(tmp_path, name):
    assert holds_credentials(entry(tmp_path / name))


@pytest.mark.parametrize(
    "name", ["env", "credentials", "kube/config", "id_ed25519.pub", ".environment", "a.pem.txt"]
)
def test_files_with_other_names_do_not(tmp_path, name):
    assert not holds_credentials(entry(tmp_path / name))


def test_a_certificate_is_told_from_a_private_key(tmp_path):
    assert not holds_credentials(entry(tmp_path / "a.pem", "-----BEGIN CERTIFICATE-----"))
    assert holds_credentials(entry(tmp_path / "b.key", "-----BEGIN PRIVATE KEY-----"))


def test_what_is_no_file_holds_nothing(tmp_path):
    (tmp_path / ".env").mkdir()
    os.mkfifo(tmp_path / ".netrc")
    (tmp_path / ".npmrc").symlink_to("nowhere")
    assert not any(holds_credentials(one) for one in os.scandir(tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        "CLAUDE.md",
        ".vscode",
        ".devcontainer",
        "mise.toml",
        "sub/.hg/hgrc",
        "x.code-workspace",
        ".cargo/config",
        "sub/.npmrc",
        ".Rprofile",
        ".irbrc",
        ".pryrc",
        ".pdbrc",
        ".ghci",
        ".latexmkrc",
        ".octaverc",
        ".vim",
        ".lfsconfig",
        "sub/.mvn/extensions.xml",
        "mypy.ini",
        "eslint.config.mts",
        ".prettierrc.cjs",
    ],
)
def test_names_that_other_programs_act_on(tmp_path, name):
    assert acted_on(entry(tmp_path / name))
    assert not acted_on(entry(tmp_path / f"{name}.bak"))


def test_a_head_counts_where_the_rest_of_a_repository_is(tmp_path):
    head = entry(tmp_path / "HEAD")
    assert not acted_on(head)
    for name in ("objects", "refs"):
        (tmp_path / name).touch()  # git asks for no directories
    assert acted_on(head)

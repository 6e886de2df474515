"""Names that carry a meaning by custom, on real files."""

import os
from pathlib import Path

import pytest

from hark.plan.customs import NAMED, PROTECTED, acted_on, holds_credentials


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
        ".jj/repo/config.toml",
        ".sl/config",
        ".lazygit.yml",
        "sub/.hg/sharedpath",
        ".hg/requires",
        ".jj/repo/store/git_target",
        "rust-toolchain",
        "gradle.properties",
        ".iex.exs",
        "phpstan.dist.neon",
        ".lintstagedrc",
        "lint-staged.config.mjs",
        ".commitlintrc.ts",
        ".config/hk.pkl",
        "lefthook-local.toml",
        ".config/lefthook.json",
        "sub/.direnv/flake-profile-0a1b.rc",
    ],
)
def test_names_that_other_programs_act_on(tmp_path, name):
    assert acted_on(entry(tmp_path / name))
    assert not acted_on(entry(tmp_path / f"{name}.bak"))


@pytest.mark.parametrize(
    "name", ["config", "jj/repo/config.toml", "hk.pkl.txt", "x.rc", "env", "direnv/x.rc"]
)
def test_names_that_end_alike_are_not_acted_on(tmp_path, name):
    assert not acted_on(entry(tmp_path / name))


def test_each_name_counts_at_any_depth_and_none_by_its_last_part_alone(tmp_path):
    names = (*PROTECTED, *NAMED)
    assert len(set(names)) == len(names)
    for name in names:
        assert acted_on(entry(tmp_path / "sub" / name))
    apart = {os.path.basename(name) for name in names} - set(names)
    (tmp_path / "flat").mkdir()
    assert not any(acted_on(entry(tmp_path / "flat" / name)) for name in apart)


def test_a_head_counts_where_the_rest_of_a_repository_is(tmp_path):
    head = entry(tmp_path / "HEAD")
    assert not acted_on(head)
    for name in ("objects", "refs"):
        (tmp_path / name).touch()  # git asks for no directories
    assert acted_on(head)

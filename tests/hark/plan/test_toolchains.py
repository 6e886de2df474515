"""What of $HOME is granted for a program of each version manager: what it needs, and nothing else."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hark.plan.command import find_command, installation, whole, wholes
from hark.plan.toolchains import is_shown

ELF = "\x7fELF"
PRECIOUS = (
    ".ssh/id_ed25519",
    ".cargo/credentials.toml",
    ".npmrc",
    ".config/pip/pip.conf",
    ".local/share/keyrings/login",
    ".cache/pip/http/x",
    "work/other/notes",
)
"""What lies in the same home and is nobody's to see."""


def made(home: Path, *files: str, **texts: str) -> None:
    """Files with a program's mode; in a text `{home}` is the home."""
    for name in (*files, *texts):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(name, ELF).replace("{home}", str(home)))
        path.chmod(0o755)


def link(home: Path, name: str, target: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target.replace("{home}", str(home)))


def needs(home: Path, command: str, *path: str, environ: Mapping[str, str] | None = None) -> set[str]:
    """What the command brings, as paths below the home; nothing outside it but the system's."""
    made(home, *PRECIOUS)
    search = ":".join([*(str(home / entry) for entry in path), "/usr/bin", "/bin"])
    found = find_command(command, str(home / "work"), search, str(home), environ or {}).needs
    below = {os.path.relpath(path, home) for path in found if path.startswith(f"{home}/")}
    for secret in PRECIOUS:
        assert not any(secret == shown or secret.startswith(f"{shown}/") for shown in below), secret
    assert all(f"{path}/".startswith((f"{home}/", "/usr/", "/bin/")) for path in found), found
    return below


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "work").mkdir(parents=True)
    return tmp_path / "home"


def test_what_pyenv_installed_starts_and_brings_what_it_needs(home):
    made(
        home,
        ".pyenv/libexec/pyenv",
        ".pyenv/versions/3.12.1/bin/python3",
        **{".pyenv/shims/python": "#!/bin/sh\n"},
    )
    assert needs(home, "python", ".pyenv/shims") == {".pyenv/shims/python", ".pyenv"}


def test_what_nvm_installed_starts_and_brings_what_it_needs(home):
    made(
        home,
        ".nvm/versions/node/v20/bin/node",
        ".nvm/versions/node/v20/lib/node_modules/npm/x",
        ".nvm/alias/default",
    )
    prefix = ".nvm/versions/node/v20"
    assert needs(home, "node", f"{prefix}/bin") == {f"{prefix}/bin/node", prefix}


def test_rustup_shows_its_toolchains_and_its_proxies_and_not_cargos_credentials(home):
    made(home, ".rustup/toolchains/stable/bin/cargo", ".cargo/bin/rustup", ".cargo/bin/ripgrep")
    for proxy in ("cargo", "rustc"):
        link(home, f".cargo/bin/{proxy}", "rustup")
    got = needs(home, "cargo", ".cargo/bin")
    assert got == {".rustup", ".cargo/bin/cargo", ".cargo/bin/rustc", ".cargo/bin/rustup"}
    assert needs(home, "ripgrep", ".cargo/bin") == {".cargo/bin/ripgrep"}


def test_who_misses_a_rust_program_in_a_shell_is_told_of_the_toolchains_as_well(home):
    made(home, ".rustup/toolchains/x", ".cargo/bin/rustup", "tools/mine")
    directories = [f"{home}/.cargo/bin", f"{home}/tools"]
    shown = list(wholes(directories, str(home), {}))
    assert shown == [f"{home}/.cargo/bin", f"{home}/.rustup", f"{home}/tools"]


def test_rustup_is_found_where_it_was_told_to_be(home):
    made(home, "rust/toolchains/x", ".cargo/bin/rustup", ".cargo/bin/cargo")
    (home / ".cargo/bin/cargo").unlink()
    os.link(home / ".cargo/bin/rustup", home / ".cargo/bin/cargo")
    assert "rust" in needs(home, "cargo", ".cargo/bin", environ={"RUSTUP_HOME": str(home / "rust")})


def test_what_go_installed_starts_and_brings_what_it_needs(home):
    made(home, "sdk/go1.22/bin/go", "sdk/go1.22/pkg/tool/linux/compile", "go/bin/gopls", "go/pkg/mod/x")
    assert needs(home, "go", "sdk/go1.22/bin") == {"sdk/go1.22/bin/go", "sdk/go1.22"}
    assert needs(home, "gopls", "go/bin") == {"go/bin/gopls"}


def test_what_asdf_installed_starts_and_brings_what_it_needs(home):
    made(
        home,
        ".asdf/installs/nodejs/20/bin/node",
        ".asdf/plugins/nodejs/x",
        ".asdf/bin/asdf",
        ".tool-versions",
    )
    made(home, **{".asdf/shims/node": '#!/usr/bin/env bash\nexec {home}/.asdf/bin/asdf exec "node" "$@"\n'})
    got = needs(home, "node", ".asdf/shims", ".asdf/bin")
    assert got == {".asdf", ".asdf/shims/node", ".asdf/bin/asdf", ".tool-versions"}


def test_mise_shows_its_settings_unless_they_set_variables(home):
    share = ".local/share/mise"
    made(
        home,
        ".local/bin/mise",
        f"{share}/installs/node/20/bin/node",
        **{".config/mise/config.toml": "[tools]\n"},
    )
    link(home, f"{share}/shims/node", "{home}/.local/bin/mise")
    expected = {f"{share}/shims/node", ".local/bin/mise", f"{share}/shims", f"{share}/installs"}
    assert needs(home, "node", f"{share}/shims", ".local/bin") == expected | {".config/mise/config.toml"}
    made(home, **{".config/mise/config.toml": '[env]\nTOKEN = "x"\n'})
    assert needs(home, "node", f"{share}/shims", ".local/bin") == expected


def test_what_uv_installed_starts_and_brings_what_it_needs(home):
    base, tool = ".local/share/uv/python/cpython-3.12", ".local/share/uv/tools/ruff"
    made(home, ".local/bin/uv", f"{base}/bin/python3.12", f"{base}/lib/python3.12/os.py")
    made(
        home,
        **{
            f"{tool}/bin/ruff": f"#!{{home}}/{tool}/bin/python\n",
            f"{tool}/pyvenv.cfg": f"home = {{home}}/{base}/bin\n",
        },
    )
    link(home, f"{tool}/bin/python", f"{{home}}/{base}/bin/python3.12")
    link(home, ".local/bin/ruff", f"{{home}}/{tool}/bin/ruff")
    got = needs(home, "ruff", ".local/bin")
    assert {tool, base} <= got
    assert all(path.startswith((tool, base)) or path == ".local/bin/ruff" for path in got)
    assert needs(home, "uv", ".local/bin") == {".local/bin/uv", ".local/share/uv/python"}


def test_what_pipx_installed_starts_and_brings_what_it_needs(home):
    venv = ".local/share/pipx/venvs/black"
    made(
        home,
        **{f"{venv}/bin/black": f"#!{{home}}/{venv}/bin/python\n", f"{venv}/pyvenv.cfg": "home = /usr/bin\n"},
    )
    link(home, f"{venv}/bin/python", "/usr/bin/python3")
    link(home, ".local/bin/black", f"{{home}}/{venv}/bin/black")
    assert needs(home, "black", ".local/bin") == {
        ".local/bin/black", venv, f"{venv}/bin/black", f"{venv}/bin/python",
    }  # fmt: skip


def test_what_conda_installed_starts_and_brings_what_it_needs(home):
    for prefix in ("miniconda3", "miniconda3/envs/work"):
        made(home, f"{prefix}/bin/python", f"{prefix}/lib/python3.12/os.py", f"{prefix}/conda-meta/x")
    prefix = "miniconda3/envs/work"
    assert needs(home, "python", f"{prefix}/bin") == {f"{prefix}/bin/python", prefix}


def test_what_bun_installed_starts_and_brings_what_it_needs(home):
    made(home, ".bun/bin/bun", **{".bun/install/global/node_modules/x/cli.js": "#!/usr/bin/env bun\n"})
    link(home, ".bun/bin/x", "../install/global/node_modules/x/cli.js")
    got = needs(home, "x", ".bun/bin")
    assert {".bun/bin", ".bun/install/global"} <= got
    assert all(path.startswith((".bun/bin", ".bun/install/global")) for path in got)


def test_what_deno_installed_starts_and_brings_what_it_needs(home):
    made(home, ".deno/bin/deno", **{".deno/bin/serve": "#!/bin/sh\nexec deno run x\n"})
    assert needs(home, "serve", ".deno/bin") == {".deno/bin/serve", ".deno/bin"}
    made(home, ".local/bin/deno")
    assert needs(home, "deno", ".local/bin") == {".local/bin/deno"}


def test_what_volta_installed_starts_and_brings_what_it_needs(home):
    made(home, ".volta/bin/volta-shim", ".volta/tools/image/node/20/bin/node")
    link(home, ".volta/bin/node", "volta-shim")
    assert needs(home, "node", ".volta/bin") == {".volta/bin/node", ".volta/bin/volta-shim", ".volta"}


def test_what_sdkman_installed_starts_and_brings_what_it_needs(home):
    made(home, ".sdkman/bin/sdkman-init.sh", ".sdkman/etc/config", ".sdkman/candidates/java/21/lib/jvm.cfg")
    made(home, ".sdkman/candidates/java/21/bin/java")
    link(home, ".sdkman/candidates/java/current", "21")
    got = needs(home, "java", ".sdkman/candidates/java/current/bin")
    assert ".sdkman/candidates" in got
    assert all(path.startswith(".sdkman/candidates") for path in got)


def test_what_homebrew_installed_starts_and_brings_what_it_needs(home):
    brew = ".linuxbrew"
    made(home, f"{brew}/bin/brew", f"{brew}/Cellar/jq/1.7/bin/jq", f"{brew}/lib/ld.so")
    link(home, f"{brew}/bin/jq", "../Cellar/jq/1.7/bin/jq")
    assert brew in needs(home, "jq", f"{brew}/bin")


@pytest.mark.parametrize("prefix", [".npm-global", ".local"])
def test_a_global_npm_package_brings_its_packages_whatever_the_prefix(home, prefix):
    made(home, **{f"{prefix}/lib/node_modules/x/cli.js": "#!/usr/bin/env sh\n"})
    link(home, f"{prefix}/bin/x", "../lib/node_modules/x/cli.js")
    got = needs(home, "x", f"{prefix}/bin")
    assert f"{prefix}/lib/node_modules" in got
    assert ".local" not in got


def test_what_pnpm_installed_starts_and_brings_what_it_needs(home):
    root = ".local/share/pnpm"
    made(home, f"{root}/global/5/node_modules/x/cli.js", f"{root}/store/v3/x", **{f"{root}/x": "#!/bin/sh\n"})
    got = needs(home, "x", root)
    assert got == {f"{root}/x", f"{root}/global"}


def test_a_script_of_pip_install_user_brings_those_packages(home):
    made(home, ".local/lib/python3.11/site-packages/tool.py", **{".local/bin/tool": "#!/usr/bin/python3\n"})
    assert needs(home, "tool", ".local/bin") == {".local/bin/tool", ".local/lib/python3.11/site-packages"}


def test_a_lone_script_brings_itself(home):
    made(home, **{".local/bin/tool": "#!/bin/sh\n"})
    assert needs(home, "tool", ".local/bin") == {".local/bin/tool"}


@pytest.mark.parametrize("where", ["", ".local", ".local/share", ".config"])
def test_no_layout_is_looked_for_where_people_keep_everything(home, where):
    root = f"{where}/" if where else ""
    made(home, f"{root}shims/tool", f"{root}installs/x", f"{root}plugins/x", f"{root}libexec/xenv")
    assert needs(home, "tool", f"{root}shims") == {f"{root}shims/tool"}


def test_an_active_venv_brings_the_interpreter_that_it_was_made_with(home, tmp_path):
    venv = home / "work" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    shown = installation(str(venv), "/nowhere", str(home))
    assert shown[0] == str(venv)
    assert os.path.realpath(sys.base_prefix) in map(os.path.realpath, shown)
    assert installation(str(home / "work"), "/nowhere", str(home)) == ()


def test_the_grant_for_a_directory_of_path_is_the_prefix_that_its_programs_need(home):
    made(
        home,
        ".npm-global/lib/node_modules/x",
        ".npm-global/bin/x",
        ".local/bin/y",
        ".local/lib/node_modules/z",
    )
    assert whole(f"{home}/.npm-global/bin", str(home)) == f"{home}/.npm-global"
    assert whole(f"{home}/.local/bin", str(home)) == f"{home}/.local/bin"


def test_a_place_counts_as_shown_by_its_layout_and_by_nothing_else(home):
    made(home, ".pyenv/shims/python", ".pyenv/libexec/pyenv", ".mise/shims/x", ".mise/installs/x/bin/x")
    made(home, "apart/shims/x", **{".tool-versions": "python 3.13.0\n"})
    for name in (".pyenv", ".mise/shims", ".mise/installs", ".tool-versions"):
        assert is_shown(f"{home}/{name}", str(home)), name
    for name in ("", ".pyenv/shims", ".pyenv/libexec", ".mise", "apart", "apart/shims", "nothing"):
        assert not is_shown(f"{home}/{name}".rstrip("/"), str(home)), name
    made(home, **{".config/mise/config.toml": '[env]\nTOKEN = "x"\n'})
    assert not is_shown(f"{home}/.config/mise/config.toml", str(home))

"""Programs that live below $HOME start inside, and bring nothing else of it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.support.user import identity

pytestmark = pytest.mark.e2e


@pytest.fixture
def homed(at: Desk) -> Desk:
    """A desk whose user has a home of their own, with something precious in it."""
    home = at.project.parent / "home"
    home.mkdir()
    (home / ".netrc").write_text("precious")
    own(at, home)
    at.env |= {"HOME": str(home)}
    return at


def own(desk: Desk, *paths: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["chown", "-hR", f"{desk.user.uid}:{desk.user.gid}", *paths], check=True)


def as_user(desk: Desk, *words: str | Path) -> None:
    env = dict(desk.user.env) | desk.env
    subprocess.run(words, check=True, cwd=desk.project, env=env, capture_output=True, **identity(desk.user))


def search(desk: Desk, *directories: Path) -> None:
    desk.env["PATH"] = ":".join([*map(str, directories), desk.user.env["PATH"]])


def test_a_global_npm_package_starts_with_its_dependencies_and_sees_nothing_else_of_home(homed: Desk):
    home = Path(homed.env["HOME"])
    homed.write("pkg/package.json", '{"name": "tool", "version": "1.0.0", "bin": "cli.js"}')
    homed.write("pkg/cli.js", "#!/usr/bin/env node\nconsole.log(require('./lib'))\n").chmod(0o755)
    homed.write("pkg/lib.js", "module.exports = require('fs').readdirSync(process.env.HOME).join()\n")
    own(homed, homed.project)
    as_user(homed, "npm", "pack", "--silent", "./pkg")
    as_user(homed, "npm", "install", "--offline", "-g", "--prefix", home / ".local", "./tool-1.0.0.tgz")
    search(homed, home / ".local" / "bin")
    assert ok(homed.run("--", "tool")).stdout == ".local\n"


def test_a_virtual_environment_below_home_starts_with_its_packages(homed: Desk):
    venv = Path(homed.env["HOME"]) / "envs" / "work"
    as_user(homed, homed.user.python, "-m", "venv", "--without-pip", venv)
    (site,) = venv.glob("lib/python3*/site-packages")
    (site / "thing.py").write_text("print('thing')\n")
    ok(homed.run("--", venv / "bin" / "python", "-c", "import thing"))
    homed.bundle.unlink()
    homed.env |= {"VIRTUAL_ENV": str(venv)}
    search(homed, venv / "bin")
    assert ok(homed.run("--", "sh", "-c", "python -c 'import thing'")).stdout == "thing\n"


def test_a_shell_that_misses_a_program_of_the_callers_path_is_told_the_grant_that_shows_it(homed: Desk):
    tools = Path(homed.env["HOME"]) / "tools"
    tools.mkdir()
    (tools / "mine").write_text("#!/bin/sh\necho mine\n")
    (tools / "mine").chmod(0o755)
    own(homed, tools)
    search(homed, tools)
    missed = ok(homed.run("--", "sh", "-c", "mine"), 127)
    assert f"to show them: -read {tools}" in missed.stderr
    homed.bundle.unlink()
    assert ok(homed.run("-read", tools, "--", "sh", "-c", "mine")).stdout == "mine\n"


def test_caches_go_to_a_home_that_ends_with_the_run(homed: Desk):
    home = Path(homed.env["HOME"])
    script = "npm config get cache; mkdir -p ~/.cargo ~/.cache/pip; touch ~/.cargo/x ~/.cache/pip/x; ls -A ~"
    ended = ok(homed.run("--", "sh", "-c", script))
    assert ended.stdout.split() == [f"{home}/.npm", ".cache", ".cargo", ".npm"]
    assert {path.name for path in home.iterdir()} == {".netrc"}

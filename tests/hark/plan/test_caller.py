"""What runs outside the boundary is nothing that an agent could have written."""

from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.caller import Caller


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_entries_of_path_that_the_agent_can_write_or_that_are_relative_are_not_searched(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    entries = ("/usr/bin", ".", "", str(project), f"{project}/node_modules/.bin", f"{tmp_path}/link", "/bin")
    caller = Caller({"PATH": ":".join(entries)}, "/home/me", (str(project),))
    assert caller.path == "/usr/bin:/bin"


def test_a_program_planted_on_the_path_is_not_taken_for_the_systems(project):
    program(project / "true")
    environ = {"PATH": f"{project}:/usr/bin:/bin"}
    (found,) = Caller(environ, "/home/me", (str(project),)).trusted(("true",), "/", "it")
    (control,) = Caller(environ, "/home/me").trusted(("true",), "/", "it")
    assert not found.startswith(str(project))
    assert control.startswith(str(project))


def test_a_script_or_directory_that_the_agent_can_write_is_refused(project):
    caller = Caller({}, "/home/me", (str(project),))
    script = str(program(project / "get.sh"))
    for words, workdir in (((script,), "/"), (("sh", script), "/"), (("sh", "get.sh"), str(project))):
        with pytest.raises(PolicyError, match="it would run outside the boundary with"):
            caller.trusted(words, workdir, "it")
    assert caller.trusted(("sh", "-c", "true"), "/", "it")[1:] == ("-c", "true")


def test_a_tilde_is_the_callers_home(tmp_path):
    tool = program(tmp_path / "tool")
    assert Caller({}, str(tmp_path)).trusted(("~/tool", "~/x", "a~/b"), "/", "it") == (
        str(tool),
        f"{tmp_path}/x",
        "a~/b",
    )


def test_what_is_not_there_is_named():
    with pytest.raises(PolicyError, match=r"^it: .*no-such-program"):
        Caller({"PATH": "/usr/bin"}, "/").trusted(("no-such-program",), "/", "it")


def test_variables_that_lead_to_where_the_agent_writes_do_not_go_outside(project, tmp_path):
    (tmp_path / "link").symlink_to(project)
    environ = {
        "PYTHONPATH": f"/opt/x:{project}/src",
        "NODE_OPTIONS": f"--require {project}/hook.js",
        "JAVA_TOOL_OPTIONS": f"-javaagent:{tmp_path}/link/agent.jar",
        "XDG_CONFIG_HOME": str(project),
        "GPG_TTY": "/dev/pts/1",
        "PASSWORD_STORE_DIR": f"{tmp_path}/store",
        "PATH": f"{project}:/usr/bin",
    }
    caller = Caller(environ, "/home/me", (str(project),))
    assert caller.outside == {
        "GPG_TTY": "/dev/pts/1",
        "PASSWORD_STORE_DIR": f"{tmp_path}/store",
        "PATH": "/usr/bin",
    }
    assert "XDG_CONFIG_HOME" not in caller.variables
    assert Caller(environ, "/home/me").outside == environ


def test_a_script_without_a_scripts_name_and_a_package_are_refused_and_data_is_not(project):
    caller = Caller({}, "/home/me", (str(project),))
    (project / "server").touch()
    for words in (("python3", f"{project}/server"), ("python3", str(project))):
        with pytest.raises(PolicyError, match="it would run outside the boundary with"):
            caller.trusted(words, "/", "it")
    assert caller.trusted(("cat", str(project)), "/", "it")[1:] == (str(project),)

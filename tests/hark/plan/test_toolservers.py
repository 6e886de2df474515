"""`[mcp.NAME]` made ready, and what is refused because the agent could decide what runs."""

import os
from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.plan.caller import Caller
from hark.plan.toolservers import STUB, STUBS, ToolServers, make_ready, refuse_taken
from hark.policy.model import McpServer, Policy, Secret

VALUE = "sk-real-5e884898da28047151d0"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a program of its own, and a project that the agent writes."""
    for folder in ("bin", "project/bin"):
        (tmp_path / folder).mkdir(parents=True)
        script(tmp_path / folder / "server")
    return tmp_path


def script(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def ready(
    place: Path, server: McpServer, environ: dict[str, str] | None = None, *held: Secret
) -> ToolServers:
    env = {"PATH": f"{place}/project/bin:{place}/bin:/usr/bin:/bin", "LANG": "C"} | (environ or {})
    return make_ready(Policy(mcp=(server,)), Caller(env, str(place), (f"{place}/project",)), held)


def test_without_servers_nothing_is_needed():
    assert make_ready(Policy(), Caller({}, "/", ()), ()) == ToolServers()


def test_a_program_is_found_on_the_callers_path_but_never_where_the_agent_writes(place: Path):
    (program,) = ready(place, McpServer("db", ("server", "-v"))).programs
    assert program.argv == (f"{place}/bin/server", "-v")
    assert program.env["PATH"] == f"{place}/bin:/usr/bin:/bin"
    assert program.workdir == str(place)


def test_the_environment_is_built_and_not_inherited(place: Path):
    server = McpServer("db", ("server",), env={"MODE": "ro"}, secrets={"TOKEN": "CALLERS"})
    made = ready(place, server, {"CALLERS": VALUE, "AWS_SECRET_ACCESS_KEY": "x"})
    (program,) = made.programs
    assert {name: program.env[name] for name in ("MODE", "TOKEN")} == {"MODE": "ro", "TOKEN": VALUE}
    assert not {"CALLERS", "AWS_SECRET_ACCESS_KEY"} & set(program.env)
    assert VALUE not in repr(made) + repr(program)
    assert [secret.value for secret in made.secrets] == [VALUE]


def test_a_value_that_is_held_already_is_held_once(place: Path):
    server = McpServer("db", ("server",), secrets={"TOKEN": "CALLERS"})
    held = Secret("API_KEY", VALUE, "sk-harkAbCdEfGhIjKlMnOpQrStUv", ())
    assert ready(place, server, {"CALLERS": VALUE}, held).secrets == ()


def test_the_agent_is_shown_a_stub_for_each_server_and_the_interpreter_that_runs_it(place: Path):
    made = ready(place, McpServer("db", ("server",)))
    assert set(made.files) == {STUB, f"{STUBS}/db"}
    wrapper = made.files[f"{STUBS}/db"].decode()
    assert wrapper.startswith("#!/bin/sh\nexec /")
    assert wrapper.split()[2] in made.needs
    assert made.notes == (f"mcp.db runs {place}/bin/server outside the boundary",)


@pytest.mark.parametrize(
    ("command", "workdir", "why"),
    [
        (("{0}/project/bin/server",), None, "project/bin/server, where the agent may"),
        (("{0}/link",), None, "where the agent may"),
        (("{0}/wrapped",), None, "where the agent may"),
        (("sh", "{0}/project/run.sh"), None, "project/run.sh, where the agent may"),
        (("sh", "run.sh"), "{0}/project", "where the agent may"),
        (("server",), "{0}/project", "where the agent may"),
        (("node", "--import={0}/project/run.js"), None, "where the agent may"),
        (("./server",), None, "neither a whole path nor a name"),
        (("nothing-there",), None, "not found"),
        (("server",), "{0}/nowhere", "no directory"),
    ],
)
def test_what_the_agent_could_rewrite_is_not_run(
    place: Path, command: tuple[str, ...], workdir: str | None, why: str
):
    (place / "link").symlink_to(place / "project/bin/server")
    script(place / "wrapped").write_text(f"#!{place}/project/bin/server\n")
    script(place / "project/run.sh")
    script(place / "project/run.js")
    script(place / "bin/node")
    filled = tuple(word.format(place) for word in command)
    with pytest.raises(PolicyError, match=why):
        ready(place, McpServer("db", filled, workdir=workdir and workdir.format(place)))


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "LD_PRELOAD"])
def test_the_policys_variables_have_no_code_loaded_from_where_the_agent_writes(place: Path, name: str):
    with pytest.raises(PolicyError, match="where the agent may"):
        ready(place, McpServer("db", ("server",), env={name: f"/usr/lib:{place}/project/lib"}))
    assert ready(place, McpServer("db", ("server",), env={name: "/usr/lib", "ROOT": f"{place}/project"}))


def test_a_folder_of_the_project_may_be_what_a_server_works_on(place: Path):
    (place / "project/data.sqlite").write_text("")
    for argument in ("project", "project/data.sqlite"):
        assert ready(place, McpServer("db", ("server", f"{place}/{argument}"))).programs


@pytest.mark.parametrize(
    ("value", "why"), [("", "CALLERS is empty"), ("short", "too few"), ("a" * 30, "different characters")]
)
def test_a_secret_that_is_none_is_refused_without_its_value(place: Path, value: str, why: str):
    server = McpServer("db", ("server",), secrets={"TOKEN": "CALLERS"})
    with pytest.raises(PolicyError, match=why) as error:
        ready(place, server, {"CALLERS": value})
    assert not value or value not in str(error.value)


def test_a_name_that_the_agent_would_find_elsewhere_is_refused():
    with pytest.raises(PolicyError, match="another name"):
        refuse_taken([McpServer("sh", ("server",))], os.defpath.lstrip(":"))
    refuse_taken([McpServer("no-such-program", ("server",))], "/usr/bin:/bin")

"""The program of this machine that stands for the recorded one, and that nothing else comes with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from hark.errors import ReplayError
from hark.rerun.searching import Places, search

WORKDIR = "/home/ann/project"


def script(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def places(tmp_path: Path, path: str = "/usr/bin:/bin", own: str = "/usr/bin:/bin", **more: str) -> Places:
    (tmp_path / "copy").mkdir(exist_ok=True)
    return Places(
        WORKDIR, str(tmp_path / "copy"), more.get("reference"), path, {"PATH": own, "HOME": "/home/rev"}
    )


def test_a_name_is_found_on_the_recorded_path_and_then_on_the_callers(tmp_path: Path) -> None:
    tool = script(tmp_path / "bin/tool")
    assert search("sh", places(tmp_path)).host in ("/usr/bin/sh", "/bin/sh")
    found = search("tool", places(tmp_path, own=f"/usr/bin:{tool.parent}"))
    assert (found.host, found.inside, found.shown_as) == (str(tool), str(tool), "tool")
    assert str(tool) in found.needs
    with pytest.raises(ReplayError, match="tool: command not found; install it"):
        search("tool", places(tmp_path))


@pytest.mark.parametrize("name", ["./run.sh", f"{WORKDIR}/run.sh", "run.sh"])
def test_a_program_of_the_project_is_the_copys(tmp_path: Path, name: str) -> None:
    script(tmp_path / "copy/run.sh")
    found = search(name, places(tmp_path, path=f"{WORKDIR}:/usr/bin:/bin"))
    assert found.host == f"{tmp_path}/copy/run.sh"
    assert found.inside == f"{WORKDIR}/run.sh"
    assert found.shown_as == name


def test_an_environment_that_no_copy_has_is_the_callers_own(tmp_path: Path) -> None:
    script(tmp_path / "mine/.venv/bin/tool")
    at = places(tmp_path, path=f"{WORKDIR}/.venv/bin:/usr/bin:/bin", reference=f"{tmp_path}/mine")
    for name in ("tool", ".venv/bin/tool", f"{WORKDIR}/.venv/bin/tool"):
        found = search(name, at)
        assert found.host == f"{tmp_path}/mine/.venv/bin/tool"
        assert found.inside == f"{WORKDIR}/.venv/bin/tool"


def test_a_whole_path_that_is_not_here_stands_for_its_name(tmp_path: Path) -> None:
    found = search("/opt/ann/python-3.13/bin/sh", places(tmp_path))
    assert found.replaced
    assert found.shown_as == found.inside == found.host
    assert found.host in ("/usr/bin/sh", "/bin/sh")
    assert not search("/bin/sh", places(tmp_path)).replaced


@pytest.mark.parametrize("way", ["link", "interpreter"])
def test_a_copy_leads_to_no_file_of_the_callers(tmp_path: Path, way: str) -> None:
    secret = script(tmp_path / "home/deploy.sh", "#!/bin/sh\nTOKEN=abc\n")
    if way == "link":
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy/run").symlink_to(secret)
    else:
        script(tmp_path / "copy/run", f"#!{secret}\n")
    assert str(secret) not in search("./run", places(tmp_path)).needs
    assert (
        str(secret) in search(str(secret), places(tmp_path, own=f"/bin:{secret.parent}")).needs
    )  # the control


def managed(root: Path) -> Path:
    """A version manager's directory, whose shims run its program through env(1)."""
    script(root / "libexec/pyenv", "#!/usr/bin/env sh\n")
    return script(root / "shims/tool", f'#!/usr/bin/env sh\nexec "{root}/libexec/pyenv" exec tool\n')


def test_a_shim_that_only_the_recorded_path_leads_to_brings_its_version_manager(tmp_path: Path) -> None:
    shim = managed(tmp_path / "opt/.pyenv")
    found = search("tool", places(tmp_path, path=f"{shim.parent}:/usr/bin:/bin"))
    assert found.host == str(shim)
    assert f"{tmp_path}/opt/.pyenv" in found.needs
    stray = script(tmp_path / "home/shims/tool", f"#!/usr/bin/env sh\n{tmp_path}/home/libexec/pyenv\n")
    found = search("tool", places(tmp_path, path=f"{stray.parent}:/usr/bin:/bin"))  # the control: no manager
    assert not [need for need in found.needs if need.startswith(f"{tmp_path}/home")]


def test_of_a_run_of_ones_own_everything_is_shown_that_it_was_recorded_with(tmp_path: Path) -> None:
    tool = script(tmp_path / "mine/bin/tool", f"#!{script(tmp_path / 'mine/libexec/run', '')}\n")
    tool.parent.joinpath("../libexec/run").resolve().write_text("#!/bin/sh\n")
    at = places(tmp_path, path=f"{tool.parent}:/usr/bin:/bin")
    assert str(tool) not in search("tool", at).needs
    assert {str(tool), f"{tmp_path}/mine/libexec/run"} <= set(search("tool", replace(at, own=True)).needs)

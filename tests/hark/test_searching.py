"""The program of this machine that stands for the recorded one, and that nothing else comes with it."""

from pathlib import Path

import pytest

from hark.errors import ReplayError
from hark.searching import Places, search

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

"""Nothing that the agent can write is imported: places to import from, and what must be shown read-only."""

import os
import sys

import pytest

import hark
from hark import installation
from hark.errors import PolicyError
from hark.installation import isolate_imports, refuse_search_path, shield


@pytest.fixture(autouse=True)
def kept_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_working_directory_or_pythonpath_is_no_place_to_import_from(tmp_path):
    own = [entry for entry in sys.path if "site-packages" in entry]
    sys.path[:0] = ["", ".", str(tmp_path)]
    isolate_imports()
    assert not {"", ".", str(tmp_path)} & set(sys.path)
    assert set(own) <= set(sys.path)
    import hark.running.run  # noqa: F401  (what hark needs is still found)


def test_an_installation_inside_a_writable_path_must_be_read_only(tmp_path, monkeypatch):
    prefix = tmp_path / "app" / ".venv"
    prefix.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert str(prefix) in shield([str(tmp_path / "app")])
    assert shield([str(tmp_path / "other")]) == ()


def test_harks_own_packages_are_shielded_where_a_checkout_is_the_project():
    root = os.path.dirname(os.path.dirname(os.path.realpath(hark.__file__)))
    sys.path.append(root)
    shielded = shield([root])
    assert {f"{root}/{name}" for name in installation.PACKAGES} <= set(shielded)
    assert root not in sys.path


def test_a_grant_of_the_installation_itself_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for root in (tmp_path, tmp_path / "lib"):
        with pytest.raises(PolicyError, match="hark itself is installed in"):
            shield([str(root)])


def test_a_library_that_is_mapped_from_a_writable_place_is_shielded_too(tmp_path, monkeypatch):
    library = tmp_path / "x.so"
    library.touch()
    monkeypatch.setattr(installation, "_mapped", lambda: [str(library), "/elsewhere.so"])
    assert shield([str(tmp_path)]) == (str(library),)


def test_what_this_process_has_mapped_is_seen():
    assert any(path.endswith(".so") or ".so." in path for path in installation._mapped())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONPATH", "P"),
        ("PYTHONPATH", "/opt/x:P/src"),
        ("PYTHONPATH", "/opt/x:"),
        ("PYTHONHOME", "P/home"),
        ("LD_LIBRARY_PATH", "/opt/x;P/lib"),
        ("LD_LIBRARY_PATH", "."),
        ("LD_PRELOAD", "libm.so P/evil.so"),
        ("OPENSSL_CONF", "L/openssl.cnf"),
    ],
)
def test_variables_that_load_code_from_where_the_agent_writes_refuse_the_run(
    tmp_path, monkeypatch, name, value
):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    monkeypatch.chdir(project)
    environ = {name: value.replace("P", str(project), 1) if "P" in value else value}
    environ[name] = environ[name].replace("L/", f"{tmp_path}/link/")
    with pytest.raises(PolicyError, match=f"env -u {name} hark run"):
        refuse_search_path(environ, [str(project)])
    refuse_search_path(environ, [str(tmp_path / "other")])
    refuse_search_path({name: "", "LD_PRELOAD": "libm.so"}, [str(project)])

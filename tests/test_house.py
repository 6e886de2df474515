"""Rules of the house that a machine can check, each beside a tree that breaks it."""

import gzip
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.conftest import pytest_make_parametrize_id
from tests.support import tree

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMES = {"hark", "mediator", "launcher"}


def test_every_module_with_behaviour_has_a_twin_test() -> None:
    assert tree.without_twin(ROOT) == []


@pytest.mark.parametrize("twin", [None, "def helper(): ...\n"], ids=["missing", "without-a-test"])
def test_a_module_without_a_twin_is_named(tmp_path: Path, twin: str | None) -> None:
    for name in tree.PACKAGES:
        (tmp_path / name).mkdir()
    (tmp_path / "hark" / "values.py").write_text("A = 1\nclass P:\n    def f(self): ...\n")
    (tmp_path / "hark" / "work.py").write_text("def f():\n    return 1\n")
    if twin is not None:
        (tmp_path / "tests" / "hark").mkdir(parents=True)
        (tmp_path / "tests" / "hark" / "test_work.py").write_text(twin)
    assert tree.without_twin(tmp_path) == ["hark/work.py"]


def test_every_module_says_what_holds_in_it() -> None:
    assert tree.without_docstring(ROOT) == []


def test_no_tracked_file_names_the_machine_it_was_written_on() -> None:
    if not (ROOT / ".git").exists():
        pytest.fail("this rule asks git which files are tracked: run the tests in a clone")
    shared = ("/usr", "/usr/local", "/root", "/")
    here = (str(ROOT), sys.base_prefix, str(Path.home()))
    assert tree.naming(ROOT, tuple(path for path in here if path not in shared)) == []


def test_a_file_that_names_its_machine_is_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "notes.md").write_text(f"see {tmp_path}/notes.md")
    subprocess.run(["git", "add", "notes.md"], cwd=tmp_path, check=True)
    assert tree.naming(tmp_path, (str(tmp_path),)) == [f"notes.md: {tmp_path}"]


@pytest.mark.parametrize("name", ["run", "dev"])
def test_a_lock_names_every_package_by_hash_and_no_index(name: str) -> None:
    text = (ROOT / ".ci" / "lock" / f"{name}.txt").read_text()
    packages = re.split(r"\n(?=[a-z0-9])", text.split("\n", 2)[2])
    assert len(packages) > 20
    assert [package for package in packages if "--hash=sha256:" not in package] == []
    assert "://" not in text


def test_the_locks_hold_what_the_project_asks_for() -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / ".ci/lock/dev.txt").read_text(), re.MULTILINE))
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    names = {re.split(r"[<>=~!; \[]", line)[0] for line in asked}
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in names} <= locked  # as PEP 503 spells them


def test_what_is_run_is_what_is_developed_with() -> None:
    run, dev = ((ROOT / ".ci/lock" / f"{name}.txt").read_text() for name in ("run", "dev"))
    pins = r"^([a-z0-9-]+==\S+)"
    assert set(re.findall(pins, run, re.MULTILINE)) <= set(re.findall(pins, dev, re.MULTILINE))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_owns_three_names_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == NAMES


def test_the_wheel_ships_every_module_and_the_shims_as_data(wheel: zipfile.ZipFile) -> None:
    shipped = set(wheel.namelist())
    assert {str(path) for path in tree.modules(ROOT)} <= shipped
    shims = [
        path for path in (ROOT / "shims").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert {f"hark/_shims/{path.relative_to(ROOT / 'shims')}" for path in shims} <= shipped
    assert not any(name.startswith(("tests/", "demo/", "fidelity/", "shims/")) for name in shipped)


def test_the_wheel_installs_the_hark_program(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    assert "hark = hark.cli.main:entry" in wheel.read(entry_points).decode()
    assert "[pytest11]\nhark = hark.testing.pytest_plugin" in wheel.read(entry_points).decode()


def test_no_other_distribution_here_owns_our_names() -> None:
    owners = importlib.metadata.packages_distributions()
    assert {name: set(owners.get(name, ())) - {"hark-run"} for name in NAMES} == {
        name: set() for name in NAMES
    }


OFFENCES = {
    "layers": ("launcher/offence.py", "import mediator.config"),
    "core-without-io": ("hark/replay/offence.py", "import socket"),
    "kernel-in-launcher": ("mediator/offence.py", "import pyroute2"),
    "proxy-in-mediator": ("launcher/offence.py", "import mitmproxy.http"),
    "sigstore-in-anchor": ("hark/verify/offence.py", "import sigstore"),
    "readers-are-light": ("hark/bundle/walk.py", "import launcher.plan"),
    "shims-by-nobody": ("hark/offence.py", "import shims"),
}


def test_every_import_contract_has_an_offence_that_it_must_see() -> None:
    assert {contract["id"] for contract in PROJECT["tool"]["importlinter"]["contracts"]} == set(OFFENCES)


def lint_imports(root: Path, contract: str) -> str:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--contract", contract]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("contract", OFFENCES)
def test_an_import_that_breaks_a_contract_is_seen(tmp_path: Path, contract: str) -> None:
    for name in (*NAMES, "pyproject.toml"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, tmp_path / name)
    assert "1 kept, 0 broken" in lint_imports(tmp_path, contract)
    path, line = OFFENCES[contract]
    with (tmp_path / path).open("a") as file:
        file.write(f"{line}\n")
    assert "0 kept, 1 broken" in lint_imports(tmp_path, contract)


def test_a_parameter_that_holds_the_time_does_not_name_its_test() -> None:
    """Else the workers of one run, which collect a second apart, find other tests, and none is run."""
    names = {pytest_make_parametrize_id(gzip.compress(bytes(at), mtime=at), "body") for at in range(99)}
    assert names == {"body-bytes"}
    assert pytest_make_parametrize_id(b"text", "body") is None
    assert pytest_make_parametrize_id("text", "body") is None

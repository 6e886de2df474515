"""Which variables of a bundle's decide what a test runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from hark.repeatable.determinism import LIBRARY
from hark.repeatable.language_shims import PYTHON_FOLDER
from hark.testing.pytest_variables import deciding


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("PYTHONOPTIMIZE", "PYTEST_ADDOPTS", "PYTHONPATH", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONOPTIMIZE", "1"), ("PYTHONPATH", "evil"), ("PYTHONPATH", f"{PYTHON_FOLDER}:evil"),
        ("PYTHONHOME", "/x"), ("PYTEST_ADDOPTS", "-k no"), ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"),
        ("PYTHONHASHSEED", "x"), ("LD_PRELOAD", f"{LIBRARY}:evil.so"), ("LD_TRACE_LOADED_OBJECTS", ""),
    ],
)  # fmt: skip
def test_what_the_bundle_alone_says_is_named(name: str, value: str):
    assert list(deciding({name: value, "HOME": "/x"}, None)) == [name]


def test_what_hark_puts_there_and_what_says_nothing_is_not():
    env = {"PYTHONPATH": PYTHON_FOLDER, "LD_PRELOAD": LIBRARY, "PYTHONHASHSEED": "7", "PYTHONUTF8": "1"}
    assert not list(deciding({**env, "PYTHONOPTIMIZE": "", "EDITOR": "vi"}, None))


def test_what_the_reader_has_and_what_the_tests_policy_assigns_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    policy = tmp_path / "p.toml"
    policy.write_text('[env.set]\nPYTHONOPTIMIZE = "1"\nPYTHONPATH = "src"\n')
    env = {"PYTHONOPTIMIZE": "1", "PYTHONPATH": f"{PYTHON_FOLDER}:src"}
    assert not list(deciding(env, policy))
    assert list(deciding({**env, "PYTHONOPTIMIZE": "2"}, policy)) == ["PYTHONOPTIMIZE"]
    assert list(deciding(env, tmp_path / "none")) == ["PYTHONOPTIMIZE", "PYTHONPATH"]
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    assert not list(deciding({**env, "PYTHONOPTIMIZE": "2"}, policy))


@pytest.mark.parametrize(("env", "left"), [({"LD_TRACE_LOADED_OBJECTS": ""}, ""), ({}, "ran\n")])
def test_the_loader_takes_an_empty_variable_for_one(env: dict[str, str], left: str):
    ran = subprocess.run(
        [sys.executable, "-c", "print('ran')"], env=env, capture_output=True, text=True, check=True
    )
    assert ("ran\n" in ran.stdout) is bool(left)

"""The Python shim's bytecode: who is asked for it, what comes of it, and that it is made once."""

import importlib.util
import marshal
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hark.repeatable import bytecode

INSIDE = "/run/hark/shim/python/sitecustomize.py"
OWN = f"/run/hark/shim/python/__pycache__/sitecustomize.{sys.implementation.cache_tag}.pyc"
SOURCE = b"answer = 41 + 1\n"


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(bytecode, "_FOLDERS", (str(tmp_path / "bin"),))
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_it_is_what_python_would_load_without_looking_at_the_source(environ: dict[str, str]) -> None:
    found = bytecode.compiled(INSIDE, SOURCE, environ, ())
    assert list(found) == [OWN]
    content = found[OWN]
    assert content[:4] == importlib.util.MAGIC_NUMBER
    assert int.from_bytes(content[4:8], "little") == 1  # PEP 552: by hash, and unchecked
    code = marshal.loads(content[16:])
    assert code.co_filename == INSIDE
    said: dict[str, int] = {}
    exec(code, said)
    assert said["answer"] == 42


def test_it_is_made_once_for_each_source(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = bytecode.compiled(INSIDE, SOURCE, environ, ())
    made: list[bytes] = []

    def make(interpreter: str, inside: str, source: bytes, scratch: str) -> bytes:
        made.append(source)
        return b"cpython-399\nother"

    monkeypatch.setattr(bytecode, "_make", make)
    assert bytecode.compiled(INSIDE, SOURCE, environ, ()) == first
    assert made == []
    changed = bytecode.compiled(INSIDE, b"changed", environ, ())
    assert list(changed.values()) == [b"other"]
    assert made == [b"changed"]


def test_where_it_is_kept_is_the_callers_alone(environ: dict[str, str]) -> None:
    bytecode.compiled(INSIDE, SOURCE, environ, ())
    kept = Path(environ["XDG_STATE_HOME"]) / "hark" / "shims"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert [path.suffix for path in kept.iterdir()] == [".pyc"]


def test_an_interpreter_that_the_agent_may_write_is_not_asked(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "bin" / "python3.12", f": > {tmp_path}/ran")
    monkeypatch.setattr(sys, "executable", "")
    assert bytecode.compiled(INSIDE, SOURCE, environ, (str(tmp_path / "bin"),)) == {}
    assert not (tmp_path / "ran").exists()
    bytecode.compiled(INSIDE, SOURCE, environ, ())
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["exit 1", "echo ../../etc/cron.d/x", "printf cpython-312"])
def test_one_that_cannot_is_passed_over_and_not_asked_again(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    script(tmp_path / "bin" / "python3.12", f"echo asked >> {tmp_path}/asked; {text}")
    monkeypatch.setattr(sys, "executable", "")
    for _ in range(2):
        assert bytecode.compiled(INSIDE, SOURCE, environ, ()) == {}
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_only_what_is_a_python_of_a_known_version_is_asked(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("python3.7", "python3", "python3.12-config", "python2.7"):
        script(tmp_path / "bin" / name, f": > {tmp_path}/ran")
    monkeypatch.setattr(sys, "executable", "")
    assert bytecode.compiled(INSIDE, SOURCE, environ, ()) == {}
    assert not (tmp_path / "ran").exists()


def test_a_place_that_cannot_be_written_costs_the_bytecode_and_nothing_else(environ: dict[str, str]) -> None:
    Path(environ["XDG_STATE_HOME"]).write_text("no directory")
    assert bytecode.compiled(INSIDE, SOURCE, environ, ()) == {}
    assert os.path.isfile(environ["XDG_STATE_HOME"])


def test_what_a_run_that_was_killed_left_of_making_it_goes_with_the_next_and_lies_nowhere_else(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        os._exit(9)  # nothing is taken away: as by SIGKILL

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    child = os.fork()
    if child == 0:
        try:
            subprocess.run = killed
            bytecode.compiled(INSIDE, SOURCE, environ, ())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    kept = tmp_path / "state" / "hark" / "shims"
    assert len(list(kept.iterdir())) == 1  # the control
    bytecode.compiled(INSIDE, SOURCE, environ, ())
    assert [path.suffix for path in kept.iterdir()] == [".pyc"]
    assert list((tmp_path / "tmp").iterdir()) == []

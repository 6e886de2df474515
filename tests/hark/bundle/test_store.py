import os
import stat

import pytest

from hark.bundle import store
from hark.bundle.writer import Writer
from hark.errors import PolicyError
from hark.ids import ulid
from tests.hark.bundle.bundles import EVENTS, HEADER


def test_the_directory_follows_the_xdg_variables():
    assert store.runs_directory({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == "/s/hark/runs"
    assert store.runs_directory({"XDG_STATE_HOME": "relative", "HOME": "/h"}) == "/h/.local/state/hark/runs"
    with pytest.raises(PolicyError, match="neither XDG_STATE_HOME nor HOME"):
        store.runs_directory({})


def test_the_directory_is_made_private_and_one_that_others_reach_into_is_refused(tmp_path):
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    path = store.ensure_runs_directory(environ)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert store.ensure_runs_directory(environ) == path
    os.chmod(path, 0o755)
    with pytest.raises(PolicyError, match="chmod 700"):
        store.ensure_runs_directory(environ)
    os.rmdir(path)
    with open(path, "w"):
        pass
    with pytest.raises(
        PolicyError, match=r"cannot keep bundles in .*: file exists; have HOME or XDG_STATE_HOME"
    ):
        store.ensure_runs_directory(environ)


def test_runs_are_listed_oldest_first_as_running_sealed_killed_or_unreadable(tmp_path):
    ids = [ulid(1_000_000 * index, bytes(10)) for index in range(1, 5)]
    running, sealed, killed, unreadable = (store.run_path(str(tmp_path), run_id) for run_id in ids)
    (tmp_path / "notes.hark").write_text("not named by an id")
    (tmp_path / "other").write_text("no bundle")
    with Writer.create(sealed, HEADER) as writer:
        writer.append(EVENTS[0])
        writer.seal("exit")
    with Writer.create(killed, HEADER) as writer:
        writer.append(EVENTS[0])
    with open(unreadable, "wb") as file:
        file.write(b"HARK")
    with Writer.create(running, HEADER) as writer:
        writer.append(EVENTS[0])
        runs = store.list_runs(str(tmp_path))
    assert [(run.run_id, run.state, run.events) for run in runs] == [
        (ids[0], store.RUNNING, 1),
        (ids[1], store.SEALED, 2),
        (ids[2], store.KILLED, 1),
        (ids[3], store.UNREADABLE, 0),
    ]
    assert store.list_runs(str(tmp_path))[0].state == store.KILLED


def test_a_run_that_seals_while_it_is_looked_at_is_never_taken_for_killed(tmp_path, monkeypatch):
    path = store.run_path(str(tmp_path), ulid(1_000_000, bytes(10)))
    with Writer.create(path, HEADER) as writer:
        writer.append(EVENTS[0])
        real = store.is_locked

        def sealed_meanwhile(fd):
            writer.seal("exit")
            writer.close()
            return real(fd)

        monkeypatch.setattr(store, "is_locked", sealed_meanwhile)
        run = store.look(path)
    assert (run.state, run.events, run.size) == (store.SEALED, 2, os.stat(path).st_size)


def test_a_directory_that_is_not_there_holds_no_runs(tmp_path):
    assert store.list_runs(str(tmp_path / "none")) == []
    assert store.look(str(tmp_path / "none.hark")) is None

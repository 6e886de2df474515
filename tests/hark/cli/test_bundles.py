"""Files that the user named: what cannot be opened, what is too long, and what may not be overwritten."""

import os

import pytest

from hark.bundle import store
from hark.cli import bundles
from hark.errors import BundleError, UsageError
from hark.ids import ulid
from tests.hark.cli import sample
from tests.hark.cli.program import hark


def test_a_file_is_opened_and_what_cannot_be_is_an_error_with_its_name(tmp_path):
    path = str(sample.write(tmp_path / "a.hark"))
    with bundles.opened(path) as file:
        assert file.header.run_id == sample.RUN_ID
    for bad in (str(tmp_path / "no"), str(tmp_path)):
        with pytest.raises(OSError, match=bad) as caught:
            bundles.opened(bad)
        assert caught.value.filename == bad
    (tmp_path / "x").write_bytes(b"x")
    with pytest.raises(BundleError):
        bundles.opened(str(tmp_path / "x"))


def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "p")
    for path, words in ((str(tmp_path / "p"), "it is a pipe"), ("/dev/zero", "it is a device")):
        for use in (bundles.checked, bundles.opened, lambda path: bundles.read(path, 5, "proof")):
            with pytest.raises(OSError, match=words):
                use(path)


def test_no_command_waits_for_a_pipe_or_reads_a_device(tmp_path):
    bundle, pipe = sample.write(tmp_path / "a.hark"), tmp_path / "p"
    os.mkfifo(pipe)
    assert hark("prove", "-seq", "1", "-out", tmp_path / "proof", bundle).code == 0
    for bad, what in ((pipe, "a pipe"), ("/dev/zero", "a device")):
        for words in (
            ["verify", bad], ["inspect", bad], ["prove", "-seq", "1", bad], ["prove", "-check", bad],
            ["prove", "-check", tmp_path / "proof", "-payload", bad],
            ["prove", "-check", tmp_path / "proof", "-key", bad],
            ["verify", "-key", bad, bundle], ["redact", "-seq", "1", "-o", tmp_path / "r", bad],
        ):  # fmt: skip
            code, out, err = hark(*words, timeout=60)
            assert (code, out, err.count("\n"), f"it is {what}" in err) == (2, "", 1, True), err
        code, _, err = hark("synth", "-o", tmp_path / "s", "-key", bad, timeout=60)
        assert (code, err) == (125, f"hark: {bad} is not a key file\n")


def test_a_file_longer_than_its_ceiling_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"12345")
    assert bundles.read(str(tmp_path / "x"), 5, "proof") == b"12345"
    with pytest.raises(UsageError, match="larger than 4 bytes: it is no proof"):
        bundles.read(str(tmp_path / "x"), 4, "proof")


def test_a_new_file_is_written_whole_and_never_over_another(tmp_path):
    path = str(tmp_path / "x")
    bundles.write_new(path, b"new")
    for refuse in (lambda: bundles.write_new(path, b"other"), lambda: bundles.refuse_existing(path)):
        with pytest.raises(FileExistsError):
            refuse()
    assert (tmp_path / "x").read_bytes() == b"new"
    os.symlink("nowhere", tmp_path / "link")
    with pytest.raises(FileExistsError):
        bundles.refuse_existing(str(tmp_path / "link"))


def test_a_directory_that_is_missing_is_named_with_the_command_that_makes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (bundles.refuse_nowhere, bundles.refuse_existing, lambda path: bundles.write_new(path, b"")):
        with pytest.raises(UsageError) as caught:
            use("no dir/x")
        said = "there is no directory no dir to write in; make it first: mkdir -p 'no dir'"
        assert str(caught.value) == said
    bundles.refuse_nowhere("x")
    bundles.refuse_nowhere(str(tmp_path / "x"))


def test_pins_are_read_in_order_and_none_is_none():
    assert bundles.pinned(()) == ()
    assert bundles.pinned(["00" * 32, "11" * 32]) == (b"\0" * 32, b"\x11" * 32)


def test_a_run_is_found_by_as_much_of_its_id_as_no_other_run_has(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    runs = store.ensure_runs_directory({"XDG_STATE_HOME": str(tmp_path / "state")})
    first, second, other = (ulid(time, bytes(10)) for time in (10**18, 10**18 + 10**9, 2 * 10**18))
    for run_id in (first, second, other):
        sample.write(f"{runs}/{run_id}.hark", run_id=run_id)
    assert bundles.located(other[:4]) == store.run_path(runs, other)
    assert bundles.located(other[:4].lower()) == store.run_path(runs, other)
    assert bundles.located(first) == store.run_path(runs, first)
    with pytest.raises(UsageError) as caught:
        bundles.located(first[:4])
    assert str(caught.value) == f"{first[:4]} could be any of {first}, {second}; write more of the id"
    assert bundles.located("7ZZ") == "7ZZ"
    assert bundles.located("") == ""
    (tmp_path / other[:4]).write_bytes(b"")
    assert bundles.located(other[:4]) == other[:4]

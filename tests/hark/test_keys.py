"""Keys on disk: private, whole, never overwritten; and their names."""

import os
import re
import stat
import threading

import pytest

from hark import keys
from hark.bundle.tree_head import SigningKey
from hark.errors import PolicyError, UsageError

SEED = bytes(range(32))
PUBLIC = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")


@pytest.fixture
def key():
    return SigningKey(SEED)


def same(one, other):
    return one.to_pem() == other.to_pem()


def test_a_generated_key_is_a_new_one_each_time():
    assert keys.generate().public_key != keys.generate().public_key


def test_a_name_is_six_words_of_the_list_and_the_same_every_time():
    assert keys.name(PUBLIC) == "jam-path-ermine-cycle-coast-dock"
    assert keys.name(keys.generate().public_key) != keys.name(PUBLIC)
    assert re.fullmatch(r"([a-z]+-){5}[a-z]+", keys.name(PUBLIC))


def test_a_key_is_pinned_by_hex_digits_or_by_either_file(tmp_path, key):
    keys.create_private(str(tmp_path / "k"), key)
    keys.create_public(str(tmp_path / "k.pub"), key.public_key)
    for text in (PUBLIC.hex(), PUBLIC.hex().upper(), str(tmp_path / "k"), str(tmp_path / "k.pub")):
        assert keys.public_from(text) == PUBLIC


def test_a_pin_that_is_neither_is_refused_in_words(tmp_path):
    for text in (PUBLIC.hex()[:-1], "nosuch", PUBLIC.hex() + "0"):
        with pytest.raises(UsageError, match="neither 64 hex digits nor a file"):
            keys.public_from(text)
    (tmp_path / "other").write_bytes(b"\0" * 100_000)
    with pytest.raises(UsageError, match="other: not a public key"):
        keys.public_from(str(tmp_path / "other"))


def test_a_private_key_is_created_0600_under_any_umask_and_never_overwrites(tmp_path, key):
    path = str(tmp_path / "k")
    for umask in (0, 0o777):
        before = os.umask(umask)
        try:
            keys.create_private(path, key)
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with pytest.raises(FileExistsError):
            keys.create_private(path, keys.generate())
        assert same(keys.load_private(path), key)
        assert os.listdir(tmp_path) == ["k"]
        os.unlink(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o601, 0o777])
def test_a_private_key_that_others_can_use_is_refused_with_the_command_that_mends_it(tmp_path, key, mode):
    path = str(tmp_path / "k")
    keys.create_private(path, key)
    os.chmod(path, mode)
    with pytest.raises(PolicyError, match=f"chmod 0600 {path}"):
        keys.load_private(path)
    os.chmod(path, 0o600)
    assert same(keys.load_private(path), key)


def test_a_private_key_of_somebody_else_is_refused(tmp_path, key, monkeypatch):
    path = str(tmp_path / "k")
    keys.create_private(path, key)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        owner = 12345
    else:
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PolicyError, match=f"belongs to user id {owner}, not to you"):
        keys.load_private(path)


def test_a_directory_or_pipe_in_the_place_of_a_key_is_refused(tmp_path):
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "p")
    for path, words in ((tmp_path / "d", "directory"), (tmp_path / "p", "pipe"), ("/dev/zero", "device")):
        with pytest.raises(PolicyError, match="is not a key file"):
            keys.load_private(str(path))
        with pytest.raises(UsageError, match=f"cannot read -key {path}: it is a {words}"):
            keys.public_from(str(path))


def test_a_damaged_signing_key_refuses_the_run_and_not_the_bundle(tmp_path):
    path = str(tmp_path / "k")
    good = keys.generate().to_pem().encode()
    for bad in (b"junk", b"", b"\xff" * 5000, good[:-40], good.replace(b"PRIVATE", b"PUBLIC")):
        (tmp_path / "k").write_bytes(bad)
        os.chmod(path, 0o600)
        with pytest.raises(PolicyError, match=f"^{path}(: | is a public key)"):
            keys.load_private(path)


def test_the_first_run_makes_the_users_key_in_a_directory_of_its_own(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "new" / "config")}
    key, made = keys.user_key(environ)
    assert made
    path = keys.user_key_path(environ)
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    again, made = keys.user_key(environ)
    assert same(again, key)
    assert not made


def test_a_config_directory_that_others_can_reach_into_is_refused(tmp_path):
    (tmp_path / "hark").mkdir(mode=0o755)
    with pytest.raises(PolicyError, match=f"chmod 0700 {tmp_path}/hark"):
        keys.user_key({"XDG_CONFIG_HOME": str(tmp_path)})


def test_the_place_of_the_key_follows_xdg_and_a_relative_value_is_ignored():
    assert keys.user_key_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == "/c/hark/signing.key"
    assert keys.user_key_path({"XDG_CONFIG_HOME": "c", "HOME": "/h"}) == "/h/.config/hark/signing.key"
    assert keys.user_key_path({"HOME": "/h"}) == "/h/.config/hark/signing.key"
    with pytest.raises(PolicyError, match="neither XDG_CONFIG_HOME nor HOME"):
        keys.user_key_path({})


def test_first_runs_that_race_agree_on_one_key(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    found, start = [], threading.Barrier(16)

    def first_run():
        start.wait()
        found.append(keys.user_key(environ))

    threads = [threading.Thread(target=first_run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len({key.public_key for key, _ in found}) == 1
    assert sum(made for _, made in found) == 1
    assert sorted(os.listdir(tmp_path / "hark")) == ["signing.key", "signing.key.pub"]


def test_the_half_to_hand_out_lies_beside_the_key_and_comes_back_if_it_is_lost(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    key, _ = keys.user_key(environ)
    beside = tmp_path / "hark" / "signing.key.pub"
    assert keys.public_from(str(beside)) == key.public_key
    beside.unlink()
    assert keys.user_key(environ)[0].public_key == key.public_key
    assert keys.public_from(str(beside)) == key.public_key


def test_a_public_key_given_to_sign_with_is_called_one(tmp_path):
    keys.create_public(str(tmp_path / "k.pub"), keys.generate().public_key)
    with pytest.raises(PolicyError, match="is a public key; to sign, name the private key"):
        keys.load_private(str(tmp_path / "k.pub"))


def test_after_a_rotation_the_public_half_beside_the_key_is_the_new_one(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    old, _ = keys.user_key(environ)
    os.rename(tmp_path / "hark" / "signing.key", tmp_path / "hark" / "signing.key.old")
    new, made = keys.user_key(environ)
    assert made
    assert keys.public_from(str(tmp_path / "hark" / "signing.key.pub")) == new.public_key
    aside = f"signing.key.pub.{old.public_key.hex()[:8]}"
    assert keys.public_from(str(tmp_path / "hark" / aside)) == old.public_key


def test_a_home_that_is_not_there_is_told_with_what_to_set(tmp_path):
    (tmp_path / "file").touch()
    for place in ("/proc/none", str(tmp_path / "file")):
        with pytest.raises(UsageError, match=r"cannot make .*/hark, .*; have HOME or XDG_CONFIG_HOME name"):
            keys.ensure_private_directory(f"{place}/hark")


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_key_for_which_there_is_no_room_is_told_with_what_to_do_and_not_left_half(
    tmp_path, key, monkeypatch, call
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(UsageError, match=r"cannot write .*/k: no space left on device; make room there"):
        keys.create_private(str(tmp_path / "k"), key)
    assert list(tmp_path.iterdir()) == []

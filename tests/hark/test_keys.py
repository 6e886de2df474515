"""Keys on disk: private, whole, never overwritten; and their names."""

import os
import re
import stat
import threading

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hark import keys
from hark.errors import BundleError, PolicyError, UsageError

# From the format's own vectors (sth.json).
SEED = bytes(range(32))
PUBLIC = bytes.fromhex("03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
PUBLIC_PEM = (
    b"-----BEGIN HARK PUBLIC KEY-----\nA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n"
    b"-----END HARK PUBLIC KEY-----\n"
)
SIGNED = bytes.fromhex(
    "6861726b2f7374682f7631000000000000001a30314a38583030303030303030303030303030303030544553540000000000"
    "000011a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf185c6effdeb88000"
)
SIGNATURE = bytes.fromhex(
    "442c0e884af6293313da75500d9826ec9e4df342ed9912fa26a2c1c45c6f5b2cfa768d0a9f3a8f66339a4685bf2c51f63c05"
    "c0ea981746bfe5112f7cbb4e8c0b"
)


@pytest.fixture
def key():
    return keys.from_seed(SEED)


def test_a_seed_gives_the_public_key_and_signature_of_the_vectors(key):
    assert key.public == PUBLIC
    assert key.sign(SIGNED) == SIGNATURE
    Ed25519PublicKey.from_public_bytes(PUBLIC).verify(SIGNATURE, SIGNED)
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(PUBLIC).verify(SIGNATURE, SIGNED + b"x")


def test_key_files_are_the_ones_of_the_vectors_and_read_back(key):
    assert keys.encode_public(PUBLIC) == PUBLIC_PEM
    assert keys.decode_public(PUBLIC_PEM, "f") == PUBLIC
    private = keys.encode_private(key)
    assert private.startswith(b"-----BEGIN HARK PRIVATE KEY-----\n")
    assert max(map(len, private.splitlines())) == 64
    assert keys.decode_private(private, "f") == key
    assert keys.decode_public(private, "f") == PUBLIC
    assert keys.decode_public(PUBLIC_PEM.replace(b"\n", b"\r\n"), "f") == PUBLIC


def test_a_damaged_key_file_is_refused_whatever_byte_is_lost_or_changed(key):
    for good in (PUBLIC_PEM, keys.encode_private(key)):
        for at in range(len(good)):
            with pytest.raises(BundleError):
                keys.decode_private(good[:at] + good[at + 1 :], "f")
            with pytest.raises(BundleError):
                keys.decode_private(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :], "f")
        with pytest.raises(BundleError):
            keys.decode_public(good + b"\n", "f")


def test_a_private_file_whose_halves_disagree_is_refused(key):
    other = keys.SigningKey(bytes(32), key.public)
    with pytest.raises(BundleError, match="do not belong together"):
        keys.decode_private(keys.encode_private(other), "f")


def test_a_public_key_cannot_be_used_to_sign():
    with pytest.raises(BundleError, match="is a public key; signing needs the private key"):
        keys.decode_private(PUBLIC_PEM, "f")


def test_the_repr_of_a_key_does_not_hold_its_secret(key):
    assert SEED.hex() not in repr(key)
    assert repr(SEED)[2:-1] not in repr(key)
    assert PUBLIC.hex() in f"{key}"


def test_a_name_is_six_words_of_the_list_and_the_same_every_time():
    assert keys.name(PUBLIC) == "jam-path-ermine-cycle-coast-dock"
    assert keys.name(keys.generate().public) != keys.name(PUBLIC)
    assert re.fullmatch(r"([a-z]+-){5}[a-z]+", keys.name(PUBLIC))


def test_a_key_is_pinned_by_hex_digits_or_by_either_file(tmp_path, key):
    keys.create_private(str(tmp_path / "k"), key)
    keys.create_public(str(tmp_path / "k.pub"), key.public)
    for text in (PUBLIC.hex(), PUBLIC.hex().upper(), str(tmp_path / "k"), str(tmp_path / "k.pub")):
        assert keys.public_from(text) == PUBLIC


def test_a_pin_that_is_neither_is_refused_in_words(tmp_path):
    for text in (PUBLIC.hex()[:-1], "nosuch", PUBLIC.hex() + "0"):
        with pytest.raises(UsageError, match="neither 64 hex digits nor a file"):
            keys.public_from(text)
    (tmp_path / "other").write_bytes(b"\0" * 100_000)
    with pytest.raises(BundleError, match="is not a key file"):
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
        assert keys.load_private(path) == key
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
    assert keys.load_private(path) == key


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
    with pytest.raises(PolicyError, match="is not a key file"):
        keys.load_private(str(tmp_path / "d"))


def test_a_damaged_signing_key_refuses_the_run_and_not_the_bundle(tmp_path):
    (tmp_path / "k").write_bytes(b"junk")
    os.chmod(tmp_path / "k", 0o600)
    with pytest.raises(PolicyError):
        keys.load_private(str(tmp_path / "k"))


def test_the_first_run_makes_the_users_key_in_a_directory_of_its_own(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "new" / "config")}
    key, made = keys.user_key(environ)
    assert made
    path = keys.user_key_path(environ)
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert keys.user_key(environ) == (key, False)


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
    assert len({key.public for key, _ in found}) == 1
    assert sum(made for _, made in found) == 1
    assert os.listdir(tmp_path / "hark") == ["signing.key"]

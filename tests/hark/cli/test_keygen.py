"""Making a key from the command line."""

import os
import stat
from binascii import a2b_base64, b2a_hex

from hark import keys
from tests.hark.cli.program import hark


def test_keygen_writes_a_private_file_and_its_public_half_and_names_the_key(tmp_path):
    path = tmp_path / "k"
    code, out, err = hark("keygen", "-out", path)
    assert (code, err) == (0, "")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    key = keys.load_private(str(path))
    assert keys.public_from(f"{path}.pub") == key.public_key
    assert key.public_key.hex() in out
    assert keys.name(key.public_key) in out
    assert path.read_text().splitlines()[1] not in out
    assert b2a_hex(a2b_base64(path.read_text().splitlines()[1])).decode()[:64] not in out
    assert sorted(os.listdir(tmp_path)) == ["k", "k.pub"]


def test_keygen_never_overwrites(tmp_path):
    for name in ("k", "k.pub"):
        (tmp_path / name).write_bytes(b"mine")
        code, out, err = hark("keygen", "-out", tmp_path / "k")
        assert (code, out) == (2, "")
        assert (
            err
            == f"hark: {tmp_path}/{name} exists, and a key is never overwritten; -out FILE makes another\n"
        )
        assert (tmp_path / name).read_bytes() == b"mine"
        (tmp_path / name).unlink()
    os.symlink(tmp_path / "elsewhere", tmp_path / "k")
    assert hark("keygen", "-out", tmp_path / "k").code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_keygen_without_out_makes_the_key_that_run_signs_with(tmp_path):
    env = {"XDG_CONFIG_HOME": str(tmp_path / "c")}
    assert hark("keygen", env=env).code == 0
    key, made = keys.user_key(env)
    assert not made
    assert hark("keygen", env=env).code == 2
    assert keys.user_key(env)[0].to_pem() == key.to_pem()


def test_keygen_refuses_a_directory_others_can_reach_into(tmp_path):
    (tmp_path / "hark").mkdir(mode=0o755)
    code, _, err = hark("keygen", env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert code == 2
    assert f"chmod 0700 {tmp_path}/hark" in err


def test_keygen_into_a_directory_or_a_missing_one_is_a_sentence(tmp_path):
    assert hark("keygen", "-out", tmp_path).err == (
        f"hark: -out {tmp_path} is a directory; name the file to write\n"
    )
    assert hark("keygen", "-out", "nodir/k", cwd=tmp_path) == (
        2, "", "hark: there is no directory nodir to write in; make it first: mkdir -p nodir\n"
    )  # fmt: skip

"""`hark trust`: a key goes on the list by itself or by a bundle that it signed well."""

import pytest

from hark import keys
from tests.hark.cli.program import hark
from tests.support.recordings import bundle
from tests.support.rerecorded import STRANGER

HEX = STRANGER.public_key.hex()


def trust(home, *words):
    return hark("trust", *words, env={"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""})


@pytest.mark.parametrize("way", ["bundle", "hex", "file"])
def test_a_key_is_added_and_listed(tmp_path, way):
    keys.create_public(str(tmp_path / "ann.pub"), STRANGER.public_key)
    given = {"bundle": bundle(tmp_path / "run.hark"), "hex": HEX, "file": tmp_path / "ann.pub"}[way]
    added = trust(tmp_path, given)
    assert added.code == 0, added.err
    assert keys.name(STRANGER.public_key) in added.out
    assert "is trusted from now on" in added.out
    assert "was trusted already" in trust(tmp_path, given).out
    assert trust(tmp_path, "-list").out.startswith(f"{HEX} {keys.name(STRANGER.public_key)} (20")


def test_nobody_is_trusted_for_a_bundle_that_is_broken_or_unsigned(tmp_path):
    path = bundle(tmp_path / "run.hark")
    data = bytearray((tmp_path / "run.hark").read_bytes())
    data[data.index(b"/home/ann/project")] ^= 1
    (tmp_path / "run.hark").write_bytes(data)
    broken = trust(tmp_path, path)
    assert broken.code == 1
    assert "does not verify" in broken.err
    unsigned = trust(tmp_path, bundle(tmp_path / "unsigned.hark", key=None))
    assert unsigned.code == 2
    assert "not signed" in unsigned.err
    assert trust(tmp_path, "-list").out == ""


@pytest.mark.parametrize("words", [[], ["-list", HEX], ["beef"]])
def test_words_that_name_no_key_are_usage(tmp_path, words):
    assert trust(tmp_path, *words).code == 2


def test_what_is_neither_bundle_nor_key_is_named_without_an_option_that_nobody_gave(tmp_path):
    refused = trust(tmp_path, "nope")
    assert (refused.code, refused.err) == (
        2, "hark: nope is neither 64 hex digits nor a file that exists\n"
    )  # fmt: skip

"""The verdict as the user reads it: one line, the findings, the limits, and the exit code."""

import json
import subprocess
import sys

import pytest

from hark import keys
from tests.hark.cli import sample
from tests.hark.cli.program import hark

PUBLIC = sample.KEY.public_key.hex()


def test_a_whole_bundle_is_verified_and_the_verdict_says_what_it_does_not_say(tmp_path):
    code, out, err = hark("verify", sample.write(tmp_path / "a.hark"))
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith(
        "VERIFIED: the run ended with exit code 3, 13 events, signed by a key that nobody"
    )
    assert sum(line.startswith("VERIFIED") for line in lines) == 1
    assert f"The key is called {keys.name(sample.KEY.public_key)}." in lines
    assert "What this does not say:" in lines
    assert "Whose key it is" in out


def test_a_pinned_key_by_digits_or_by_file_is_said_to_be_expected(tmp_path):
    path = sample.write(tmp_path / "a.hark")
    keys.create_public(str(tmp_path / "k.pub"), sample.KEY.public_key)
    for pin in (PUBLIC, tmp_path / "k.pub"):
        code, out, _ = hark("verify", path, "-key", pin)
        assert code == 0
        assert f"signed by the expected key {PUBLIC}" in out
        assert "Nobody vouches" not in out


def test_one_of_several_pins_is_enough_and_a_wrong_one_rejects(tmp_path):
    path, other = sample.write(tmp_path / "a.hark"), keys.generate().public_key.hex()
    assert hark("verify", "-key", other, "-key", PUBLIC, path).code == 0
    code, out, _ = hark("verify", "-key", other, path)
    assert code == 1
    assert out.startswith("REJECTED: ")


def test_a_pin_that_cannot_be_read_is_a_usage_error_and_no_verdict(tmp_path):
    path = sample.write(tmp_path / "a.hark")
    (tmp_path / "junk").write_text("junk")
    for pin in ("zz", tmp_path / "junk"):
        code, out, err = hark("verify", "-key", pin, path)
        assert (code, out) == (2, "")
        assert err.startswith(f"hark: -key {pin}")


def test_whoever_gave_a_key_is_never_told_to_give_one(tmp_path):
    other = keys.generate().public_key.hex()
    for name, key in (("signed", sample.KEY), ("unsigned", None)):
        path = sample.write(tmp_path / name, key=key)
        code, out, err = hark("verify", "-key", other, path)
        assert (code, out.split(":")[0], err) == (1, "REJECTED", "")
        assert "-key" not in out
    assert "-key" not in hark("verify", "-key", PUBLIC, tmp_path / "signed").out
    assert "give that one with -key" in hark("verify", tmp_path / "signed").out


def test_an_edited_bundle_is_broken_and_names_the_event(tmp_path):
    path = sample.write(tmp_path / "a.hark")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"192.0.2.7", b"192.0.2.8", 1))
    code, out, _ = hark("verify", path)
    assert code == 1
    assert out.startswith("BROKEN: event 5 (EgressAttempt, at byte ")


def test_a_killed_run_is_truncated_and_exits_with_3(tmp_path):
    sample.opened(tmp_path / "k.hark").close()
    code, out, _ = hark("verify", tmp_path / "k.hark")
    assert code == 3
    assert out.startswith("TRUNCATED: ")


def test_a_file_that_is_no_bundle_gets_a_verdict_and_one_that_is_missing_does_not(tmp_path):
    (tmp_path / "x").write_bytes(b"something else")
    assert hark("verify", tmp_path / "x") == (
        1, f"BROKEN: {tmp_path}/x is not a bundle: it does not begin with HARK\n", ""
    )  # fmt: skip
    (tmp_path / "x").write_bytes(b"")
    assert hark("verify", tmp_path / "x") == (1, f"BROKEN: {tmp_path}/x is not a bundle: it is empty\n", "")
    (tmp_path / "x").write_bytes(b"HARK\x01")
    code, out, _ = hark("verify", tmp_path / "x")
    assert (code, out.split(":")[0]) == (3, "TRUNCATED")
    assert hark("verify", tmp_path / "no") == (
        2, "", f"hark: cannot use {tmp_path}/no: no such file or directory\n"
    )  # fmt: skip
    assert hark("verify", tmp_path) == (2, "", f"hark: cannot use {tmp_path}: it is a directory\n")


def test_json_holds_the_same_verdict(tmp_path):
    path = sample.write(tmp_path / "a.hark")
    code, out, _ = hark("verify", "--json", path)
    record = json.loads(out)
    assert (code, record["verdict"], record["exit_code"]) == (0, "VERIFIED", 0)
    assert record["line"] == hark("verify", path).out.splitlines()[0]
    assert (record["run"], record["events"], record["public_key"]) == (sample.RUN_ID, 13, PUBLIC)
    path.write_bytes(path.read_bytes()[:-1] + b"\xff\xff")
    code, out, _ = hark("verify", "--json", path)
    record = json.loads(out)
    assert (code, record["verdict"]) == (1, "BROKEN")
    assert record["findings"][0]["verdict"] == "BROKEN"
    (tmp_path / "x").write_bytes(b"no")
    assert json.loads(hark("verify", "--json", tmp_path / "x").out)["verdict"] == "BROKEN"


def test_hostile_text_in_a_bundle_does_not_reach_the_terminal(tmp_path):
    path = sample.write(tmp_path / "a.hark", run_id=sample.HOSTILE)
    for words in (["verify", path], ["verify", "--json", path]):
        out = hark(*words).out.replace("\n", "")
        assert out.isprintable()
        assert "owned" in out


def test_the_callers_own_key_is_called_so_and_nobody_elses_is(tmp_path):
    path, env = sample.write(tmp_path / "a.hark"), {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "config" / "hark").mkdir(parents=True)
    public = tmp_path / "config" / "hark" / "signing.key.pub"
    keys.create_public(str(public), sample.KEY.public_key)
    code, out, err = hark("verify", path, env=env)
    assert (code, err) == (0, "")
    assert f"signed by your own key {PUBLIC}" in out
    assert "Whose key it is" not in out
    assert json.loads(hark("verify", "-json", path, env=env).out)["own"] is True
    assert hark("verify", "-key", keys.generate().public_key.hex(), path, env=env).code == 1
    public.unlink()
    keys.create_public(str(public), keys.generate().public_key)
    assert "signed by a key that nobody vouches for" in hark("verify", path, env=env).out
    public.write_text("junk")
    code, out, err = hark("verify", path, env=env)
    assert (code, err, "nobody vouches for" in out) == (0, "", True)


def test_a_fork_is_said_to_be_one_and_of_what(tmp_path):
    out = hark("verify", sample.write(tmp_path / "f.hark", lineage=sample.FORK)).out
    said = " ".join(out.split())
    claim = f"a fork of the bundle with root {'70' * 32} at its event 24, with the patch {'68' * 32}"
    assert f"It claims to be {claim}." in said
    found = json.loads(hark("verify", "-json", tmp_path / "f.hark").out)
    assert found["fork"] == {"parent_root": "70" * 32, "fork_point": 24, "patch_hash": "68" * 32}
    plain = sample.write(tmp_path / "a.hark")
    assert "fork of" not in hark("verify", plain).out
    assert json.loads(hark("verify", "-json", plain).out)["fork"] is None


def test_a_forged_parent_is_found_and_not_repeated(tmp_path):
    path = sample.write(tmp_path / "f.hark", lineage=sample.FORK)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"p" * 32, b"q" * 32, 1))
    code, out, _ = hark("verify", path)
    assert (code, "fork of" in out) == (1, False)
    assert out.startswith("BROKEN: the header was edited")
    assert json.loads(hark("verify", "-json", path).out)["fork"] is None


HEAVY = {"mitmproxy", "sigstore", "asyncio", "launcher", "mediator", "pyroute2"}
LOADED = """
import sys
from hark.cli.main import entry
code = entry(sys.argv[2:])
if sys.argv[1]:
    __import__(sys.argv[1])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("heavy", ["", "asyncio"], ids=["as it is", "control"])
def test_verifying_loads_no_proxy_no_launcher_and_no_sigstore(tmp_path, heavy):
    argv = [sys.executable, "-c", LOADED, heavy, "verify", str(sample.write(tmp_path / "a.hark"))]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.stdout.startswith("VERIFIED"), ended.stderr
    assert set(ended.stderr.split()) & HEAVY == ({heavy} if heavy else set())
